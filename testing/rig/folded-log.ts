/**
 * A log of one cluster, folded in memory: events are appended, and folded one by one, a `Continue`
 * where a log would put it.
 *
 * What must stay true: entries are folded in their order; the lag of the fold is the caller's
 * choice.
 */
import type { Outcome } from '../../core/graph/outcome.ts'
import type { Event } from '../../core/model/event.ts'
import type { Folder } from '../model/folder.ts'
import { folder } from '../model/folder.ts'

export interface FoldedLog {
  readonly folder: Folder
  append(event: Event, timestampMs: number): void
  /** Folds the next entry; undefined when there is none. */
  foldNext(): Outcome | undefined
  foldAll(): void
  /** Append time of the entry that was folded last. */
  readonly time: number
  /** Entries not folded yet. */
  readonly waiting: number
}

export function foldedLog(): FoldedLog {
  const folded = folder()
  const log: [Event, number][] = []
  let now = 0
  let time = 0

  function foldNext(): Outcome | undefined {
    const next = log.shift()
    if (next === undefined) return undefined
    time = Math.max(time, next[1])
    const outcome = folded.foldOne(...next)
    if (outcome.continues) log.push([{ type: 'Continue' }, now])
    return outcome
  }

  return {
    folder: folded,
    append(event, timestampMs) {
      now = Math.max(now, timestampMs)
      log.push([event, now])
    },
    foldNext,
    foldAll() {
      while (log.length > 0) foldNext()
    },
    get time() {
      return time
    },
    get waiting() {
      return log.length
    },
  }
}
