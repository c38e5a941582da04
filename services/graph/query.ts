/**
 * Answers to what people ask: which objects have this name, what hangs on one, what it hangs on, and why it stands as it does.
 *
 * What must stay true: it reads what is committed and changes nothing; an answer that may be incomplete says so.
 */
import type { StateReader } from '../../core/graph.ts'
import { kindOf, ownerOf } from '../../core/graph.ts'
import type { Attempt, Node, Verdict } from '../../core/node.ts'
import type { ClusterId, OwnerReference, Uid } from '../../core/object.ts'
import type { History } from '../../core/record.ts'
import type { Standing } from '../../core/standing.ts'
import { kindOfReference, placeOf, standingOf } from '../../core/standing.ts'
import type { Owner } from '../../core/state.ts'
import type { HistoryIndex, Named } from './history-index.ts'
import type { Obstacle } from './obstacle.ts'
import { obstacleOf, withFirstSeen } from './obstacle.ts'
import type { View, Views } from './view.ts'
import { piecesOf } from './view.ts'

/** Nodes that one tree holds at most; then it says that it was cut. */
const TREE_LIMIT = 10_000
/** Nodes of which it is looked at once what hangs on them: calls to other processes are made side by side. */
const GROWN_AT_ONCE = 32
/** Nodes of which it is asked at once where their dependents are. */
const LOOKAHEAD = 500

export interface Selector {
  /** `Pod`, `pods`, `deployments.apps`, `Deployment.v1.apps`; upper and lower case alike. */
  readonly kind: string
  readonly name: string
  readonly namespace: string
  /** The cluster's name or id; undefined: any. */
  readonly cluster: string | undefined
  readonly uid: string | undefined
}

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

export interface Answer<T> {
  readonly answer: T
  /** Why it may be incomplete; empty when it is not. */
  readonly partial: string
}

export interface Why {
  readonly object: Named
  readonly clusterName: string
  /** Null when it is gone; `unknown` while its partition is nobody's. */
  readonly phase: string | null
  readonly references: readonly (OwnerReference & {
    readonly standing: Standing
    readonly reason: string
  })[]
  readonly verdict: (Omit<Verdict, 'basis'> & { readonly basis: readonly string[] }) | null
  readonly attempt: Attempt | null
  /** What is in the way of what the verdict asks for. */
  readonly obstacle: Obstacle | null
  readonly asOwner: (Omit<Owner, 'position' | 'proof'> & { readonly proof: string | null }) | null
  readonly history: readonly History[]
}

/** An object that a selector fits. */
export interface Match {
  readonly object: Named
  readonly clusterName: string
  /** It is a node now. */
  readonly isThere: boolean
}

export interface Query {
  find(selector: Selector): Promise<readonly Match[]>
  tree(root: Named, owners: boolean): Promise<Answer<TreeNode>>
  why(object: Named): Promise<Answer<Why>>
}

export function createQuery(views: Views, index: HistoryIndex): Query {
  return {
    async find(selector) {
      const { kind, name, namespace, cluster, uid } = selector
      const found =
        uid === undefined
          ? [
              ...(await index.named(namespace, name)),
              ...(namespace === '' ? [] : await index.named('', name)),
            ]
          : await index.withUid(uid)
      const view = await views.open()
      const matches = await view.read(() =>
        found.map((object) => ({
          object,
          clusterName: view.clusterName(object.cluster),
          isThere: view.nodeAnywhere(object.cluster, object.uid) !== undefined,
          isKind: uid !== undefined || isKind(kind, object, view.readers),
        })),
      )
      return matches.filter(
        (each) =>
          each.isKind &&
          (cluster === undefined ||
            each.object.cluster === cluster ||
            each.clusterName === cluster),
      )
    },
    async tree(root, owners) {
      const view = await views.open()
      const { answer, cut } = await new Tree(view, root.cluster).grown(root, owners)
      return { answer, partial: [view.partial(), cut].filter((text) => text !== '').join('; ') }
    },
    async why(object) {
      const view = await views.open()
      const history = verdictsFirst(await index.history(object.cluster, object.uid))
      const standing = await view.read(() => standingIn(view, object))
      const lag = await index.lagEntries()
      const behind = lag === 0n ? '' : `${lag} entries of history are not indexed yet`
      const { node, obstacle, ...rest } = standing
      const answer: Why = {
        object,
        ...rest,
        obstacle:
          node === undefined || obstacle === null
            ? null
            : await withFirstSeen(index, object.cluster, node, obstacle),
        history,
      }
      return { answer, partial: [view.partial(), behind].filter((text) => text !== '').join('; ') }
    },
  }
}

