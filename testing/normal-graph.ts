/**
 * A partition's state without what the way there leaves behind: offsets, ids, attempts, timers. Equal graphs give equal text.
 *
 * What must stay true: what is left out cannot change a later verdict, but for the class of evidence: whether an owner's delete was
 * told before or after a relist of the dependent's kind is a matter of order, and makes a verdict's evidence E1 or E2.
 */
import type { Verdict } from '../core/node.ts'
import type { EvidenceClass } from '../core/proof.ts'
import type { Owner, StateValue } from '../core/state.ts'

export interface NormalOptions {
  /** Writes E2 for E1. */
  readonly isEvidenceFolded: boolean
}

export function normalGraph(
  state: ReadonlyMap<string, StateValue>,
  options: NormalOptions = { isEvidenceFolded: false },
): readonly string[] {
  const lines: string[] = []
  for (const [key, value] of state) {
    const text = normalValue(value, options)
    if (text !== null) lines.push(`${key} ${JSON.stringify(text)}`)
  }
  return lines.sort()
}

function normalValue(value: StateValue, options: NormalOptions): unknown {
  switch (value.type) {
    case 'Node': {
      const { object, phase, places, orphanedAt, ringed, verdict } = value
      const { ownerReferences, finalizers } = object
      // Which of those that wait for each other goes first is a matter of order; that all go is not.
      const told = ringed || verdict?.type === 'wait' ? 'waits' : verdictOf(verdict, options)
      return [ownerReferences, finalizers, phase, places, orphanedAt !== null, told]
    }
    case 'Seen':
      return value.resourceVersion
    case 'Count':
      return [value.dependents, value.blocking, value.waiting, value.unserved]
    case 'Owner':
      // What was asked depends on whether a verdict ever needed it; what the answer led to is in the verdicts.
      return isToldGone(value) ? ownerState(value) : null
    case 'Kind':
      return [value.phase, value.versions, value.held]
    default:
      return null
  }
}

function verdictOf(verdict: Verdict | null, options: NormalOptions): unknown {
  return verdict && [verdict.type, folded(verdict.evidence, options), verdict.because]
}

function isToldGone({ proof }: Owner): boolean {
  return proof !== null && proof.class !== 'E3'
}

function ownerState({ state, proof, orphanedAt, phase }: Owner): unknown {
  return [state, proof?.class ?? null, orphanedAt !== null, phase]
}

function folded(
  evidence: EvidenceClass | null,
  { isEvidenceFolded }: NormalOptions,
): EvidenceClass | null {
  // An owner that waits outweighs a deletion that was seen, so it hides what a relist makes of that.
  const isFolded = isEvidenceFolded && (evidence === 'E1' || evidence === 'W')
  return isFolded ? 'E2' : evidence
}
