/**
 * Requests that were refused since their client did not prove who it is (401), or may not do that
 * (403): counted, and logged.
 *
 * What must stay true: nothing that was shown to prove it is logged, nor what was asked in detail;
 * the log is bounded, however many are refused: a line per address and minute, and one for all
 * addresses beyond the first thousand.
 */
import type { Clock } from '../../ports/clock.ts'
import type { Logger } from '../logger.ts'

export interface Refused {
  readonly address: string
  readonly method: string
  /** Of the route, so without anything that a client chose. */
  readonly route: string
  readonly code: number
}

export const REFUSAL_CODES = [401, 403] as const
const LINE_EVERY_MS = 60_000
const MOST_ADDRESSES = 1_000
/** All those that are not counted apart. */
const OTHERS = 'others'

interface Source {
  at: number
  /** Since the last line. */
  count: number
}

export class Refusals {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #logger: Logger | undefined
  readonly #counts = new Map<number, number>(REFUSAL_CODES.map((code) => [code, 0]))
  /** By address. */
  readonly #sources = new Map<string, Source>()

  constructor(clock: Pick<Clock, 'monotonicMs'>, logger: Logger | undefined) {
    this.#clock = clock
    this.#logger = logger
  }

  /** By status code. */
  counts(): ReadonlyMap<number, number> {
    return this.#counts
  }

  note({ address, method, route, code }: Refused): void {
    const count = this.#counts.get(code)
    if (count === undefined) return
    this.#counts.set(code, count + 1)
    const now = this.#clock.monotonicMs()
    const from = this.#sourceOf(address, now)
    const source = this.#sources.get(from) ?? { at: Number.NEGATIVE_INFINITY, count: 0 }
    this.#sources.set(from, source)
    source.count += 1
    if (now - source.at < LINE_EVERY_MS) return
    this.#logger?.log('warn', 'requests were refused', {
      address: from,
      method,
      route,
      code,
      times: source.count,
    })
    source.at = now
    source.count = 0
  }

  #sourceOf(address: string, now: number): string {
    if (this.#sources.has(address) || this.#sources.size < MOST_ADDRESSES) return address
    for (const [key, { at }] of this.#sources) {
      if (now - at >= LINE_EVERY_MS) this.#sources.delete(key)
    }
    return this.#sources.size < MOST_ADDRESSES ? address : OTHERS
  }
}