/** How an object stands now. */
function standingIn(
  view: View,
  object: Named,
): Omit<Why, 'object' | 'history'> & { readonly node: Node | undefined } {
  const { cluster, uid } = object
  const found = view.nodeAnywhere(cluster, uid)
  const owners = view.readers.map((reader) => ownerOf(reader, cluster, uid, object))
  const owner = owners.find((each) => each !== undefined)
  const verdict = found?.node.verdict ?? null
  const references = found?.node.object.ownerReferences ?? []
  return {
    node: found?.node,
    clusterName: view.clusterName(cluster),
    phase: found?.node.phase ?? (view.partial() === '' ? null : 'unknown'),
    references: references.map((reference) => {
      const { standing, reason } = standingOf(
        found?.reader ?? { get: () => undefined },
        cluster,
        found?.node.object as Node['object'],
        reference,
      )
      return { ...reference, standing, reason }
    }),
    verdict: verdict === null ? null : { ...verdict, basis: verdict.basis.map(String) },
    attempt: found?.node.attempt ?? null,
    obstacle: found === undefined ? null : obstacleOf(cluster, found),
    asOwner: owner === undefined ? null : ownerText(owner),
  }
}

/** A tree on its way, of one cluster. */
class Tree {
  readonly #view: View
  readonly #cluster: ClusterId

  constructor(view: View, cluster: ClusterId) {
    this.#view = view
    this.#cluster = cluster
  }

  async grown(root: Named, owners: boolean): Promise<{ answer: TreeNode; cut: string }> {
    const top = await this.#view.read(() => this.#root(root))
    const told = new Set<Uid>([root.uid])
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
        for (const child of grown[index] ?? []) {
          if (told.size >= TREE_LIMIT) {
            cut = `cut after ${TREE_LIMIT} objects`
            break
          }
          const isRepeat = told.has(child.uid)
          at.children.push(isRepeat ? { ...child, repeated: true } : child)
          if (isRepeat) continue
          told.add(child.uid)
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
    const here = await view.read(() => view.nodeAnywhere(cluster, uid) !== undefined)
    const leaves: TreeNode[] = []
    for (const some of piecesOf(here ? await this.#dependentsOf(uid) : [])) {
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

function ownerText({ position: _, proof, ...owner }: Owner): NonNullable<Why['asOwner']> {
  const text =
    proof === null
      ? null
      : `${proof.class} at ${proof.position}, ${new Date(proof.at).toISOString()}`
  return { ...owner, proof: text }
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

/** `kind`, its plural, either with `.group` or `.version.group`. */
function isKind(word: string, named: Named, readers: readonly StateReader[]): boolean {
  const asked = word.toLowerCase()
  for (const reader of readers) {
    const kind = kindOf(reader, named.cluster, named)
    const names = [named.kind.toLowerCase(), ...(kind === undefined ? [] : [kind.resource])]
    const groups = [
      '',
      `.${named.group}`,
      ...(kind?.versions ?? []).map((v) => `.${v}.${named.group}`),
    ]
    for (const name of names) if (groups.some((group) => asked === name + group)) return true
  }
  return false
}

function byKindAndName(a: TreeNode, b: TreeNode): number {
  const [left, right] = [`${a.kind}/${a.name}`, `${b.kind}/${b.name}`]
  return left < right ? -1 : left > right ? 1 : 0
}

/** Of one record: what was decided, before what was asked for because of it. All else stays in its order. */
function verdictsFirst(history: readonly History[]): History[] {
  const records = Map.groupBy(history, ({ partition, position }) => `${partition}-${position}`)
  return [...records.values()].flatMap((all) => [
    ...all.filter(({ change }) => change !== 'command'),
    ...all.filter(({ change }) => change === 'command'),
  ])
}
