/**
 * The dependents of an object, or its owners, level by level.
 *
 * What must stay true: each object is listed once with its dependents, in the same order by every
 * process; a tree that was cut says so. A dependent references the object by its uid and
 * coordinates.
 *
 * Not here: which object is meant (query.ts), references by its uid alone (misnamed.ts), lines and
 * drawings (cli/ask/tree.ts).
 */
import { identityKey } from '../../../../core/graph/identity.ts'
import { ownerPlace } from '../../../../core/graph/owner-place.ts'
import { standingOf } from '../../../../core/judge/standing.ts'
import type { Node } from '../../../../core/model/node.ts'
import { admissionOf, nodePhase } from '../../../../core/model/node.ts'
import type { Coordinates, OwnerReference } from '../../../../core/model/object.ts'
import { isSamePlace } from '../../../../core/model/object.ts'
import { ownerStateOf } from '../../../../core/model/owner.ts'
import { kindOfReference } from '../../../../core/model/reference.ts'
import type { DependentList } from '../../api/answer-schema.ts'
import { timeOf, type Unshaped } from '../../api/document.ts'
import type {
  Judged as AnsweredJudged,
  TreeNode as AnsweredNode,
  Misnamed,
} from '../../api/part-schema.ts'
import { knownDeletion } from '../../fold/known-object.ts'
import type { HistoryIndex, Named } from '../index/history-index.ts'
import type { Sight } from '../view/sight.ts'
import type { View } from '../view/view.ts'
import { misnamedIn, NONE_MISNAMED } from './misnamed.ts'
import type { Answer } from './query.ts'

/** Nodes that one tree holds at most; then it says that it was cut. */
export const TREE_LIMIT = 10_000
/**
 * Levels below its root: writers of JSON and YAML recurse, and any user may make a chain of
 * references without an end.
 */
const TREE_LEVELS = 256
export interface TreeNode extends Omit<Unshaped<AnsweredNode>, 'children'> {
  readonly children: TreeNode[]
}

export interface OwnershipTree {
  readonly root: TreeNode
  /** None upwards. */
  readonly misnamed: Misnamed
}

type Judged = Unshaped<AnsweredJudged>

/** Of an object that is no node. */
export const NOT_JUDGED: Judged = { verdict: null, admission: null, doubt: null, deletion: null }

/** Of one that was cut. */
const MORE = '; "kinfold get --owned-by KIND/NAME" lists all dependents of one of them'

export async function treeOf(
  view: View,
  index: Pick<HistoryIndex, 'caughtUp' | 'namesOf'>,
  root: Named,
  { isUp, sight }: { readonly isUp: boolean; readonly sight: Sight },
): Promise<Answer<OwnershipTree>> {
  // While the tree grows, the index catches up with the log.
  const [{ top, cut }, lag] = await Promise.all([
    grown(view, root, isUp),
    isUp ? 0n : index.caughtUp(),
  ])
  const misnamed = isUp
    ? NONE_MISNAMED
    : await misnamedIn(view, index, view.identityOf(root), { sight, isBehind: lag > 0n })
  const partial = [view.partial(), cut].filter((text) => text !== '').join('; ')
  return { answer: { root: top, misnamed }, partial }
}

/**
 * Adds to a root what is next to it, level by level, each object once; answers with why it was cut,
 * if it was.
 */
export async function grown(
  view: View,
  root: Named,
  isUp: boolean,
): Promise<{ readonly top: TreeNode; readonly cut: string }> {
  const there = view.node(root.uid)
  const top =
    there === undefined
      ? leafWithout(root, view.partial() === '' ? 'gone' : 'unknown', null)
      : leafOf(there, null)
  const told = new Set<string>([identityKey(view.identityOf(top))])
  const levels = new Map<TreeNode, number>([[top, 0]])
  let cut = ''
  const queue = [top]
  for (const at of queue) {
    const level = (levels.get(at) ?? 0) + 1
    await view.turns.take()
    for (const child of isUp ? ownersOf(view, at) : await dependentsOf(view, at)) {
      if (level > TREE_LEVELS) {
        cut = `cut after ${TREE_LEVELS} levels; ask for an object of that level`
        break
      }
      if (told.size >= TREE_LIMIT) {
        cut = `cut after ${TREE_LIMIT} objects${MORE}`
        break
      }
      const key = identityKey(view.identityOf(child))
      const isRepeat = told.has(key)
      at.children.push(isRepeat ? { ...child, repeated: true } : child)
      if (isRepeat) continue
      told.add(key)
      levels.set(child, level)
      queue.push(child)
    }
  }
  return { top, cut }
}

/** Also of a deleted one: objects that are held, paused or being deleted still reference it. */
async function dependentsOf(view: View, above: TreeNode): Promise<readonly TreeNode[]> {
  const owner = view.identityOf(above)
  const leaves: TreeNode[] = []
  for await (const uid of view.dependents(owner)) {
    const node = view.node(uid)
    const reference = node && view.referenceTo(owner, node.object)
    if (node === undefined || reference === undefined) continue
    leaves.push(leafOf(node, edgeOf(view, node, reference)))
    if (leaves.length >= TREE_LIMIT) break
  }
  return leaves.sort(byKindAndName)
}

function ownersOf(view: View, above: TreeNode): readonly TreeNode[] {
  const { facts } = view
  const node = view.node(above.uid)
  if (node === undefined || !isSamePlace(node.object, above)) return []
  return node.object.ownerReferences.map((ref) => {
    const edge = edgeOf(view, node, ref)
    const { name, uid } = ref
    const { place } = ownerPlace(facts, node.object, ref)
    const owner = view.node(uid)
    if (owner !== undefined && place !== undefined && isSamePlace(owner.object, place)) {
      return leafOf(owner, edge)
    }
    const known = place === undefined ? undefined : facts.owner(uid, place)
    const { group, kind } = place ?? kindOfReference(ref)
    const named = { group, kind, namespace: place?.namespace ?? '', name, uid }
    return leafWithout(named, ownerStateOf(known), edge)
  })
}

function leafOf(node: Node, edge: TreeNode['edge']): TreeNode {
  const leaf = leafWithout(node.object, nodePhase(node), edge)
  return { ...leaf, createdAt: timeOf(node.object.createdAt), ...judgedOf(node) }
}

/** Of an object that is no node. */
function leafWithout(
  { group, kind, namespace, name, uid }: Pick<Named, keyof Coordinates | 'uid'>,
  phase: TreeNode['phase'],
  edge: TreeNode['edge'],
): TreeNode {
  return {
    ...{ group, kind, namespace, name, uid, phase, createdAt: null, edge },
    ...{ ...NOT_JUDGED, repeated: false, children: [] },
  }
}

/** Of one of its references. */
export function edgeOf(
  { facts }: View,
  node: Node,
  reference: OwnerReference,
): DependentList['objects'][number]['edge'] {
  return {
    standing: standingOf(facts, node.object, reference).standing,
    controller: reference.controller === true,
    blocking: reference.blockOwnerDeletion === true,
  }
}

/** Its verdict as it was judged, whatever holds it, and beside it what holds it. */
export function judgedOf(node: Node): Judged {
  const { verdict, doubt } = node
  return {
    verdict: verdict && { type: verdict.type, because: verdict.because },
    admission: admissionOf(node),
    doubt,
    deletion: knownDeletion(node),
  }
}

export function byKindAndName(a: TreeNode, b: TreeNode): number {
  const [left, right] = [`${a.kind}/${a.name}`, `${b.kind}/${b.name}`]
  return left < right ? -1 : left > right ? 1 : 0
}
