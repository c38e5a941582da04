/**
 * How many objects of a cluster are being deleted, by the minute from which nothing but finalizers,
 * dependents or an ill node can be what they wait for; and some of them by uid.
 *
 * What must stay true: the numbers follow from the nodes that were counted, whatever the order: who
 * takes one away has its former value. Memory is bounded: a number for each minute, and the uids of
 * the first ones that there is room for, where one that ends makes room.
 *
 * Not here: which are late by now, and what each waits for (query/answer/overdue.ts).
 */
import { type Node, nodePhase, type Phase } from '../../../core/model/node.ts'
import type { Uid } from '../../../core/model/object.ts'

/** Remembered by uid for each cluster. */
const MOST_NAMED = 1_024
export const MINUTE_MS = 60_000

export interface Deleting {
  readonly uid: Uid
  /** When its grace period was over, by its server's clock, in milliseconds. */
  readonly since: number
  /** It waits for dependents: beside what it waits for it is the more telling one. */
  readonly isOwner: boolean
}

export interface DeletingCount {
  /** Objects, by the beginning of the minute, in milliseconds. */
  readonly minutes: ReadonlyMap<number, number>
  /** Some of them, the longest first; of those of one moment owners first. */
  readonly named: readonly Deleting[]
}

export const NONE_DELETING: DeletingCount = { minutes: new Map(), named: [] }

const PHASES: ReadonlySet<Phase> = new Set(['deleting', 'waiting', 'orphaning'])

/** Null unless it is being deleted. */
function deletingOf(node: Node): Deleting | null {
  const { uid, deletedAt } = node.object
  const phase = nodePhase(node)
  if (deletedAt === null || !PHASES.has(phase)) return null
  return { uid, since: deletedAt, isOwner: phase !== 'deleting' }
}

export class DeletingCounter {
  readonly #minutes = new Map<number, number>()
  readonly #named = new Map<Uid, Deleting>()

  /** `sign`: it is counted, or no longer. */
  count(node: Node, sign: 1 | -1): void {
    const its = deletingOf(node)
    if (its === null) return
    const minute = Math.floor(its.since / MINUTE_MS) * MINUTE_MS
    const objects = (this.#minutes.get(minute) ?? 0) + sign
    if (objects === 0) this.#minutes.delete(minute)
    else this.#minutes.set(minute, objects)
    if (sign < 0) this.#named.delete(its.uid)
    else if (this.#named.size < MOST_NAMED) this.#named.set(its.uid, its)
  }

  snapshot(): DeletingCount {
    if (this.#minutes.size === 0) return NONE_DELETING
    return { minutes: new Map(this.#minutes), named: [...this.#named.values()].sort(longestFirst) }
  }
}

function longestFirst(a: Deleting, b: Deleting): number {
  return a.since - b.since || Number(b.isOwner) - Number(a.isOwner) || (a.uid < b.uid ? -1 : 1)
}
