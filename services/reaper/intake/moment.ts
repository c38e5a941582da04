/**
 * When a command was issued, by this process' monotonic clock.
 *
 * What must stay true: an old record never counts as a new one. The wall clock may be behind the
 * log's, or be set back, so the time of the log is taken from both the wall clock and the records
 * read, and the later counts. The embedded log says itself how old its times are
 * (ports/append-time.ts).
 */
import type { Command } from '../../../core/model/command.ts'
import type { Clock } from '../../../ports/clock.ts'

export interface Moments {
  /** When it was appended. Monotonic, as is the other. */
  readonly appendedMs: number
  /** When the deciding fact became known; never later than it was appended. */
  readonly knownMs: number
}

/** The log's time, of one partition. */
export interface LogTime {
  /** An entry with this timestamp was read just now. */
  saw(timestamp: number): void
  /** Of a command that was appended then. */
  momentsOf(command: Command, appendedAt: number): Moments
}

/** How long ago the log gave a time, as far as is known. */
export type AgeOf = (timestamp: number) => number

export function createLogTime(
  clock: Pick<Clock, 'now' | 'monotonicMs'>,
  ageMs: AgeOf = (timestamp) => clock.now() - timestamp,
): LogTime {
  /** How much to subtract from a time of the log, at least. */
  let aheadMs = Number.NEGATIVE_INFINITY
  return {
    saw(timestamp) {
      aheadMs = Math.max(aheadMs, timestamp - clock.monotonicMs())
    },
    momentsOf(command, appendedAt) {
      const momentOf = (timestamp: number): number =>
        Math.min(timestamp - aheadMs, clock.monotonicMs() - ageMs(timestamp))
      // Events and commands may get their times from different clocks.
      const knownAt = 'decidedAt' in command ? Math.min(command.decidedAt, appendedAt) : appendedAt
      return { appendedMs: momentOf(appendedAt), knownMs: momentOf(knownAt) }
    },
  }
}

/**
 * For a command that existed before it could be read: this process did not witness the time since.
 */
export function unwitnessed(moments: Moments): Moments {
  return { ...moments, knownMs: Number.NEGATIVE_INFINITY }
}
