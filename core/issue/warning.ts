/**
 * Warnings to the author of a reference that can never take effect: an Event on the dependent, in the words that people search for (B43).
 *
 * What must stay true: a warning is issued once for a verdict, before the verdict's command, and changes nothing itself.
 *
 * Each is a command with an id of its own, so they are made one by one, as they are issued.
 *
 * Not here: posting the Event (adapters/kubernetes).
 */
import type { Stand } from '../judge/standing.ts'
import type { CommandBase, WarnObject } from '../model/command.ts'

/** For one object, which may have thousands of references: after so many warnings their reader knows what is wrong. */
const MOST_WARNINGS = 16

const REASON = 'OwnerRefInvalidNamespace'

/** Of the first references to a namespaced owner that was never seen where the dependent could have one. */
export function* warningsOf(
  stands: readonly Stand[],
  namespace: string,
  baseOf: () => CommandBase,
): Generator<WarnObject, void, undefined> {
  for (const { reference } of stands.filter(isMisplaced).slice(0, MOST_WARNINGS)) {
    const { apiVersion, kind, name, uid } = reference
    const owner = `${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}`
    yield {
      ...baseOf(),
      type: 'WarnObject',
      reason: REASON,
      message: `ownerRef [${owner}] does not exist in namespace "${namespace}"`,
    }
  }
}

/** It can never take effect. */
export function isMisplaced({ standing, place, proof, isOutOfScope }: Stand): boolean {
  if (isOutOfScope) return true
  return standing === 'dangling' && proof?.class === 'not-found' && place?.namespace !== ''
}
