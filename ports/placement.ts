/**
 * Port: which tasks this process runs, and which processes run the others.
 *
 * Guarantees: while any process exists, every partition is given to one of them, and processes that
 * stay keep their partitions as far as shares stay even; a partition that is answered moves only to
 * a process that reports to be ready; a standby is never given to the process that is active. A
 * partition given again, in another role, replaces the earlier assignment.
 * Assumes: nothing about ownership: two processes may believe at once that a task is theirs, and
 * the fence decides.
 */
import type { Report } from './share-out.ts'

export type Role =
  /** Folds. */
  | 'active'
  /** Follows the changelog, to take over sooner. */
  | 'standby'

export interface Placed {
  readonly partition: number
  readonly role: Role
  /** Aborts when this process no longer has a role in the partition. */
  readonly revoked: AbortSignal
}

export interface Placement extends AsyncDisposable {
  /**
   * Joins as the process that answers at `url`. Assignments are returned as they are made, until
   * `signal` aborts: then the process leaves, all its partitions are revoked, and the assignments
   * end. `report`: asked from time to time; without one it counts as ready for all it is given.
   */
  assignments(url: string, signal: AbortSignal, report?: () => Report): AsyncIterable<Placed>
  /**
   * For each partition the URL of the process that is active, this one included, as far as is known
   * here.
   */
  owners(): ReadonlyMap<number, string>
}
