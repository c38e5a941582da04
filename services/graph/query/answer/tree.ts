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
import { identityKey, identityOf } from '../../../../core/graph/identity.ts'
import { ownerPlace } from '../../../../core/graph/owner-place.ts'
import { standingOf } from '../../../../core/judge/standing.ts'
import type { Node } from '../../../../core/model/node.ts'
import { nodePhase } from '../../../../core/model/node.ts'
import type { ClusterId, OwnerReference } from '../../../../core/model/object.ts'
import { isSamePlace } from '../../../../core/model/object.ts'
import { ownerStateOf } from '../../../../core/model/owner.ts'
import { kindOfReference } from '../../../../core/model/reference.ts'
import type { DependentList } from '../../api/answer-schema.ts'
import { timeOf, type Unshaped } from '../../api/document.ts'
import type { TreeNode as AnsweredNode } from '../../api/part-schema.ts'
import type { Named } from '../index/history-index.ts'
import type { View } from '../view/view.ts'
import { judgedOf, NOT_JUDGED } from './judged.ts'

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

/** Of a tree that was cut. */
const MORE = '; "kinfold get --owned-by KIND/NAME" lists all dependents of one of them'

/**
 * Adds to a root what is next to it, level by level, each object once; answers with why it was cut,
 * if it was.
 */
export async function grow(
  cluster: ClusterId,
  top: TreeNode,
  next: (node: TreeNode) => Promise<readonly TreeNode[]>,
  more = '',
): Promise<string> {
  const keyOf = (node: TreeNode): string => identityKey(identityOf(cluster, node))
  const told = new Set<string>([keyOf(top)])
  const levels = new Map<TreeNode, number>([[top, 0]])
  let cut = ''
  const queue = [top]
  for (const at of queue) {
    const level = (levels.get(at) ?? 0) + 1
    for (const child of await next(at)) {
      if (level > TREE_LEVELS) {
        cut = `cut after ${TREE_LEVELS} levels; ask for an object of that level`
        break
      }
      if (told.size >= TREE_LIMIT) {
        cut = `cut after ${TREE_LIMIT} objects${more}`
        break
      }
      const key = keyOf(child)
      const isRepeat = told.has(key)
      at.children.push(isRepeat ? { ...child, repeated: true } : child)
      if (isRepeat) continue
      told.add(key)
      levels.set(child, level)
      queue.push(child)
    }
  }
  return cut
}

/** A tree on its way, of one cluster. */
export class Tree {
  readonly #view: View

  constructor(view: View) {
    this.#view = view
  }

  async grown(root: Named, owners: boolean): Promise<{ answer: TreeNode; cut: string }> {
    const top = this.#root(root)
    const next = async (node: TreeNode): Promise<TreeNode[]> =>
      owners ? await this.#owners(node) : await this.#dependents(node)
    return { answer: top, cut: await grow(this.#view.cluster, top, next, MORE) }
  }

  #root(root: Named): TreeNode {
    const node = this.#view.node(root.uid)
    if (node !== undefined) return this.#leaf(node, null)
    const { group, kind, namespace, name, uid } = root
    return {
      ...{ group, kind, namespace, name, uid },
      phase: this.#view.partial() === '' ? 'gone' : 'unknown',
      createdAt: null,
      edge: null,
      ...NOT_JUDGED,
      repeated: false,
      children: [],
    }
  }

  #leaf(node: Node, edge: TreeNode['edge']): TreeNode {
    const { object } = node
    const phase = nodePhase(node)
    const { group, kind, namespace, name, uid, createdAt } = object
    return {
      ...{ group, kind, namespace, name, uid, phase },
      createdAt: timeOf(createdAt),
      edge,
      ...judgedOf(node),
      repeated: false,
      children: [],
    }
  }

  async #owners(above: TreeNode): Promise<TreeNode[]> {
    await this.#view.turns.take()
    const node = this.#view.node(above.uid)
    if (node === undefined || !isSamePlace(node.object, above)) return []
    return node.object.ownerReferences.map((ref) => this.#ownerNode(node, ref))
  }

  /** Also of a deleted one: objects that are held, paused or being deleted still reference it. */
  async #dependents(above: TreeNode): Promise<TreeNode[]> {
    const view = this.#view
    await view.turns.take()
    const owner = view.identityOf(above)
    const leaves: TreeNode[] = []
    for await (const uid of view.dependents(owner)) {
      const node = view.node(uid)
      const reference = node && view.referenceTo(owner, node.object)
      if (node === undefined || reference === undefined) continue
      leaves.push(this.#leaf(node, edgeOf(view, node, reference)))
      if (leaves.length >= TREE_LIMIT) break
    }
    return leaves.sort(byKindAndName)
  }

  #ownerNode(node: Node, ref: OwnerReference): TreeNode {
    const { facts } = this.#view
    const edge = edgeOf(this.#view, node, ref)
    const { place } = ownerPlace(facts, node.object, ref)
    const { group, kind } = place ?? kindOfReference(ref)
    const owner = this.#view.node(ref.uid)
    if (owner !== undefined && place !== undefined && isSamePlace(owner.object, place)) {
      return this.#leaf(owner, edge)
    }
    const known = place === undefined ? undefined : facts.owner(ref.uid, place)
    return {
      group,
      kind,
      namespace: place?.namespace ?? '',
      name: ref.name,
      uid: ref.uid,
      phase: ownerStateOf(known),
      createdAt: null,
      edge,
      ...NOT_JUDGED,
      repeated: false,
      children: [],
    }
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

export function byKindAndName(a: TreeNode, b: TreeNode): number {
  const [left, right] = [`${a.kind}/${a.name}`, `${b.kind}/${b.name}`]
  return left < right ? -1 : left > right ? 1 : 0
}
