/**
 * Virtual time: a heap of sleepers that one loop wakes in order, and the clocks that machines read
 * it by.
 *
 * What must stay true: sleepers of the same moment wake in the order in which they began to sleep,
 * and everything that follows from that without waiting for time is done before the next moment. A
 * machine's wall clock may be wrong; its monotonic clock may not.
 *
 * Not here: which processes get the time at all (incarnation.ts).
 */
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../ports/clock.ts'

interface Sleeper {
  readonly at: number
  readonly number: number
  wake: (() => void) | undefined
}

const START_MS = 1_700_000_000_000
const LEAST_MS = 0.001

export class Timeline implements Clock {
  #elapsedMs = 0
  #count = 0
  readonly #heap: Sleeper[] = []

  now(): number {
    return Math.floor(START_MS + this.#elapsedMs)
  }

  monotonicMs(): number {
    return this.#elapsedMs
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    const due = this.#elapsedMs + Math.max(0, ms)
    // Otherwise a sleeper that waits for the rest of a fraction would find at every moment that
    // some of it is left.
    const at = ms > 0 && due === this.#elapsedMs ? due + LEAST_MS : due
    const sleeper: Sleeper = { at, number: this.#count++, wake: undefined }
    const giveUp = (): void => {
      sleeper.wake = undefined
      resolve()
    }
    sleeper.wake = () => {
      signal?.removeEventListener('abort', giveUp)
      resolve()
    }
    signal?.addEventListener('abort', giveUp, { once: true })
    this.#push(sleeper)
    return promise
  }

  /** Calls at that moment of elapsed time, before the sleepers of that moment wake. */
  at(elapsedMs: number, call: () => void): void {
    this.#push({ at: Math.max(elapsedMs, this.#elapsedMs), number: this.#count++, wake: call })
  }

  /** Moves time on, and wakes each sleeper that becomes due. */
  async advance(ms: number): Promise<void> {
    const until = this.#elapsedMs + ms
    await setImmediate()
    for (;;) {
      const next = this.#heap[0]
      if (next === undefined || next.at > until) break
      this.#elapsedMs = next.at
      if (this.#wakeAllDue()) await settled()
    }
    this.#elapsedMs = until
  }

  #wakeAllDue(): boolean {
    // A sleeper of no time at all wakes at the next turn, after everything that follows from these.
    const last = this.#count
    let isAnyAwake = false
    for (;;) {
      const next = this.#heap[0]
      if (next === undefined || next.at > this.#elapsedMs || next.number >= last) break
      this.#pop()
      if (next.wake === undefined) continue
      isAnyAwake = true
      next.wake()
    }
    return isAnyAwake
  }

  #push(sleeper: Sleeper): void {
    const heap = this.#heap
    let index = heap.push(sleeper) - 1
    while (index > 0) {
      const above = (index - 1) >>> 1
      if (!isBefore(sleeper, heap[above]!)) break
      heap[index] = heap[above]!
      index = above
    }
    heap[index] = sleeper
  }

  #pop(): void {
    const heap = this.#heap
    const moved = heap.pop()!
    if (heap.length === 0) return
    let index = 0
    for (;;) {
      let below = 2 * index + 1
      if (below >= heap.length) break
      if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below++
      if (!isBefore(heap[below]!, moved)) break
      heap[index] = heap[below]!
      index = below
    }
    heap[index] = moved
  }
}

/**
 * All that promises carry on with is over; no turn of the event loop, for nothing in a world waits
 * for the machine.
 */
function settled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve))
}

function isBefore(one: Sleeper, other: Sleeper): boolean {
  return one.at === other.at ? one.number < other.number : one.at < other.at
}
