/**
 * All of `kinfold rules`: what asks a running Kinfold, and what does not.
 *
 * What must stay true: a group of commands is made once, so both are added to the same.
 */
import type { Command } from 'commander'
import { addRules } from '../ask/rules.ts'
import { addRuleImport } from '../setup/import/rule-import.ts'
import { addTry } from './rules-try.ts'

export function addAllRules(program: Command): void {
  const rules = addRules(program)
  addTry(rules)
  addRuleImport(rules)
}
