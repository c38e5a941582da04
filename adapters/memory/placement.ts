/**
 * A group of processes in one memory, and the smallest: one process that has everything.
 *
 * What must stay true: a member gets its assignments in order, and all members see the same
 * assignments.
 */
import type { Placed, Placement } from '../../ports/placement.ts'
import { assign, type Share } from '../../ports/share-out.ts'

/** All tasks in one process: for a single machine. */
export function placeAll(partitions: number): Placement {
  return new MemoryCoordinator(partitions).placement()
}

interface Member {
  readonly url: string
  readonly given: Map<number, AbortController>
  readonly queue: Placed[]
  wake: () => void
}

export class MemoryCoordinator {
  readonly #partitions: number
  readonly #standbys: number
  readonly #members = new Map<string, Member>()
  #shares: ReadonlyMap<string, Share> = new Map()
  #joined = 0

  constructor(partitions: number, standbys = 0) {
    this.#partitions = partitions
    this.#standbys = standbys
  }

  /** For one process; it is a member while it takes its assignments. */
  placement(): Placement {
    const disposed = new AbortController()
    return {
      assignments: (url, signal) =>
        this.#assignments(url, AbortSignal.any([signal, disposed.signal])),
      owners: () => this.#owners(),
      [Symbol.asyncDispose]: async () => disposed.abort(),
    }
  }

  async *#assignments(url: string, signal: AbortSignal): AsyncGenerator<Placed, undefined> {
    const name = String(this.#joined++).padStart(6, '0')
    const member: Member = { url, given: new Map(), queue: [], wake: () => undefined }
    const leave = (): void => this.#leave(name)
    if (!signal.aborted) this.#join(name, member)
    signal.addEventListener('abort', leave, { once: true })
    try {
      while (!signal.aborted) {
        yield* member.queue.splice(0)
        if (signal.aborted || member.queue.length > 0) continue
        const { promise, resolve } = Promise.withResolvers<void>()
        member.wake = resolve
        await promise
      }
    } finally {
      signal.removeEventListener('abort', leave)
      leave()
    }
  }

  #join(name: string, member: Member): void {
    this.#members.set(name, member)
    this.#share()
  }

  #leave(name: string): void {
    const member = this.#members.get(name)
    if (member === undefined) return
    this.#members.delete(name)
    for (const given of member.given.values()) given.abort()
    member.queue.length = 0
    this.#share()
    member.wake()
  }

  #share(): void {
    const nothing: Share = { active: [], standby: [], next: [] }
    const former = new Map(
      [...this.#members.keys()].map((name) => [name, this.#shares.get(name) ?? nothing]),
    )
    const shares = assign(former, this.#partitions, this.#standbys)
    this.#shares = shares
    for (const [name, member] of this.#members) {
      tell(member, former.get(name) ?? nothing, shares.get(name) ?? nothing)
    }
  }

  #owners(): ReadonlyMap<number, string> {
    const owners = new Map<number, string>()
    for (const [name, { active }] of this.#shares) {
      const url = this.#members.get(name)?.url
      if (url !== undefined) for (const partition of active) owners.set(partition, url)
    }
    return owners
  }
}

/** Only the differences from before. */
function tell(member: Member, before: Share, now: Share): void {
  for (const role of ['active', 'standby'] as const) {
    for (const partition of now[role]) {
      if (before[role].includes(partition)) continue
      const given = member.given.get(partition) ?? new AbortController()
      member.given.set(partition, given)
      member.queue.push({ partition, role, revoked: given.signal })
    }
  }
  for (const [partition, given] of member.given) {
    if (now.active.includes(partition) || now.standby.includes(partition)) continue
    member.given.delete(partition)
    given.abort()
  }
  member.wake()
}
