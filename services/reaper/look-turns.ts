/**
 * Turns of live GETs of owners in one cluster, by namespace of the object whose command asks: an
 * object may have thousands of owners, and the connections are shared by all namespaces.
 *
 * What must stay true: as many are under way as the throttle's limit allows, twice over, and never
 * all connections; one namespace has three quarters of them at most, so the first of another one
 * finds a place; those that wait go round by namespace. None is refused: commands under way are
 * bounded, and so is what each asks for at once (long-proof.ts).
 *
 * Not here: what a GET proves, and for how long. The time that it waits here is before it is sent.
 */

/** Of the 64 connections for reading; the rest is left to all other calls. */
const MOST_LOOKS = 48

export class LookTurns {
  readonly #limit: () => number
  /** By namespace; none is empty. Who had the last turn is last. */
  readonly #waiting = new Map<string, (() => void)[]>()
  readonly #underWay = new Map<string, number>()
  #all = 0

  /** `limit`: of calls, as it is now (throttle.ts). */
  constructor(limit: () => number) {
    this.#limit = limit
  }

  async run<T>(namespace: string, look: () => Promise<T>): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const own = this.#waiting.get(namespace) ?? []
    this.#waiting.set(namespace, own)
    own.push(resolve)
    this.#startNext()
    await promise
    try {
      return await look()
    } finally {
      this.#count(namespace, -1)
      this.#startNext()
    }
  }

  #startNext(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const [namespace, own] = next
      this.#count(namespace, 1)
      own.shift()?.()
      this.#waiting.delete(namespace)
      if (own.length > 0) this.#waiting.set(namespace, own)
    }
  }

  #next(): [string, (() => void)[]] | undefined {
    const atOnce = Math.min(MOST_LOOKS, 2 * this.#limit())
    if (this.#all >= atOnce) return undefined
    const ofOne = Math.floor(atOnce * 0.75)
    for (const entry of this.#waiting) {
      if ((this.#underWay.get(entry[0]) ?? 0) < ofOne) return entry
    }
    return undefined
  }

  #count(namespace: string, change: 1 | -1): void {
    const own = (this.#underWay.get(namespace) ?? 0) + change
    this.#all += change
    if (own === 0) this.#underWay.delete(namespace)
    else this.#underWay.set(namespace, own)
  }
}
