/**
 * The section `rules` of the config file.
 *
 * What must stay true: what is refused ends the start with its own sentence; the library of
 * expressions is loaded only where there is one.
 *
 * Not here: how rules are read (ports/rule).
 */
import { compileOnDemand } from '../../adapters/cel/on-demand.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import { rulesOf } from '../../ports/rule/rule-config.ts'
import { type AcrossSettings, NO_ACROSS } from '../../ports/rule/rule-elsewhere.ts'
import { orExit } from './setting.ts'

/** `across`: what clusters export to each other. */
export function configRules(
  section: unknown,
  from: string,
  across: AcrossSettings = NO_ACROSS,
): readonly Rule[] {
  return orExit(() => rulesOf(section, from, compileOnDemand, across))
}
