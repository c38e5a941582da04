/**
 * How many answers that go on for as long as they are read an endpoint gives at one time, and to whom.
 *
 * What must stay true: no client has more than half of what the others have left, so however many one opens, another one gets some.
 *
 * Not here: how long a reader may not read (connections.ts), how much is written at once (the routes).
 */

/** Each holds a page of records, and what its reader has not read yet. */
export const MOST_STREAMS = 64

export class StreamLimit {
  /** By client. */
  readonly #open = new Map<string, number>()

  get open(): number {
    return [...this.#open.values()].reduce((sum, count) => sum + count, 0)
  }

  /** Takes one, to be given back; undefined when the client has to wait until it has fewer, or others have. */
  take(client: string): Disposable | undefined {
    const own = this.#open.get(client) ?? 0
    const others = this.open - own
    if (own + 1 > (MOST_STREAMS - others) / 2) return undefined
    this.#open.set(client, own + 1)
    return { [Symbol.dispose]: () => this.#giveBack(client) }
  }

  #giveBack(client: string): void {
    const left = (this.#open.get(client) ?? 0) - 1
    if (left > 0) this.#open.set(client, left)
    else this.#open.delete(client)
  }
}
