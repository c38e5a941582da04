/**
 * The tree of an object that was deleted: what it owned, or what owned it, just before its deletion
 * began, each object as it is now.
 *
 * What must stay true: what references it still, or by now, is in it, too; where its past is not kept
 * that is said.
 *
 * Not here: a tree at a moment (tree.ts), who deleted it (record/attribution.ts).
 */
import { identityKey, identityOf } from '../../../../core/graph/identity.ts'
import { nodePhase } from '../../../../core/model/node.ts'
import { isSamePlace } from '../../../../core/model/object.ts'
import type { History } from '../../../../core/model/record.ts'
import { Problem } from '../../../../runtime/http/problem.ts'
import { type Histories, historiesAt } from '../index/history-at.ts'
import { type OpenView, readThen } from '../view/open-view.ts'
import type { View } from '../view/view.ts'
import { beginOf } from './deletion-cause.ts'
import { judgedOf } from './judged.ts'
import type { Answer } from './query.ts'
import { byKindAndName, Tree, type TreeNode } from './tree.ts'

export interface FormerParts {
  readonly index: Histories
  readonly open: OpenView
}

const UNKNOWN = 'the tree before its deletion is not known'

export async function formerTree(
  { index, open }: FormerParts,
  view: View,
  present: TreeNode,
  isUp: boolean,
): Promise<Answer<TreeNode>> {
  const { cluster, moment } = view
  const { entries } = await historiesAt(index, moment).history(identityOf(cluster, present))
  const begun = beginIn(entries)
  if (begun === undefined) return { answer: present, partial: UNKNOWN }
  const { partition, position } = begun
  try {
    const before = await open(view, { type: 'position', partition, position })
    const root = before.node(present.uid)?.object
    if (root === undefined || !isSamePlace(root, present))
      return { answer: present, partial: UNKNOWN }
    const told = await readThen(before, async () => {
      return await new Tree(before).grown({ ...root, cluster, at: 0 }, isUp)
    })
    return { answer: joined(view, told.answer, present), partial: told.cut }
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return { answer: present, partial: `${UNKNOWN}: ${error.message}` }
  }
}

/** Of its last life, where its deletion was recorded first. */
function beginIn(history: readonly History[]): History | undefined {
  const created = history.findLastIndex(({ change }) => change === 'created')
  return beginOf(history.slice(Math.max(created, 0)))
}

/** Each with its phase and verdict of now, and beside them what the tree of now has more. */
function joined(view: View, former: TreeNode, present: TreeNode): TreeNode {
  const keyOf = (node: TreeNode): string => identityKey(identityOf(view.cluster, node))
  const seen = new Set<string>([keyOf(former)])
  const queue = [former]
  for (const node of queue) {
    for (const [index, child] of node.children.entries()) {
      const now = asNow(view, child)
      node.children[index] = now
      seen.add(keyOf(now))
      queue.push(now)
    }
  }
  const more = present.children.filter((child) => !seen.has(keyOf(child)))
  const children = [...former.children, ...more].toSorted(byKindAndName)
  return { ...former, phase: present.phase, children }
}

function asNow(view: View, then: TreeNode): TreeNode {
  const node = view.node(then.uid)
  if (node === undefined || !isSamePlace(node.object, then)) {
    // An owner of a kind that is not watched was never seen.
    const isUnknown = then.phase === 'unknown' || view.partial() !== ''
    return { ...then, phase: isUnknown ? 'unknown' : 'gone' }
  }
  return { ...then, phase: nodePhase(node), ...judgedOf(node) }
}
