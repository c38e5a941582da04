/**
 * The objects of one cluster that bear a mark of a manager of some name, now or at a moment.
 *
 * What must stay true: of now the index of marks says which objects may (fold/marked-index.ts), of
 * a moment, and while there is no index, all objects are read, up to a bound: beyond it `partial`
 * says so. Either way each object is read from the store of the view, and its marks decide.
 *
 * Not here: which of them belong together (across-part.ts).
 */
import { lastPart, nodesPrefix } from '../../../../core/graph/key.ts'
import type { Node } from '../../../../core/model/node.ts'
import type { Uid } from '../../../../core/model/object.ts'
import {
  type MarkSettings,
  managersOf,
  type NamedManager,
} from '../../../../ports/record/manager-mark.ts'
import type { View } from '../view/view.ts'

/** Objects of one cluster that one question reads at most. */
export const MOST_SCANNED = 100_000

export interface MarkedObject {
  readonly node: Node
  /** Of that name. */
  readonly managers: readonly NamedManager[]
}

export interface MarkedObjects {
  readonly found: readonly MarkedObject[]
  /** Not all objects were read. */
  readonly isCut: boolean
}

export async function markedIn(
  view: View,
  name: string,
  settings: MarkSettings,
  most: number = MOST_SCANNED,
): Promise<MarkedObjects> {
  const found: MarkedObject[] = []
  let left = most
  for await (const uid of candidates(view, name)) {
    if (left === 0) return { found, isCut: true }
    left -= 1
    const node = view.node(uid)
    if (node === undefined) continue
    const managers = managersOf(node.object, settings).filter((each) => each.name === name)
    if (managers.length > 0) found.push({ node, managers })
  }
  return { found, isCut: false }
}

async function* candidates(view: View, name: string): AsyncIterable<Uid> {
  const { partition, cluster, moment } = view
  const known = moment === null ? partition.marked?.()?.named(cluster, name) : undefined
  if (known === undefined) {
    for await (const [key] of view.entries(nodesPrefix(cluster))) yield lastPart(key)
    return
  }
  for (const uid of known.toSorted()) {
    await view.turns.take()
    yield uid
  }
}
