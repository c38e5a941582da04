/**
 * Notifies a receiver of what waits for a person, and when it is over.
 *
 * What must stay true: it reads the present state, not its changes, so nothing is missed while the
 * receiver is away, and what was over before the receiver came back is never notified. An unknown
 * state is not over. One event at a time, a few a minute at most, and what appears and ends within
 * minutes is one event: a user who fills a cluster with odd objects fills no inbox. It blocks
 * nothing else.
 *
 * Not here: what waits for a person (cli/process/notice.ts), what a receiver makes of it
 * (cloud-event.ts for a webhook, cli/process/notify.ts for Kubernetes Events).
 */

import type { Clock } from '../../ports/clock.ts'
import { Backoff, type Waits } from '../../runtime/retry.ts'

export type NoticeType = 'approval' | 'breaker' | 'held' | 'lock'

/** Something that waits for a person, for as long as it does. */
export interface Notice {
  readonly type: NoticeType
  /** Of several of one type and cluster, which; mostly empty. */
  readonly part: string
  /** Notified again where it has become ten times as many. */
  readonly count: number
  readonly cluster: { readonly name: string; readonly id: string }
  /** One sentence: what it is, and how many. */
  readonly message: string
  /** What shows more. */
  readonly command: string
}

/** `grown`: it was notified already, and is many more by now. */
export type TellingKind = 'waiting' | 'grown' | 'over'

/** One notice on its way to a receiver, which may get it twice. */
export interface Telling {
  /** The same for the same notification, however often it is tried. */
  readonly id: string
  readonly notice: Notice
  readonly what: TellingKind
  /** Log time in milliseconds: since when it waits, and when this became so. */
  readonly sinceMs: number
  readonly timeMs: number
}

export interface NotifierParts {
  /**
   * Resolves only once the receiver has taken it; rejects with an Error that says why it did not.
   * It is called again then.
   */
  readonly tell: (telling: Telling, signal: AbortSignal) => Promise<void>
  /** What waits now. */
  readonly notices: () => readonly Notice[]
  /** Whether this process can say that it is over: it has the cluster, and knows. */
  readonly isKnown: (notice: Notice) => boolean
  readonly clock: Clock
  /** The receiver did not take it: called once, until the next one is taken. */
  readonly onFailed: (reason: string) => void
}

export interface Notifier {
  /** Until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
  /** Why the last event was not taken; empty while all are. */
  failure(): string
  /** Events taken by the receiver since the start. */
  readonly sent: number
}

const LOOK_EVERY_MS = 5_000
/** A held object is notified after so long: most of them are over by then. */
const HELD_MS = 3_600_000
/** What is back sooner was never over. */
const OVER_AFTER_MS = 120_000
const GROWN_BY = 10
/** Events in a minute. */
const MOST_A_MINUTE = 10
const MINUTE_MS = 60_000
const RETRY: Waits = { firstMs: 5_000, mostMs: 300_000 }

interface Standing {
  readonly notice: Notice
  /** Log time, for people, and monotonic. */
  readonly sinceMs: number
  readonly sinceMonotonicMs: number
  /** Monotonic: it is not seen any more; null while it is. */
  readonly goneMs: number | null
}

export function createNotifier(parts: NotifierParts): Notifier {
  return new LevelNotifier(parts)
}

class LevelNotifier implements Notifier {
  readonly #parts: NotifierParts
  readonly #standing = new Map<string, Standing>()
  /** The receiver knows of these, and not yet that they are over. */
  readonly #notified = new Map<string, Standing>()
  #sentAt: number[] = []
  readonly #backoff = new Backoff(RETRY)
  /** Monotonic: nothing is sent before. */
  #retryAtMs = Number.NEGATIVE_INFINITY
  #failure = ''
  sent = 0

  constructor(parts: NotifierParts) {
    this.#parts = parts
  }

  failure(): string {
    return this.#failure
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts
    while (!signal.aborted) {
      this.#look()
      while (await this.#tellOne(signal));
      await clock.sleep(LOOK_EVERY_MS, signal)
    }
  }

  #look(): void {
    const { clock, notices, isKnown } = this.#parts
    const nowMs = clock.monotonicMs()
    const seen = new Set<string>()
    for (const notice of notices()) {
      const key = keyOf(notice)
      seen.add(key)
      const former = this.#standing.get(key) ?? { sinceMs: clock.now(), sinceMonotonicMs: nowMs }
      const { sinceMs, sinceMonotonicMs } = former
      this.#standing.set(key, { notice, sinceMs, sinceMonotonicMs, goneMs: null })
    }
    for (const [key, standing] of this.#standing) {
      if (seen.has(key) || !isKnown(standing.notice)) continue
      const goneMs = standing.goneMs ?? nowMs
      if (nowMs - goneMs >= OVER_AFTER_MS) this.#standing.delete(key)
      else this.#standing.set(key, { ...standing, goneMs })
    }
  }

  /** True when another one may follow. */
  async #tellOne(signal: AbortSignal): Promise<boolean> {
    const next = this.#next()
    const nowMs = this.#parts.clock.monotonicMs()
    if (next === undefined) this.#mended()
    if (next === undefined || nowMs < this.#retryAtMs) return false
    this.#sentAt = this.#sentAt.filter((atMs) => atMs > nowMs - MINUTE_MS)
    if (this.#sentAt.length >= MOST_A_MINUTE) return false
    const [key, standing, what] = next
    this.#sentAt.push(nowMs)
    try {
      await this.#parts.tell(tellingOf(standing, what, this.#parts.clock.now()), signal)
    } catch (error) {
      if (signal.aborted) return false
      this.#retryAtMs = nowMs + this.#backoff.next()
      const reason = error instanceof Error ? error.message : String(error)
      if (this.#failure === '') this.#parts.onFailed(reason)
      this.#failure = reason
      return false
    }
    this.#mended()
    this.sent += 1
    if (what === 'over') this.#notified.delete(key)
    else this.#notified.set(key, standing)
    return !signal.aborted
  }

  /** The receiver took the last one, or nothing is left to notify. */
  #mended(): void {
    this.#backoff.reset()
    this.#failure = ''
    this.#retryAtMs = Number.NEGATIVE_INFINITY
  }

  /** What is over first: it leaves room. */
  #next(): readonly [key: string, standing: Standing, what: TellingKind] | undefined {
    for (const [key, known] of this.#notified) {
      // One that is over and began again, while the receiver was away, is another one.
      const now = this.#standing.get(key)
      if (now?.sinceMonotonicMs !== known.sinceMonotonicMs) return [key, known, 'over']
    }
    const nowMs = this.#parts.clock.monotonicMs()
    for (const [key, standing] of this.#standing) {
      const { type, count } = standing.notice
      const known = this.#notified.get(key)?.notice.count
      const isLong = nowMs - standing.sinceMonotonicMs >= HELD_MS
      if (known === undefined && (type !== 'held' || isLong)) return [key, standing, 'waiting']
      if (known !== undefined && count >= GROWN_BY * known) return [key, standing, 'grown']
    }
    return undefined
  }
}

function keyOf({ type, cluster, part }: Notice): string {
  return [type, cluster.id, part].filter((each) => each !== '').join('/')
}

function tellingOf({ notice, sinceMs }: Standing, what: TellingKind, nowMs: number): Telling {
  const id = `${keyOf(notice)}/${new Date(sinceMs).toISOString()}`
  const behind = { waiting: '', grown: `/${notice.count}`, over: '/over' }
  const timeMs = what === 'waiting' ? sinceMs : nowMs
  return { id: id + behind[what], notice, what, sinceMs, timeMs }
}
