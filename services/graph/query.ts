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
import type { Committed, Found } from './committed.ts'
import type { HistoryIndex, Named } from './history-index.ts'
import type { Obstacle } from './obstacle.ts'
import { obstacleOf, withFirstSeen } from './obstacle.ts'

/** Nodes that one tree holds at most; then it says that it was cut. */
const TREE_LIMIT = 10_000

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
  /** A node's phase, or `absent`, `found`, `unknown` of an owner that is no node. */
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
  /** Null when it is gone. */
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

export interface Query {
  find(selector: Selector): Promise<readonly Named[]>
  tree(root: Named, owners: boolean): Promise<Answer<TreeNode>>
  why(object: Named): Promise<Answer<Why>>
  clusterName(cluster: ClusterId): string
  /** It is a node now. */
  isThere(cluster: ClusterId, uid: Uid): boolean
}

export function createQuery(committed: Committed, index: HistoryIndex): Query {
  const { clusterName, nodeAnywhere, readers, partial } = committed

  async function dependentsOf(cluster: ClusterId, uid: Uid): Promise<Uid[]> {
    const found = new Set<Uid>()
    for await (const page of committed.dependentPages(cluster, uid)) {
      for (const dependent of page) found.add(dependent)
      if (found.size >= TREE_LIMIT) break
    }
    return [...found]
  }

  function leaf(found: { node: Node }, cluster: ClusterId, edge: TreeNode['edge']): TreeNode {
    const { object, phase, verdict } = found.node
    const { group, kind, namespace, name, uid } = object
    return {
      cluster: clusterName(cluster),
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
  async function next(
    node: Node,
    reader: StateReader,
    cluster: ClusterId,
    owners: boolean,
  ): Promise<TreeNode[]> {
    if (owners)
      return node.object.ownerReferences.map((ref) => ownerNode(reader, cluster, node, ref))
    const dependents = await dependentsOf(cluster, node.object.uid)
    const leaves = dependents.flatMap((uid) => {
      const found = nodeAnywhere(cluster, uid)
      if (found === undefined) return []
      const reference = found.node.object.ownerReferences.find((ref) => ref.uid === node.object.uid)
      if (reference === undefined) return []
      return [leaf(found, cluster, edgeOf(found.reader, cluster, found.node, reference))]
    })
    return leaves.sort(byKindAndName)
  }

  function ownerNode(
    reader: StateReader,
    cluster: ClusterId,
    node: Node,
    ref: OwnerReference,
  ): TreeNode {
    const edge = edgeOf(reader, cluster, node, ref)
    const kind = kindOfReference(ref)
    const found = nodeAnywhere(cluster, ref.uid)
    const place = placeOf(kindOf(reader, cluster, kind), node.object, ref)
    if (
      found !== undefined &&
      found.node.object.name === ref.name &&
      found.node.object.kind === ref.kind
    ) {
      return leaf(found, cluster, edge)
    }
    const owner = place === undefined ? undefined : ownerOf(reader, cluster, ref.uid, place)
    return {
      cluster: clusterName(cluster),
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

  return {
    clusterName,
    isThere: (cluster, uid) => nodeAnywhere(cluster, uid) !== undefined,
    async find({ kind, name, namespace, cluster, uid }) {
      const found =
        uid === undefined
          ? [
              ...(await index.named(namespace, name)),
              ...(namespace === '' ? [] : await index.named('', name)),
            ]
          : await index.withUid(uid)
      return found.filter(
        (each) =>
          (cluster === undefined ||
            each.cluster === cluster ||
            clusterName(each.cluster) === cluster) &&
          (uid !== undefined || isKind(kind, each, readers())),
      )
    },
    async tree(root, owners) {
      const found = nodeAnywhere(root.cluster, root.uid)
      const top: TreeNode =
        found === undefined
          ? {
              ...root,
              cluster: clusterName(root.cluster),
              phase: 'gone',
              edge: null,
              verdict: '',
              repeated: false,
              children: [],
            }
          : leaf(found, root.cluster, null)
      const told = new Set<Uid>([root.uid])
      let cut = ''
      for (const queue = [top]; queue.length > 0; ) {
        const at = queue.shift()
        const here = at === undefined ? undefined : nodeAnywhere(root.cluster, at.uid)
        if (at === undefined || here === undefined) continue
        for (const child of await next(here.node, here.reader, root.cluster, owners)) {
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
      return { answer: top, partial: [partial(), cut].filter((text) => text !== '').join('; ') }
    },
    async why(object) {
      const found = nodeAnywhere(object.cluster, object.uid)
      const history = verdictsFirst(await index.history(object.cluster, object.uid))
      const owner = readers()
        .map((reader) => ownerOf(reader, object.cluster, object.uid, object))
        .find((each) => each !== undefined)
      const lag = await index.lagEntries()
      const behind = lag === 0n ? '' : `${lag} entries of history are not indexed yet`
      const verdict = found?.node.verdict ?? null
      const answer: Why = {
        object,
        clusterName: clusterName(object.cluster),
        phase: found?.node.phase ?? null,
        references: (found?.node.object.ownerReferences ?? []).map((reference) => {
          const { standing, reason } = standingOf(
            found?.reader ?? { get: () => undefined },
            object.cluster,
            found?.node.object as Node['object'],
            reference,
          )
          return { ...reference, standing, reason }
        }),
        verdict: verdict === null ? null : { ...verdict, basis: verdict.basis.map(String) },
        attempt: found?.node.attempt ?? null,
        obstacle: found === undefined ? null : await obstacleSince(index, object.cluster, found),
        asOwner: owner === undefined ? null : ownerText(owner),
        history,
      }
      return { answer, partial: [partial(), behind].filter((text) => text !== '').join('; ') }
    },
  }
}

async function obstacleSince(
  index: HistoryIndex,
  cluster: ClusterId,
  found: Found,
): Promise<Obstacle | null> {
  const obstacle = obstacleOf(cluster, found)
  return obstacle === null ? null : await withFirstSeen(index, cluster, found.node, obstacle)
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
