/**
 * Warnings to the author of a reference that can never take effect: an Event on the dependent, in
 * the words that people search for (B43); and what a rule says ahead of a deletion.
 *
 * What must stay true: a warning is issued once for a verdict, before the verdict's command, and
 * changes nothing itself.
 *
 * Each is a command with an id of its own, so they are made one by one, as they are issued.
 *
 * Not here: posting the Event (adapters/kubernetes).
 */
import type { Stand } from '../judge/standing.ts'
import type { CommandBase, WarnObject } from '../model/command.ts'
import type { Node } from '../model/node.ts'
import type { Rule } from '../model/rule/rule.ts'
import { shellWord, timeText } from '../model/text.ts'

/**
 * Events about one object within an hour of log time, however many of its references are wrong, and
 * however often it changes.
 */
const MOST_AN_HOUR = 3
const HOUR_MS = 60 * 60_000

/** Log times of its warnings that count for the hour before `now`. */
export function recentWarnings(
  { warnedAt }: Pick<Node, 'warnedAt'>,
  now: number,
): readonly number[] {
  return warnedAt.filter((at) => at > now - HOUR_MS)
}

const REASON = 'OwnerRefInvalidNamespace'

/**
 * Of the first references to a namespaced owner that was never seen where the dependent could have
 * one. `recent`: how many there were within the hour; the last one counts the references left out.
 */
export function* warningsOf(
  stands: readonly Stand[],
  namespace: string,
  recent: number,
  baseOf: () => CommandBase,
): Generator<WarnObject, void, undefined> {
  const all = stands.filter(isMisplaced)
  const told = all.slice(0, Math.max(0, MOST_AN_HOUR - recent))
  for (const [index, { reference }] of told.entries()) {
    const { apiVersion, kind, name, uid } = reference
    const left = index === told.length - 1 ? all.length - told.length : 0
    const more = left === 0 ? '' : `; nor do the owners of ${left} more references`
    const owner = `${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}`
    yield {
      ...baseOf(),
      type: 'WarnObject',
      reason: REASON,
      message: `ownerRef [${owner}] does not exist in namespace "${namespace}"${more}`,
    }
  }
}

/**
 * What a rule says ahead of a deletion: once, as soon as the object waits for nothing but that.
 * `until`: log time at which it is deleted.
 */
export function ruleWarning(base: CommandBase, rule: Rule, until: number): WarnObject {
  const { namespace, name } = base.target
  const where = namespace === '' ? '' : ` -n ${namespace}`
  const what = shellWord(`${base.target.kind}/${name}`)
  const explain = `kinfold rules explain ${shellWord(rule.name)} ${what}${where}`
  const message = `rule ${rule.name} deletes it at ${timeText(until)}: ${base.because}; "${explain}" says more`
  return { ...base, type: 'WarnObject', reason: RULE_REASON, message }
}

const RULE_REASON = 'DeletionScheduled'

/** It can never take effect. */
export function isMisplaced({ standing, place, proof, isOutOfScope }: Stand): boolean {
  if (isOutOfScope) return true
  return standing === 'dangling' && proof?.class === 'not-found' && place?.namespace !== ''
}
