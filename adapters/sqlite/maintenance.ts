/**
 * Keeps the file from growing without bound: deletes trimmed records and compacts compacted lanes,
 * a slice at a time between other work.
 *
 * What must stay true: no slice blocks the process for long, and readers notice none of it. Free
 * pages are used again; the file itself never gets smaller (a smaller one needs VACUUM, with the
 * log closed).
 */
import { setImmediate, setTimeout } from 'node:timers/promises'
import { COMPACTED } from '../../ports/log.ts'
import type { Compaction } from './compaction.ts'
import type { Head } from './head.ts'
import type { LogFile } from './log-file.ts'

/**
 * A lane is compacted when it has grown by this many records and has doubled since the last time:
 * some 10 MB of changelog.
 */
const COMPACT_RECORDS = 50_000
/**
 * Compaction waits for quiet, looking for it so often, and for so long after the file was opened: a
 * process that begins has to restore and to list. But it does not wait for a lane that has grown by
 * so many times what makes it due.
 */
const BUSY_MS = 50
const BEGIN_MS = 10_000
const OVERDUE = 10
/** A slice of trimming deletes so many records at a time until so many milliseconds are over. */
const TRIM_RECORDS = 50
const TRIM_MS = 5

export class Maintenance {
  readonly #file: LogFile
  readonly #compaction: Compaction
  readonly #monotonicMs: () => number
  readonly #isBusy: () => boolean
  readonly #begunMs: number
  /** Lanes with records before their start. */
  readonly #trimmed = new Set<number>()
  /** Lanes to compact whether that is due or not. */
  readonly #asked = new Set<number>()
  /**
   * The work under way was requested, so it does not wait for quiet, and neither does the deletion
   * of trimmed records.
   */
  #isAsked = false
  #phase: 'idle' | 'working' | 'stopped' = 'idle'
  #working: Promise<void> = Promise.resolve()

  /** `isBusy` says whether the file is written a lot just now. */
  constructor(
    file: LogFile,
    compaction: Compaction,
    monotonicMs: () => number,
    isBusy: () => boolean,
  ) {
    this.#file = file
    this.#compaction = compaction
    this.#monotonicMs = monotonicMs
    this.#isBusy = isBusy
    this.#begunMs = monotonicMs()
    for (const { lane, start } of file.heads) {
      if (file.records.hasAny(lane, 0, start)) this.#trimmed.add(lane)
    }
  }

  trimmed(lane: number): void {
    this.#trimmed.add(lane)
  }

  /** Begins work that has become due, if none is under way. */
  look(): void {
    if (this.#phase !== 'idle' || !this.#isDue()) return
    this.#phase = 'working'
    this.#working = this.#work()
  }

  async compact(lane: number): Promise<void> {
    this.#asked.add(lane)
    this.look()
    await this.#working
  }

  stop(): void {
    this.#phase = 'stopped'
  }

  async #work(): Promise<void> {
    try {
      await this.#letOthersGo()
      for (let work = this.#due(); work !== undefined; work = this.#due()) {
        while (this.#phase !== 'stopped' && !work.next().done) await this.#letOthersGo()
        if (this.#phase === 'stopped') return
      }
    } catch {
      // The file remembers why it accepts no more writes and reports it at the next write; if it is
      // only busy, the next write checks again.
    }
    if (this.#phase === 'working') this.#phase = 'idle'
  }

  async #letOthersGo(): Promise<void> {
    await setImmediate()
    while (this.#phase !== 'stopped' && this.#isLater() && !this.#isUrgent()) {
      await setTimeout(BUSY_MS, undefined, { ref: false })
    }
  }

  /** Others have more use for the time. */
  #isLater(): boolean {
    return this.#monotonicMs() - this.#begunMs < BEGIN_MS || this.#isBusy()
  }

  #isUrgent(): boolean {
    if (this.#isAsked || this.#asked.size > 0 || this.#trimmed.size > 0) return true
    for (const head of this.#file.heads) if (isCompactionDue(head, OVERDUE)) return true
    return false
  }

  #isDue(): boolean {
    if (this.#trimmed.size > 0 || this.#asked.size > 0) return true
    for (const head of this.#file.heads) if (isCompactionDue(head)) return true
    return false
  }

  #due(): Generator<void> | undefined {
    this.#isAsked = true
    for (const lane of this.#trimmed) return this.#trim(lane)
    for (const lane of this.#asked) {
      this.#asked.delete(lane)
      return this.#compaction.walk(lane)
    }
    this.#isAsked = false
    for (const head of this.#file.heads) {
      if (isCompactionDue(head)) return this.#compaction.walk(head.lane)
    }
    return undefined
  }

  *#trim(lane: number): Generator<void> {
    for (let more = true; more; ) {
      const until = this.#monotonicMs() + TRIM_MS
      more = this.#file.write(0, (transaction) => {
        const head = transaction.head(lane)
        let removed = TRIM_RECORDS
        while (removed === TRIM_RECORDS && this.#monotonicMs() < until) {
          removed = this.#file.records.removeTrimmed(head, TRIM_RECORDS)
        }
        return removed === TRIM_RECORDS
      })
      yield
    }
    this.#trimmed.delete(lane)
  }
}

function isCompactionDue({ topic, records, kept }: Head, times = 1): boolean {
  return COMPACTED.has(topic) && records - kept > Math.max(COMPACT_RECORDS, kept) * times
}
