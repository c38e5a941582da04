/**
 * How many events a second the tasks of a process fold, over the last minutes.
 *
 * What must stay true: a burst moves nothing. What a task had folded before it was first asked
 * about does not count.
 */
import type { Clock } from '../../ports/clock.ts'
import type { Report } from '../../ports/share-out.ts'

/** Between two times that positions are compared. */
const STEP_MS = 5_000
/** After so long a change counts half, and nothing is said before. */
const HALF_LIFE_MS = 60_000

interface Known {
  readonly sinceMs: number
  readonly position: bigint
  readonly atMs: number
  readonly eventsPerSecond: number
}

export class EventRates {
  readonly #clock: Clock
  #known: ReadonlyMap<number, Known> = new Map()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Of the tasks that there are for a while now: others are forgotten. */
  of(tasks: readonly { readonly partition: number; readonly position: bigint }[]): Report['loads'] {
    const nowMs = this.#clock.monotonicMs()
    const known = tasks.map(
      ({ partition, position }) => [partition, this.#after(partition, position, nowMs)] as const,
    )
    this.#known = new Map(known)
    return known
      .filter(([, { sinceMs }]) => nowMs - sinceMs >= HALF_LIFE_MS)
      .map(([partition, { eventsPerSecond }]) => [partition, Math.round(eventsPerSecond)])
  }

  #after(partition: number, position: bigint, nowMs: number): Known {
    const known = this.#known.get(partition)
    if (known === undefined) return { sinceMs: nowMs, position, atMs: nowMs, eventsPerSecond: 0 }
    const pastMs = nowMs - known.atMs
    if (pastMs < STEP_MS) return known
    const present = (Number(position - known.position) * 1_000) / pastMs
    const share = 1 - 2 ** (-pastMs / HALF_LIFE_MS)
    const eventsPerSecond = known.eventsPerSecond + share * (present - known.eventsPerSecond)
    return { ...known, position, atMs: nowMs, eventsPerSecond }
  }
}
