/**
 * What is known of an owner that is no node of the graph.
 *
 * What must stay true: unknown is never absent: only `absent` has a proof. Each case has what it
 * needs and nothing else, so nothing has to be guessed from a number.
 *
 * Not here: what that means for its dependents (judge/standing.ts), how long it is kept
 * (observe/retention.ts).
 */
import type { CommandId } from './id.ts'
import type { Phase, Turn } from './node.ts'
import type { Proof } from './proof.ts'

export type KnownOwner = AbsentOwner | FoundOwner | AskedOwner | OwnerTrace

export interface AbsentOwner {
  readonly type: 'absent'
  readonly proof: Proof
  readonly orphanedAt: OrphanMark
  /** Of its dependents, in the queue of the budget (budget.ts). */
  readonly turn: Turn
  /**
   * Log time of its last lease: its dependents may begin to be deleted within a minute from then
   * on. 0 for none.
   */
  readonly leasedAt: number
}

/** By a live GET; no watch reports it. */
export interface FoundOwner {
  readonly type: 'found'
  /** As the GET showed it. */
  readonly phase: Phase
  readonly orphanedAt: OrphanMark
  /** Offset of the event that said so. */
  readonly lastKnown: bigint
  /** How often in a row, for the growing wait (`foundWaitMs`). */
  readonly times: number
  /** Null in a rehearsal, where nothing is under way. */
  readonly look: Look | null
}

/** Nothing is known: a live GET is under way, or was. */
export interface AskedOwner {
  readonly type: 'asked'
  readonly look: Look
}

/** It was a node, and is unwatched: whether it still exists is unknown. */
export interface OwnerTrace {
  readonly type: 'trace'
  readonly orphanedAt: OrphanMark
  /** Offset of the event by which it was there, last. */
  readonly lastKnown: bigint
  readonly look: Look | null
}

/**
 * Since when it was orphaning (append time): it was deleted so, and late dependents are orphaned,
 * too. Null for none.
 */
export type OrphanMark = number | null

/** A live GET of an owner. */
export interface Look {
  readonly command: CommandId
  /** Of the cluster: a GET of another epoch is repeated. */
  readonly clusterEpoch: number
  /**
   * - `issued`: no answer yet. - `backoff`: answered, and that proved nothing. - `answered`: it was
   * there.
   */
  readonly state: 'issued' | 'backoff' | 'answered'
  /** How often in a row it proved nothing, for the growing wait. */
  readonly count: number
  /** Log time of the first of those. */
  readonly since: number
  /** Log time of the next one. */
  readonly until: number
  /** Why it proved nothing. */
  readonly reason: string
  /**
   * The lane whose object it was made for; empty for none: then it counts for no namespace
   * (`Gets`).
   */
  readonly askedFor: string
}

export function orphanMarkOf(owner: KnownOwner | undefined): OrphanMark {
  return owner === undefined || owner.type === 'asked' ? null : owner.orphanedAt
}

export function lookOf(owner: KnownOwner | undefined): Look | null {
  return owner === undefined || owner.type === 'absent' ? null : owner.look
}

/**
 * The proof where a watch or a relist reported its deletion: it never comes back under its uid.
 * Null for any other.
 */
export function goneOf(owner: KnownOwner | undefined): Proof | null {
  return owner?.type === 'absent' && owner.proof.class !== 'not-found' ? owner.proof : null
}

/** It was there once: as a node, or a GET found it. */
export function wasHere(owner: KnownOwner | undefined): boolean {
  return owner?.type === 'found' || owner?.type === 'trace' || goneOf(owner) !== null
}

export type OwnerState = 'unknown' | 'absent' | 'found'

/** In answers, whose readers need no more. */
export function ownerStateOf(owner: KnownOwner | undefined): OwnerState {
  return owner?.type === 'absent' || owner?.type === 'found' ? owner.type : 'unknown'
}
