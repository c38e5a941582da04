/**
 * What hangs on an object, or what it hangs on, level by level.
 *
 * What must stay true: each object is told once with what hangs on it, in the same order whoever is asked; a tree that was cut says so.
 *
 * Not here: which object is meant (query.ts), lines and drawings (cli/tree.ts).
 */
import type { StateReader } from '../../core/graph.ts'
import { kindOf, ownerOf } from '../../core/graph.ts'
import type { Node } from '../../core/node.ts'
import type { ClusterId, OwnerReference, Uid } from '../../core/object.ts'
import type { Standing } from '../../core/reference.ts'
import { kindOfReference, placeOf } from '../../core/reference.ts'
import { standingOf } from '../../core/standing.ts'
import type { Named } from './history-index.ts'
import type { View } from './view.ts'
import { piecesOf } from './view.ts'

/** Nodes that one tree holds at most; then it says that it was cut. */
const TREE_LIMIT = 10_000
/** Levels below its root: writers of JSON and YAML recurse, and anybody may tie a chain that has no end. */
const TREE_LEVELS = 256
/** Nodes of which it is looked at once what hangs on them: calls to other processes are made side by side. */
const GROWN_AT_ONCE = 8
/** Nodes of which it is asked at once where their dependents are. */
const LOOKAHEAD = 500

export interface TreeNode {
  readonly cluster: string
  readonly group: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly uid: Uid
  /** A node's phase, or `absent`, `found`, `unknown` of an owner that is no node; `gone`, or `unknown` while its partition is nobody's. */
  readonly phase: string
  /** Of the reference that leads here from the node above. */
  readonly edge: {
    readonly standing: Standing
    readonly controller: boolean
    readonly blocking: boolean
  } | null
  readonly verdict: string
  /** Told elsewhere in the tree, with what hangs on it. */
  readonly repeated: boolean
  readonly children: TreeNode[]
}

/** A tree on its way, of one cluster. */
export class Tree {
  readonly #view: View
  readonly #cluster: ClusterId

  constructor(view: View, cluster: ClusterId) {
    this.#view = view
    this.#cluster = cluster
  }

  async grown(root: Named, owners: boolean): Promise<{ answer: TreeNode; cut: string }> {
    const top = await this.#view.read(() => this.#root(root))
    const told = new Set<Uid>([root.uid])
    const levels = new Map<TreeNode, number>([[top, 0]])
    let cut = ''
    let ahead = 0
    for (const queue = [top]; queue.length > 0; ) {
      if (ahead <= 0) {
        const uids = queue.slice(0, LOOKAHEAD).map(({ uid }) => uid)
        await this.#view.fetchCounts(this.#cluster, uids)
        ahead = uids.length
      }
      const some = queue.splice(0, Math.min(GROWN_AT_ONCE, ahead))
      ahead -= some.length
      const grown = await Promise.all(some.map(({ uid }) => this.#next(uid, owners)))
      for (const [index, at] of some.entries()) {
        const level = (levels.get(at) ?? 0) + 1
        for (const child of grown[index] ?? []) {
          if (level > TREE_LEVELS) {
            cut = `cut after ${TREE_LEVELS} levels; ask for what stands there`
            break
          }
          if (told.size >= TREE_LIMIT) {
            cut = `cut after ${TREE_LIMIT} objects`
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
    }
    return { answer: top, cut }
  }

  #root(root: Named): TreeNode {
    const found = this.#view.nodeAnywhere(this.#cluster, root.uid)
    if (found !== undefined) return this.#leaf(found.node, null)
    return {
      ...root,
      cluster: this.#view.clusterName(this.#cluster),
      phase: this.#view.partial() === '' ? 'gone' : 'unknown',
      edge: null,
      verdict: '',
      repeated: false,
      children: [],
    }
  }

  #leaf({ object, phase, verdict }: Node, edge: TreeNode['edge']): TreeNode {
    const { group, kind, namespace, name, uid } = object
    return {
      cluster: this.#view.clusterName(this.#cluster),
      group,
      kind,
      namespace,
      name,
      uid,
      phase,
      edge,
      verdict: verdict === null ? '' : `${verdict.type}: ${verdict.because}`,
      repeated: false,
      children: [],
    }
  }

  /** What hangs directly on a node, or what it hangs on. */
  async #next(uid: Uid, owners: boolean): Promise<TreeNode[]> {
    const view = this.#view
    const cluster = this.#cluster
    if (owners) {
      return await view.read(() => {
        const here = view.nodeAnywhere(cluster, uid)
        if (here === undefined) return []
        const { node, reader } = here
        return node.object.ownerReferences.map((ref) => this.#ownerNode(reader, node, ref))
      })
    }
    const leaves: TreeNode[] = []
    // Also of one that is gone: what is held, paused or under way still hangs on it.
    for (const some of piecesOf(await this.#dependentsOf(uid))) {
      leaves.push(...(await view.read(() => some.flatMap((each) => this.#dependent(each, uid)))))
    }
    return leaves.sort(byKindAndName)
  }

  async #dependentsOf(uid: Uid): Promise<Uid[]> {
    const found = new Set<Uid>()
    for await (const page of this.#view.dependentPages(this.#cluster, uid)) {
      for (const dependent of page) found.add(dependent)
      if (found.size >= TREE_LIMIT) break
    }
    return [...found]
  }

  #dependent(uid: Uid, owner: Uid): TreeNode[] {
    const found = this.#view.nodeAnywhere(this.#cluster, uid)
    const reference = found?.node.object.ownerReferences.find((ref) => ref.uid === owner)
    if (found === undefined || reference === undefined) return []
    return [this.#leaf(found.node, edgeOf(found.reader, this.#cluster, found.node, reference))]
  }

  #ownerNode(reader: StateReader, node: Node, ref: OwnerReference): TreeNode {
    const cluster = this.#cluster
    const edge = edgeOf(reader, cluster, node, ref)
    const kind = kindOfReference(ref)
    const found = this.#view.nodeAnywhere(cluster, ref.uid)
    const place = placeOf(kindOf(reader, cluster, kind), node.object, ref)
    if (
      found !== undefined &&
      found.node.object.name === ref.name &&
      found.node.object.kind === ref.kind
    ) {
      return this.#leaf(found.node, edge)
    }
    const owner = place === undefined ? undefined : ownerOf(reader, cluster, ref.uid, place)
    return {
      cluster: this.#view.clusterName(cluster),
      ...kind,
      namespace: place?.namespace ?? '',
      name: ref.name,
      uid: ref.uid,
      phase: owner?.state ?? 'unknown',
      edge,
      verdict: '',
      repeated: false,
      children: [],
    }
  }
}

function edgeOf(
  reader: StateReader,
  cluster: ClusterId,
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
