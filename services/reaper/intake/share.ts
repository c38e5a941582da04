/**
 * Which commands of a partition are kept in memory, by namespace: of one that has many they are put
 * off, and read again in the order of the log once there is room for them.
 *
 * What must stay true: a namespace with few kept has room for its next one, however many others
 * have, until all have few. Of one namespace none is kept while an earlier one is put off. None is
 * forgotten: each is kept, put off, or released.
 *
 * Not here: reading (lane.ts), which are settled (window.ts).
 */
import { Queue } from './queue.ts'

export interface ShareBounds {
  /** Kept in memory. */
  readonly window: number
  /** Of one namespace, whatever others have. */
  readonly few: number
}

export class Shares {
  readonly #bounds: ShareBounds
  /** Until so many are kept no namespace is put off. */
  readonly #free: number
  #kept = 0
  readonly #keptOf = new Map<string, number>()
  /** None is empty. The first has waited longest for its turn. */
  readonly #later = new Map<string, Queue<number>>()

  constructor(bounds: ShareBounds) {
    this.#bounds = bounds
    this.#free = Math.ceil((bounds.window * 3) / 4)
  }

  /** For a page of so many. */
  hasRoom(page: number): boolean {
    return this.#kept + page <= this.#bounds.window
  }

  /** The next command of a namespace is kept; otherwise `putOff` has to follow. */
  keep(namespace: string): boolean {
    if (this.#later.has(namespace) || !this.#mayKeep(namespace)) return false
    this.#count(namespace, 1)
    return true
  }

  putOff(namespace: string, ticket: number): void {
    const later = this.#later.get(namespace) ?? new Queue<number>()
    this.#later.set(namespace, later)
    later.push(ticket)
  }

  /** A command that was kept is settled. */
  release(namespace: string): void {
    this.#count(namespace, -1)
  }

  /** The namespace whose commands are to be read again now: there is room for its first one. */
  get next(): string | undefined {
    // Without room for one the same page would be read over and over.
    if (this.#later.size === 0 || this.#kept >= this.#bounds.window) return undefined
    for (const namespace of this.#later.keys())
      if (this.#of(namespace) * 2 <= this.#bounds.few) return namespace
    if (this.#kept >= this.#free) return undefined
    return this.#later.keys().next().value
  }

  /** Of those that are put off the first one. */
  firstOf(namespace: string): number | undefined {
    return this.#later.get(namespace)?.first
  }

  /** That one is kept from now on, if there is room for it. */
  keepFirst(namespace: string): boolean {
    const later = this.#later.get(namespace)
    if (later === undefined || !this.#mayKeep(namespace)) return false
    later.shift()
    if (later.isEmpty) this.#later.delete(namespace)
    this.#count(namespace, 1)
    return true
  }

  /** A namespace that was read again has the last turn. */
  passTurn(namespace: string): void {
    const later = this.#later.get(namespace)
    if (later === undefined) return
    this.#later.delete(namespace)
    this.#later.set(namespace, later)
  }

  #mayKeep(namespace: string): boolean {
    if (this.#kept < this.#free) return true
    const { window, few } = this.#bounds
    return this.#kept < window && this.#of(namespace) < few
  }

  #of(namespace: string): number {
    return this.#keptOf.get(namespace) ?? 0
  }

  #count(namespace: string, change: 1 | -1): void {
    const own = this.#of(namespace) + change
    this.#kept += change
    if (own === 0) this.#keptOf.delete(namespace)
    else this.#keptOf.set(namespace, own)
  }
}
