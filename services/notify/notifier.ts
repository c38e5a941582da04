/**
 * Tells a webhook what waits for a person, and when it is over.
 *
 * What must stay true: it looks at what is, not at what happened, so nothing is missed while the receiver is away, and what was over before it came back is
 * never told. One event at a time, a few a minute at most: whoever fills a cluster with odd objects fills nobody's inbox. It holds up nobody.
 *
 * Not here: what waits for a person (cli/notice.ts), the call (ports/webhook.ts).
 */
import type { Clock } from '../../ports/clock.ts'
import type { Webhook, WebhookEvent } from '../../ports/webhook.ts'

export type NoticeType = 'approval' | 'breaker' | 'held' | 'lock'

/** Something that waits for a person, for as long as it does. */
export interface Notice {
  readonly type: NoticeType
  readonly cluster: { readonly name: string; readonly id: string }
  /** One sentence: what it is, and how many. */
  readonly message: string
  /** What shows more. */
  readonly command: string
}

export interface NotifierParts {
  readonly webhook: Webhook
  /** What waits now. */
  readonly notices: () => readonly Notice[]
  readonly clock: Clock
  /** It was not taken: told once, until the next one is. */
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
/** Whatever is held is told of after so long: most of it is over by then. */
const HELD_MS = 3_600_000
/** Events in a minute. */
const MOST_A_MINUTE = 10
const MINUTE_MS = 60_000
const RETRY_MS = 5_000
const RETRY_MOST_MS = 300_000

interface Standing {
  readonly notice: Notice
  /** Log time, for people, and monotonic. */
  readonly sinceMs: number
  readonly sinceMonotonicMs: number
}

export function createNotifier(parts: NotifierParts): Notifier {
  return new LevelNotifier(parts)
}

class LevelNotifier implements Notifier {
  readonly #parts: NotifierParts
  readonly #standing = new Map<string, Standing>()
  /** The receiver knows of these, and not yet that they are over. */
  readonly #told = new Map<string, Standing>()
  #sentAt: number[] = []
  #failures = 0
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
      const backoffMs = Math.min(RETRY_MS * 2 ** (this.#failures - 1), RETRY_MOST_MS)
      await clock.sleep(this.#failures > 0 ? backoffMs : LOOK_EVERY_MS, signal)
    }
  }

  #look(): void {
    const { clock, notices } = this.#parts
    const seen = new Set<string>()
    for (const notice of notices()) {
      const key = keyOf(notice)
      seen.add(key)
      const former = this.#standing.get(key)
      const since = former ?? {
        sinceMs: clock.now(),
        sinceMonotonicMs: clock.monotonicMs(),
      }
      const { sinceMs, sinceMonotonicMs } = since
      this.#standing.set(key, { notice, sinceMs, sinceMonotonicMs })
    }
    for (const key of this.#standing.keys()) if (!seen.has(key)) this.#standing.delete(key)
  }

  /** True when another one may follow. */
  async #tellOne(signal: AbortSignal): Promise<boolean> {
    const next = this.#next()
    if (next === undefined) return false
    const nowMs = this.#parts.clock.monotonicMs()
    this.#sentAt = this.#sentAt.filter((atMs) => atMs > nowMs - MINUTE_MS)
    if (this.#sentAt.length >= MOST_A_MINUTE) return false
    const [key, standing, isOver] = next
    this.#sentAt.push(nowMs)
    try {
      await this.#parts.webhook.send(eventOf(standing, isOver, this.#parts.clock.now()), signal)
    } catch (error) {
      if (signal.aborted) return false
      this.#failures += 1
      const reason = error instanceof Error ? error.message : String(error)
      if (this.#failure === '') this.#parts.onFailed(reason)
      this.#failure = reason
      return false
    }
    this.#failures = 0
    this.#failure = ''
    this.sent += 1
    if (isOver) this.#told.delete(key)
    else this.#told.set(key, standing)
    return !signal.aborted
  }

  /** What is over first: it leaves room. */
  #next(): readonly [key: string, standing: Standing, isOver: boolean] | undefined {
    for (const [key, told] of this.#told) {
      // One that is over and began again, while the receiver was away, is another one.
      const now = this.#standing.get(key)
      if (now?.sinceMonotonicMs !== told.sinceMonotonicMs) return [key, told, true]
    }
    const nowMs = this.#parts.clock.monotonicMs()
    for (const [key, standing] of this.#standing) {
      const isLong = nowMs - standing.sinceMonotonicMs >= HELD_MS
      if (!this.#told.has(key) && (standing.notice.type !== 'held' || isLong))
        return [key, standing, false]
    }
    return undefined
  }
}

function keyOf({ type, cluster }: Notice): string {
  return `${type}/${cluster.id}`
}

function eventOf({ notice, sinceMs }: Standing, isOver: boolean, nowMs: number): WebhookEvent {
  const { type, cluster, message, command } = notice
  const since = new Date(sinceMs).toISOString()
  return {
    id: `${keyOf(notice)}/${since}${isOver ? '/over' : ''}`,
    type: `dev.kinfold.${type}.${isOver ? 'over' : 'waiting'}`,
    source: `/clusters/${cluster.id}`,
    subject: cluster.name,
    timeMs: isOver ? nowMs : sinceMs,
    data: { cluster, since, message: isOver ? `over: ${message}` : message, command },
  }
}
