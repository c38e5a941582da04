/**
 * Turns of namespaces, and of the kinds in each: the waiting commands of a namespace are sent first
 * in, first out by kind.
 *
 * What must stay true: between two turns of a namespace that has a command that may be sent, each
 * other one has one turn at most, however many commands wait there.
 *
 * Not here: which commands may be sent (backlog.ts).
 */
import { Queue } from './queue.ts'

export interface Taken<Item> {
  readonly kind: string
  readonly item: Item
}

export class Rotation<Item> {
  /** In both the first entry has the next turn; neither holds one that is empty. */
  readonly #namespaces = new Map<string, Map<string, Queue<Item>>>()
  #size = 0

  add(namespace: string, kind: string, item: Item): void {
    const queues = this.#namespaces.get(namespace) ?? new Map<string, Queue<Item>>()
    this.#namespaces.set(namespace, queues)
    const queue = queues.get(kind) ?? new Queue<Item>()
    queues.set(kind, queue)
    queue.push(item)
    this.#size++
  }

  /** The first of the next namespace that has one of these kinds, and may have a turn. */
  take(
    kinds: ReadonlySet<string>,
    may: (namespace: string) => boolean = () => true,
  ): Taken<Item> | undefined {
    if (kinds.size === 0) return undefined
    for (const [namespace, queues] of this.#namespaces) {
      if (!may(namespace)) continue
      for (const kind of queues.keys())
        if (kinds.has(kind)) return { kind, item: this.#takeOf(namespace, kind) }
    }
    return undefined
  }

  size(): number {
    return this.#size
  }

  #takeOf(namespace: string, kind: string): Item {
    const queues = this.#namespaces.get(namespace) as Map<string, Queue<Item>>
    const queue = queues.get(kind) as Queue<Item>
    const item = queue.shift()
    this.#size--
    queues.delete(kind)
    if (!queue.isEmpty) queues.set(kind, queue)
    this.#namespaces.delete(namespace)
    if (queues.size > 0) this.#namespaces.set(namespace, queues)
    return item
  }
}
