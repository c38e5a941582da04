/**
 * The tree of an object that was deleted: what it owned, or what owned it, just before its deletion
 * began, each object as it is now.
 *
 * What must stay true: what references it still, or by now, is in it, too; where its past is not
 * kept that is said.
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
import type { Answer } from './query.ts'
import { byKindAndName, grown, judgedOf, type TreeNode } from './tree.ts'

export interface FormerParts {
  readonly index: Histories
  readonly open: OpenView
}

const UNKNOWN = 'the tree before its deletion is not known'
/** Owners that were deleted before it, of which each is read at a moment of its own. */
const MOST_MOMENTS = 20

export async function formerTree(
  parts: FormerParts,
  view: View,
  present: TreeNode,
  isUp: boolean,
): Promise<Answer<TreeNode>> {
  const then = await grownBefore(parts, view, present, isUp)
  if (then.former === undefined) return { answer: present, partial: textOf(then.why) }
  const { former, before, cut } = then
  const doubt = isUp ? await addFormerOwners(parts, view, former, before) : ''
  const partial = [cut, doubt].filter((text) => text !== '').join('; ')
  return { answer: joined(view, former, present), partial }
}

function textOf(why: string): string {
  return why === '' ? UNKNOWN : `${UNKNOWN}: ${why}`
}

interface Grown {
  readonly former: TreeNode
  /** The moment before its deletion began. */
  readonly before: View
  readonly cut: string
}

/** `why`: that moment cannot be asked; empty where its deletion is not recorded. */
async function grownBefore(
  { index, open }: FormerParts,
  view: View,
  of: TreeNode,
  isUp: boolean,
): Promise<Grown | { readonly former: undefined; readonly why: string }> {
  const { cluster, moment } = view
  const { entries } = await historiesAt(index, moment).history(identityOf(cluster, of))
  const begun = beginIn(entries)
  if (begun === undefined) return { former: undefined, why: '' }
  const { partition, position } = begun
  try {
    const before = await open(view, { type: 'position', partition, position })
    const root = before.node(of.uid)?.object
    if (root === undefined || !isSamePlace(root, of)) return { former: undefined, why: '' }
    const { top, cut } = await readThen(before, async () => {
      return await grown(before, { ...root, cluster, at: 0 }, isUp)
    })
    return { former: top, before, cut }
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return { former: undefined, why: error.message }
  }
}

/**
 * An owner that was deleted before its dependent was is no part of that moment: whom it named
 * itself is read just before its own deletion. Answers with why some may be missing.
 */
async function addFormerOwners(
  parts: FormerParts,
  view: View,
  former: TreeNode,
  before: View,
): Promise<string> {
  const keyOf = (node: TreeNode): string => identityKey(identityOf(view.cluster, node))
  const seen = new Set<string>()
  const doubts = new Set<string>()
  const queue: { readonly node: TreeNode; readonly view: View }[] = [{ node: former, view: before }]
  let moments = 0
  for (const { node, view: then } of queue) {
    seen.add(keyOf(node))
    let at = then
    const there = then.node(node.uid)
    if (!node.repeated && (there === undefined || !isSamePlace(there.object, node))) {
      moments += 1
      if (moments > MOST_MOMENTS) return `owners above ${MOST_MOMENTS} deleted ones are left out`
      const own = await grownBefore(parts, view, node, true)
      if (own.former === undefined) {
        if (own.why !== '') doubts.add(`owners of ${node.kind}/${node.name}: ${own.why}`)
      } else {
        at = own.before
        const above = own.former.children
        node.children.push(
          ...above.map((each) => (seen.has(keyOf(each)) ? { ...each, ...REPEATED } : each)),
        )
      }
    }
    for (const child of node.children) queue.push({ node: child, view: at })
  }
  return [...doubts].join('; ')
}

const REPEATED = { repeated: true, children: [] }

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
