/**
 * A partition's state without the traces of its history: offsets, ids, attempts, timers. Equal
 * graphs give equal text.
 *
 * What must stay true: the parts left out cannot change a later verdict.
 */
import type { Hold, Verdict } from '../../core/model/node.ts'
import { nodePhase } from '../../core/model/node.ts'
import type { KnownOwner } from '../../core/model/owner.ts'
import { goneOf, orphanMarkOf } from '../../core/model/owner.ts'
import type { StateValue } from '../../core/model/state.ts'

export function normalGraph(state: ReadonlyMap<string, StateValue>): readonly string[] {
  const lines: string[] = []
  for (const [key, value] of state) {
    const text = normalValue(value)
    if (text !== null) lines.push(`${key} ${JSON.stringify(text)}`)
  }
  return lines.sort()
}

function normalValue(value: StateValue): unknown {
  switch (value.type) {
    case 'Node': {
      const { object, places, orphanedAt, ringed, verdict, hold } = value
      const { ownerReferences, finalizers, labels, annotations, projected } = object
      const read = [labels, annotations, projected]
      // Which of the owners that wait for each other is deleted first depends on the order; that
      // all are deleted does not.
      const told = ringed || verdict?.type === 'wait' ? 'waits' : verdictOf(verdict, hold)
      const phase = nodePhase(value)
      return [ownerReferences, finalizers, phase, places, orphanedAt !== null, told, read]
    }
    case 'Seen':
      return value.resourceVersion
    case 'Count':
      return [value.dependents, value.blocking, value.waiting, value.unserved]
    case 'Owner':
      // Which verifications were issued depends on whether a verdict ever needed them; the effect
      // of the answer is in the verdicts.
      return goneOf(value.known) === null ? null : ownerText(value.known)
    case 'Kind':
      return [value.phase, value.versions]
    case 'Members':
      return value.set
    case 'RuleRun':
      return [value.digest, value.due, value.because, value.heldIn.map((it) => it.because)]
    case 'ClusterRules':
      return value.uids
    case 'PolicyRule':
      return [value.policy.rule, value.policy.enforcedAt > 0]
    case 'KeepGroup':
      return [value.count, value.beyond]
    case 'RuleOwner':
      return [value.deleted, value.replaced]
    default:
      return null
  }
}

function verdictOf(verdict: Verdict | null, hold: Hold | null): unknown {
  const { by = null, because = '' } = hold ?? {}
  return verdict && [verdict.type, verdict.evidence, verdict.because, by, because]
}

function ownerText(owner: KnownOwner): unknown {
  return [owner.type, goneOf(owner)?.class, orphanMarkOf(owner) !== null]
}
