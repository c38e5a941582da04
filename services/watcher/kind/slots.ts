/**
 * A bound on concurrent work; the other callers wait in the order of their requests.
 *
 * What must stay true: a slot is given back however its use ends, and a caller that gives up
 * waiting takes none.
 */
export class Slots {
  #free: number
  readonly #waiting = new Set<() => void>()

  constructor(count: number) {
    this.#free = count
  }

  /** The next caller has to wait. */
  get isFull(): boolean {
    return this.#free === 0
  }

  async use<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#take(signal)
    try {
      return await work()
    } finally {
      this.#giveBack()
    }
  }

  async #take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#free > 0) {
      this.#free--
      return
    }
    const turn = Promise.withResolvers<void>()
    const giveUp = (): void => {
      this.#waiting.delete(turn.resolve)
      turn.reject(signal.reason)
    }
    this.#waiting.add(turn.resolve)
    signal.addEventListener('abort', giveUp, { once: true })
    try {
      await turn.promise
    } finally {
      signal.removeEventListener('abort', giveUp)
    }
  }

  #giveBack(): void {
    const [next] = this.#waiting
    if (next === undefined) {
      this.#free++
      return
    }
    this.#waiting.delete(next)
    next()
  }
}
