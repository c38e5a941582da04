/**
 * How the absence of an owner was found out, and whether that has to be verified again before
 * anything is deleted for it.
 *
 * What must stay true: unknown is never absent. Only these shapes are proofs; every other answer of
 * a server is none. A cause never changes afterwards, whatever is relisted later; holds and budgets
 * depend on it. Freshness is computed once, when a command is made, and decides whether the reaper
 * verifies.
 *
 * Not here: how later knowledge changes the evidence of a cause, above all to a bulk deletion
 * (verdict.ts); the freshness of a command (issue.ts).
 */
import type { CommandId } from './id.ts'

/**
 * - `orphaning`: the owner is orphaning or orphaned, or a finalizer is removed: nothing is deleted.
 * - `deleted`: a live watch saw this uid deleted; or our DELETE removed it, and a live GET verified
 *   that.
 * - `waiting`: the owner waits for its dependents.
 * - `missing`: missing after a complete relist.
 * - `not-found`: never seen; a live GET answered absent.
 * - `bulk`: a bulk deletion; a person approves.
 * - `rule`: no owner: a rule of the policy says so.
 */
export type Evidence =
  | 'orphaning'
  | 'deleted'
  | 'waiting'
  | 'missing'
  | 'not-found'
  | 'bulk'
  | 'rule'

/** A command has the class furthest down among its references. */
export const EVIDENCE_ORDER: readonly Evidence[] = [
  'orphaning',
  'deleted',
  'waiting',
  'missing',
  'not-found',
  'bulk',
  'rule',
]

/**
 * `live`: the watch that published the deciding facts continues, so the reaper verifies only facts
 * that have become old. `recheck`: the reaper verifies each owner with a GET.
 */
export type Freshness = 'live' | 'recheck'

export interface Proof {
  /** `waiting` and `orphaning` are states of an owner and need no proof of absence. */
  readonly class: 'deleted' | 'missing' | 'not-found' | 'bulk'
  /** Offset of the event, in the partition that folded it. */
  readonly position: bigint
  /** Append time of that event, in milliseconds. */
  readonly at: number
  /**
   * How long before that its watcher may have observed it, in milliseconds; 0 where it was
   * published at once.
   */
  readonly ageMs: number
  readonly clusterEpoch: number
  /** Versions under which the owner's kind was served then. */
  readonly versions: readonly string[]
  /**
   * The `VerifyOwner` that proved it: for not-found, and for an object that our DELETE removed and
   * no watch confirmed.
   */
  readonly command: CommandId | null
  /** It was deleted because Kinfold requested it. */
  readonly isOurs: boolean
  /**
   * Of one that we had deleted since its own owner's deletion was seen (deleted): log time since
   * when it was held for that; null for any other.
   */
  readonly heldSince: number | null
}

/** The later of two in the table. */
export function weaker(a: Evidence, b: Evidence): Evidence {
  return EVIDENCE_ORDER.indexOf(a) >= EVIDENCE_ORDER.indexOf(b) ? a : b
}
