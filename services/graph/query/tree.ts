/**
 * What hangs on an object, or what it hangs on, level by level.
 *
 * What must stay true: each object is told once with what hangs on it, in the same order whoever is asked; a tree that was cut says so.
 *
 * Not here: which object is meant (query.ts), lines and drawings (cli/tree.ts).
 */
import { ownerOf } from '../../../core/graph/graph.ts'
import { ownerPlace } from '../../../core/graph/owner-place.ts'
import { standingOf } from '../../../core/judge/standing.ts'
import type { Node, Verdict } from '../../../core/model/node.ts'
import type { OwnerReference, Uid } from '../../../core/model/object.ts'
import type { Standing } from '../../../core/model/reference.ts'
import { kindOfReference } from '../../../core/model/reference.ts'
import type { HistoryIndex, Named } from './history-index.ts'
import type { View } from './view.ts'

/** Nodes that one tree holds at most; then it says that it was cut. */
const TREE_LIMIT = 10_000
/** Levels below its root: writers of JSON and YAML recurse, and anybody may tie a chain that has no end. */
const TREE_LEVELS = 256
/** Entries of the index that one tree reads at most: it knows former dependents, too. */
const MOST_INDEXED = 100_000

export interface TreeNode {
  readonly group: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly uid: Uid
  /** A node's phase, or `absent`, `found`, `unknown` of an owner that is no node; `gone`, or `unknown` while its partition is being restored. */
  readonly phase: string
  /** Of the reference that leads here from the node above. */
  readonly edge: {
    readonly standing: Standing
    readonly controller: boolean
    readonly blocking: boolean
  } | null
  /** Null where there is none. */
  readonly verdict: Pick<Verdict, 'type' | 'because'> | null
  /** Told elsewhere in the tree, with what hangs on it. */
  readonly repeated: boolean
  readonly children: TreeNode[]
}

/** A tree on its way, of one cluster. */
export class Tree {
  readonly #view: View
  readonly #index: Pick<HistoryIndex, 'dependents'>
  #indexed = 0

  constructor(view: View, index: Pick<HistoryIndex, 'dependents'>) {
    this.#view = view
    this.#index = index
  }

  async grown(root: Named, owners: boolean): Promise<{ answer: TreeNode; cut: string }> {
    const top = this.#root(root)
    const told = new Set<Uid>([root.uid])
    const levels = new Map<TreeNode, number>([[top, 0]])
    let cut = ''
    const queue = [top]
    for (const at of queue) {
      const level = (levels.get(at) ?? 0) + 1
      for (const child of await this.#next(at.uid, owners)) {
        if (level > TREE_LEVELS) {
          cut = `cut after ${TREE_LEVELS} levels; ask for an object of that level`
          break
        }
        if (told.size >= TREE_LIMIT) {
          cut = `cut after ${TREE_LIMIT} objects; "kinfold get --owned-by KIND/NAME" lists all dependents of one of them`
          break
        }
        const isRepeat = told.has(child.uid)
        at.children.push(isRepeat ? { ...child, repeated: true } : child)
        if (isRepeat) continue
        told.add(child.uid)
        levels.set(child, level)
        queue.push(child)
      }
    }
    if (cut === '' && this.#indexed >= MOST_INDEXED) {
      cut = 'too many former dependents: some whose reference cannot be resolved may be left out'
    }
    return { answer: top, cut }
  }

  #root(root: Named): TreeNode {
    const node = this.#view.node(root.uid)
    if (node !== undefined) return this.#leaf(node, null)
    const { group, kind, namespace, name, uid } = root
    return {
      ...{ group, kind, namespace, name, uid },
      phase: this.#view.partial() === '' ? 'gone' : 'unknown',
      edge: null,
      verdict: null,
      repeated: false,
      children: [],
    }
  }

  #leaf({ object, phase, verdict }: Node, edge: TreeNode['edge']): TreeNode {
    const { group, kind, namespace, name, uid } = object
    return {
      group,
      kind,
      namespace,
      name,
      uid,
      phase,
      edge,
      verdict: verdict && { type: verdict.type, because: verdict.because },
      repeated: false,
      children: [],
    }
  }

  /** The direct dependents of a node, or its owners. */
  async #next(uid: Uid, owners: boolean): Promise<TreeNode[]> {
    const view = this.#view
    await view.turns.take()
    if (owners) {
      const node = view.node(uid)
      return node?.object.ownerReferences.map((ref) => this.#ownerNode(node, ref)) ?? []
    }
    const found = new Set<Uid>()
    const leaves: TreeNode[] = []
    // Also of one that is gone: what is held, paused or under way still references it.
    for await (const dependent of view.dependents(uid)) {
      if (found.has(dependent)) continue
      found.add(dependent)
      leaves.push(...this.#dependent(dependent, uid))
      if (found.size >= TREE_LIMIT) break
    }
    // A reference whose kind cannot be resolved has no edge in the graph: only the index has it.
    for await (const dependent of this.#index.dependents(view.cluster, uid)) {
      if (leaves.length >= TREE_LIMIT || this.#indexed >= MOST_INDEXED) break
      this.#indexed += 1
      await view.turns.take()
      if (found.has(dependent)) continue
      found.add(dependent)
      leaves.push(...this.#dependent(dependent, uid))
    }
    return leaves.sort(byKindAndName)
  }

  #dependent(uid: Uid, owner: Uid): TreeNode[] {
    const node = this.#view.node(uid)
    const reference = node?.object.ownerReferences.find((ref) => ref.uid === owner)
    if (node === undefined || reference === undefined) return []
    return [this.#leaf(node, edgeOf(this.#view, node, reference))]
  }

  #ownerNode(node: Node, ref: OwnerReference): TreeNode {
    const { cluster, reader } = this.#view
    const edge = edgeOf(this.#view, node, ref)
    const { place } = ownerPlace(reader, cluster, node.object, ref)
    const { group, kind } = place ?? kindOfReference(ref)
    const owner = this.#view.node(ref.uid)
    if (owner?.object.name === ref.name && owner.object.kind === kind) {
      return this.#leaf(owner, edge)
    }
    const known = place === undefined ? undefined : ownerOf(reader, cluster, ref.uid, place)
    return {
      group,
      kind,
      namespace: place?.namespace ?? '',
      name: ref.name,
      uid: ref.uid,
      phase: known?.state ?? 'unknown',
      edge,
      verdict: null,
      repeated: false,
      children: [],
    }
  }
}

/** Of one of its references. */
export function edgeOf(
  { reader, cluster }: View,
  node: Node,
  reference: OwnerReference,
): NonNullable<TreeNode['edge']> {
  return {
    standing: standingOf(reader, cluster, node.object, reference).standing,
    controller: reference.controller === true,
    blocking: reference.blockOwnerDeletion === true,
  }
}

function byKindAndName(a: TreeNode, b: TreeNode): number {
  const [left, right] = [`${a.kind}/${a.name}`, `${b.kind}/${b.name}`]
  return left < right ? -1 : left > right ? 1 : 0
}
