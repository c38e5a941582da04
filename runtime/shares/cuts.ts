/**
 * What caps have cut: counted for the metric, written to the log once an hour for each cap, and
 * remembered by holder, so that an answer can say in `partial` what it lacks.
 *
 * What must stay true: a cut is never silent; the memory of it is bounded, however many holders
 * there are: those beyond the first thousand of a cap are remembered together, so a doubt may be
 * said of one that lost nothing, and is never left out for one that did.
 */
import type { Clock } from '../../ports/clock.ts'
import type { Logger } from '../logger.ts'

/** From the first to the last that is remembered of one holder, in milliseconds of wall time. */
export interface Cut {
  readonly count: number
  readonly from: number
  readonly to: number
}

const LINE_EVERY_MS = 3_600_000
const MOST_HOLDERS = 1_000
/** All those that are not remembered apart. No holder's name: those are not empty. */
const OTHERS = ''

interface CapCuts {
  count: number
  saidAt: number
  readonly byHolder: Map<string, Cut>
}

export class Cuts {
  readonly #clock: Pick<Clock, 'now' | 'monotonicMs'>
  readonly #logger: Logger | undefined
  readonly #byCap = new Map<string, CapCuts>()

  constructor(clock: Pick<Clock, 'now' | 'monotonicMs'>, logger?: Logger) {
    this.#clock = clock
    this.#logger = logger
  }

  /** So that its count is there, 0, before it cuts anything. */
  know(cap: string): void {
    this.#of(cap)
  }

  /** `cap`: a constant, it is the label of a metric. */
  note(cap: string, holder: string, count = 1): void {
    const cuts = this.#of(cap)
    cuts.count += count
    const key = cuts.byHolder.has(holder) || cuts.byHolder.size < MOST_HOLDERS ? holder : OTHERS
    const at = this.#clock.now()
    const known = cuts.byHolder.get(key) ?? { count: 0, from: at, to: at }
    cuts.byHolder.set(key, {
      count: known.count + count,
      from: Math.min(known.from, at),
      to: Math.max(known.to, at),
    })
    const now = this.#clock.monotonicMs()
    if (now - cuts.saidAt < LINE_EVERY_MS) return
    cuts.saidAt = now
    this.#logger?.log('warn', 'a cap was reached: its largest holder got no more', {
      ...{ cap, holder, times: cuts.count },
    })
  }

  /** Since the start, by cap. */
  counts(): ReadonlyMap<string, number> {
    return new Map([...this.#byCap].map(([cap, { count }]) => [cap, count]))
  }

  /** What a cap cut of a holder, or may have; undefined: nothing since the start. */
  of(cap: string, holder: string): Cut | undefined {
    const byHolder = this.#byCap.get(cap)?.byHolder
    return byHolder?.get(holder) ?? byHolder?.get(OTHERS)
  }

  #of(cap: string): CapCuts {
    const known = this.#byCap.get(cap)
    if (known !== undefined) return known
    const fresh = { count: 0, saidAt: Number.NEGATIVE_INFINITY, byHolder: new Map<string, Cut>() }
    this.#byCap.set(cap, fresh)
    return fresh
  }
}
