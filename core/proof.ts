/**
 * Why an owner counts as absent, and how much is proven again before anything is deleted for it.
 *
 * What must stay true: unknown is never absent. Only these shapes are proofs; every other answer of a server is none.
 */
import type { CommandId } from './id.ts'

/**
 * - `O`: the owner is orphaning or orphaned, or a finalizer is removed: nothing is deleted.
 * - `E1`: a live watch saw this uid deleted, and the dependent's kind has not been relisted since.
 * - `W`: the owner waits for its dependents.
 * - `E2`: missing after a complete relist; or an E1 older than a relist, or than `enforce`.
 * - `E3`: never seen; a live GET answered absent.
 * - `E4`: a mass cause; a person approves.
 */
export type EvidenceClass = 'O' | 'E1' | 'W' | 'E2' | 'E3' | 'E4'

/** From the strongest to the weakest, as in the table of ARCHITECTURE.md: a command has the class furthest down among its references. */
export const EVIDENCE_ORDER: readonly EvidenceClass[] = ['O', 'E1', 'W', 'E2', 'E3', 'E4']

export interface Proof {
  /** `W` and `O` are states of an owner and need no proof of absence. */
  readonly class: 'E1' | 'E2' | 'E3' | 'E4'
  /** Offset of the event, in the partition that folded it. */
  readonly position: bigint
  /** Append time of that event, in milliseconds. */
  readonly at: number
  /** How long before that its watcher may have seen it, in milliseconds; 0 where it told at once. */
  readonly ageMs: number
  readonly clusterEpoch: number
  /** Versions under which the owner's kind was served then. */
  readonly versions: readonly string[]
  /** The `VerifyOwner` that learnt it, for E3. */
  readonly command: CommandId | null
  /** It went because we had it deleted. */
  readonly isOurs: boolean
  /** Of one that we had deleted since its own owner's deletion was seen (E1): log time since when it was held for that; null for any other. */
  readonly heldSince: number | null
}

/** The later of two in the table. */
export function weaker(a: EvidenceClass, b: EvidenceClass): EvidenceClass {
  return EVIDENCE_ORDER.indexOf(a) >= EVIDENCE_ORDER.indexOf(b) ? a : b
}
