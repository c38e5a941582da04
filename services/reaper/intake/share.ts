/**
 * Which commands of a partition are kept in memory, by namespace: of one that has many they are put
 * off, and read again in the order of the log once there is room for them.
 *
 * What must stay true: a namespace with few kept has room for its next one, however many others
 * have, until all of its cluster have few; and a cluster with few has room, however many namespaces
 * others have: one that is slow to answer keeps no other from being read. Of one namespace none is
 * kept while an earlier one is put off. None is forgotten: each is kept, put off, or released.
 *
 * Not here: reading (lane.ts), which are settled (window.ts).
 */
import type { ClusterId } from '../../../core/model/object.ts'
import { Queue } from './queue.ts'

/** Whose commands they are. */
export interface Turn {
  readonly cluster: ClusterId
  /** Or whose turn it takes (backlog.ts). */
  readonly namespace: string
}

interface Later {
  readonly turn: Turn
  readonly tickets: Queue<number>
}

export interface ShareBounds {
  /** Kept in memory. A page is at most an eighth of it. */
  readonly window: number
  /** Of one namespace, whatever others have. */
  readonly few: number
}

export class Shares {
  readonly #bounds: ShareBounds
  /** Until so many are kept no namespace is put off. */
  readonly #free: number
  /** Until so many are kept no cluster is put off, but for its namespaces with many. */
  readonly #freeOfClusters: number
  #kept = 0
  /** By namespace, and by cluster. */
  readonly #keptOf = new Map<string, number>()
  /** None is empty. The first has waited longest for its turn. */
  readonly #later = new Map<string, Later>()

  constructor(bounds: ShareBounds) {
    this.#bounds = bounds
    this.#free = Math.ceil((bounds.window * 3) / 4)
    this.#freeOfClusters = Math.ceil((bounds.window * 7) / 8)
  }

  /** For a page of so many. */
  hasRoom(page: number): boolean {
    return this.#kept + page <= this.#bounds.window
  }

  /** The next command of a namespace is kept; otherwise `putOff` has to follow. */
  keep(turn: Turn): boolean {
    if (this.#later.has(keyOf(turn)) || !this.#mayKeep(turn)) return false
    this.#count(turn, 1)
    return true
  }

  putOff(turn: Turn, ticket: number): void {
    const later = this.#later.get(keyOf(turn)) ?? { turn, tickets: new Queue<number>() }
    this.#later.set(keyOf(turn), later)
    later.tickets.push(ticket)
  }

  /** A command that was kept is settled. */
  release(turn: Turn): void {
    this.#count(turn, -1)
  }

  /** The namespace whose commands are to be read again now: there is room for its first one. */
  get next(): Turn | undefined {
    // Without room for one the same page would be read over and over.
    for (const { turn } of this.#later.values())
      if (this.#of(keyOf(turn)) * 2 <= this.#bounds.few && this.#mayKeep(turn)) return turn
    if (this.#kept >= this.#free) return undefined
    return this.#later.values().next().value?.turn
  }

  /** Of those that are put off the first one. */
  firstOf(turn: Turn): number | undefined {
    return this.#later.get(keyOf(turn))?.tickets.first
  }

  /** That one is kept from now on, if there is room for it. */
  keepFirst(turn: Turn): boolean {
    const later = this.#later.get(keyOf(turn))
    if (later === undefined || !this.#mayKeep(turn)) return false
    later.tickets.shift()
    if (later.tickets.isEmpty) this.#later.delete(keyOf(turn))
    this.#count(turn, 1)
    return true
  }

  /** A namespace that was read again has the last turn. */
  passTurn(turn: Turn): void {
    const later = this.#later.get(keyOf(turn))
    if (later === undefined) return
    this.#later.delete(keyOf(turn))
    this.#later.set(keyOf(turn), later)
  }

  #mayKeep(turn: Turn): boolean {
    if (this.#kept < this.#free) return true
    const { window, few } = this.#bounds
    if (this.#of(keyOf(turn)) >= few) return false
    if (this.#kept < this.#freeOfClusters) return true
    return this.#kept < window && this.#of(turn.cluster) < few * NAMESPACES_OF_CLUSTER
  }

  #of(key: string): number {
    return this.#keptOf.get(key) ?? 0
  }

  #count(turn: Turn, change: 1 | -1): void {
    this.#kept += change
    for (const key of [keyOf(turn), turn.cluster]) {
      const own = this.#of(key) + change
      if (own === 0) this.#keptOf.delete(key)
      else this.#keptOf.set(key, own)
    }
  }
}

/** So many namespaces with few make few of a cluster. */
const NAMESPACES_OF_CLUSTER = 4

/** No id of a cluster has a slash (it is a uid). */
function keyOf({ cluster, namespace }: Turn): string {
  return `${cluster}/${namespace}`
}
