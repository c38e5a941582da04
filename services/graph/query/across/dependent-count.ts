/**
 * How many objects some own in their cluster, and those own, and so on.
 *
 * What must stay true: each is counted once, those that are asked about not at all, nor what who
 * asks may not list. The number that is followed is bounded, and the answer says where it was met.
 */
import type { Node } from '../../../../core/model/node.ts'
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
