/**
 * First in, first out, of any length.
 *
 * What must stay true: it holds its items in the order in which they came; taking one is no work in
 * proportion to the rest.
 */

/** So many that are taken are not worth moving the rest. */
const SPLICE_FROM = 1_024

export class Queue<Item> {
  readonly #items: Item[] = []
  /** How many of them are taken. */
  #head = 0

  get isEmpty(): boolean {
    return this.#head === this.#items.length
  }

  get first(): Item | undefined {
    return this.#items[this.#head]
  }

  push(item: Item): void {
    this.#items.push(item)
  }

  /** Takes the first; call it of none that is empty. */
  shift(): Item {
    const item = this.#items[this.#head++] as Item
    if (this.#head > SPLICE_FROM && this.#head * 2 > this.#items.length) {
      this.#items.splice(0, this.#head)
      this.#head = 0
    }
    return item
  }
}
