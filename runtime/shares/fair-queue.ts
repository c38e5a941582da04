/**
 * A queue in front of work of which few pieces are done at a time, shared among clients.
 *
 * What must stay true: turns go round, by group first and by client within it, so a client that has
 * one piece waits for one of each other client at most, however many those have. How many wait is
 * shared as well (grouped-shares.ts): only of the client that has most the newest is refused. One
 * client never has all pieces that are done at a time, unless it is one piece.
 *
 * Not here: how long a piece takes.
 */

import { Problem } from '../http/problem.ts'
import type { Cuts } from './cuts.ts'
import { type GroupedCap, GroupedShares, type Holder, isSame } from './grouped-shares.ts'

export interface FairQueueParts {
  /** Of those that wait. */
  readonly cap: GroupedCap
  /** Done at a time: of all clients, and of one. */
  readonly atOnce: number
  readonly ofOne: number
  /** Done at a time of groups that may not have all of it, so that others never wait for them. */
  readonly ofGroup?: ReadonlyMap<string, number>
  readonly cuts: Cuts
}

interface Waiting {
  readonly start: () => void
  readonly refuse: () => void
}

/** Of one group, by client. Who was served last is last. */
type Group = Map<string, Waiting[]>

export class FairQueue {
  readonly #parts: FairQueueParts
  readonly #shares: GroupedShares
  readonly #waiting = new Map<string, Group>()
  /** By client, and by group. */
  readonly #running = new Map<string, number>()
  readonly #runningOf = new Map<string, number>()
  #atOnce = 0

  constructor(parts: FairQueueParts) {
    this.#parts = parts
    this.#shares = new GroupedShares(parts.cap, parts.cuts)
  }

  /** Rejects with a `Problem` where this client has more that wait than any other. */
  async run<T>(client: Holder, work: () => Promise<T>): Promise<T> {
    await this.#turnOf(client)
    try {
      return await work()
    } finally {
      this.#count(client, -1)
      this.#startNext()
    }
  }

  async #turnOf(client: Holder): Promise<void> {
    if (this.#shares.of(client) === 0 && this.#mayStart(client)) return this.#count(client, 1)
    for (let giver = this.#shares.giver(client); giver; giver = this.#shares.giver(client)) {
      if (isSame(giver, client)) break
      this.#refuseNewest(giver)
    }
    if (!this.#shares.take(client)) throw tooMany()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const group: Group = this.#waiting.get(client.group) ?? new Map()
    this.#waiting.set(client.group, group)
    const own = group.get(client.name) ?? []
    group.set(client.name, own)
    own.push({ start: resolve, refuse: () => reject(tooMany()) })
    await promise
  }

  #mayStart(client: Holder): boolean {
    const { atOnce, ofOne, ofGroup } = this.#parts
    const its = this.#runningOf.get(client.group) ?? 0
    const isFree = this.#atOnce < atOnce && its < (ofGroup?.get(client.group) ?? atOnce)
    return isFree && (this.#running.get(keyOf(client)) ?? 0) < ofOne
  }

  #startNext(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const { group, name } = next
      const its = this.#waiting.get(group)
      const own = its?.get(name) ?? []
      const [first] = own
      this.#count(next, 1)
      this.#remove(next, first)
      // Both have had their turn.
      if (its?.delete(name) === true && own.length > 0) its.set(name, own)
      if (this.#waiting.delete(group) && its !== undefined && its.size > 0) {
        this.#waiting.set(group, its)
      }
      first?.start()
    }
  }

  #next(): Holder | undefined {
    for (const [group, its] of this.#waiting) {
      for (const name of its.keys()) if (this.#mayStart({ group, name })) return { group, name }
    }
    return undefined
  }

  #refuseNewest(client: Holder): void {
    const newest = this.#waiting.get(client.group)?.get(client.name)?.at(-1)
    if (newest === undefined) throw new Error(`${keyOf(client)} has a share, and nothing waits`)
    this.#remove(client, newest)
    this.#shares.cut(client)
    newest.refuse()
  }

  #remove(client: Holder, one: Waiting | undefined): void {
    const { group, name } = client
    const its = this.#waiting.get(group)
    const own = its?.get(name)
    if (its === undefined || own === undefined || one === undefined) return
    own.splice(own.indexOf(one), 1)
    this.#shares.give(client)
    if (own.length === 0) its.delete(name)
    if (its.size === 0) this.#waiting.delete(group)
  }

  #count(client: Holder, change: 1 | -1): void {
    this.#atOnce += change
    add(this.#running, keyOf(client), change)
    add(this.#runningOf, client.group, change)
  }
}

function add(counts: Map<string, number>, key: string, change: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + change
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}

function keyOf({ group, name }: Holder): string {
  return `${group} ${name}`
}

function tooMany(): Problem {
  return new Problem(
    429,
    'more such requests of yours are waiting than of any other client; ask again when some of them are answered',
  )
}
