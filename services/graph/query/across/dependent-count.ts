/**
 * How many objects some own in their cluster, or owned, and those own, and so on.
 *
 * What must stay true: each is counted once, those that are asked about not at all, nor what who
 * asks may not list. The number that is followed is bounded, and the answer says where it was met.
 */
import { type Identity, identityKey } from '../../../../core/graph/identity.ts'
import type { Node } from '../../../../core/model/node.ts'
import type { Uid } from '../../../../core/model/object.ts'
import type { Sight } from '../view/sight.ts'
import type { View } from '../view/view.ts'

/** Of one question about one cluster. */
export const MOST_DEPENDENTS = 10_000

export interface DependentCount {
  readonly count: number
  readonly isCut: boolean
}

/** `all`: none of these is counted. `roots`: those of them whose dependents are. */
export async function countDependents(
  view: View,
  sight: Sight,
  all: readonly Node[],
  roots: readonly Node[],
): Promise<DependentCount> {
  const counted = new Set(all.map(({ object }) => object.uid))
  const queue = [...roots]
  let count = 0
  for (const node of queue) {
    const owner = view.identityOf(node.object)
    for await (const uid of view.dependents(owner)) {
      const dependent = counted.has(uid) ? undefined : view.node(uid)
      if (dependent === undefined) continue
      if (view.referenceTo(owner, dependent.object) === undefined) continue
      if (counted.size - all.length >= MOST_DEPENDENTS) return { count, isCut: true }
      counted.add(uid)
      queue.push(dependent)
      if (await sight.shows(dependent.object)) count += 1
    }
  }
  return { count, isCut: false }
}

export interface GoneCount {
  readonly gone: number
  /** They are there, and name an owner that is gone. */
  readonly left: number
  readonly isCut: boolean
}

/**
 * Of owners that are gone: what they owned. `all`: none of these is counted, `roots`: those of them
 * whose dependents are. What was gone before the event at `from` is no part of it.
 */
export async function countGone(
  view: View,
  sight: Sight,
  { all, roots }: { readonly all: readonly Uid[]; readonly roots: readonly Identity[] },
  from: number,
): Promise<GoneCount> {
  const counted = new Set<string>()
  const owned = new Set(all)
  const queue = [...roots]
  let [gone, left] = [0, 0]
  for (const owner of queue) {
    for await (const uid of view.formerDependents(owner)) {
      await view.turns.take()
      const node = owned.has(uid) ? undefined : view.node(uid)
      const last = node === undefined && !owned.has(uid) ? view.lastThere(uid) : undefined
      const object = node?.object ?? last?.object
      if (object === undefined || view.referenceTo(owner, object) === undefined) continue
      if (last !== undefined && last.until < from) continue
      if (counted.size >= MOST_DEPENDENTS) return { gone, left, isCut: true }
      const dependent = view.identityOf(object)
      if (counted.has(identityKey(dependent))) continue
      counted.add(identityKey(dependent))
      queue.push(dependent)
      if (!(await sight.shows(object))) continue
      if (node === undefined) gone += 1
      else left += 1
    }
  }
  return { gone, left, isCut: false }
}
