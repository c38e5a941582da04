/**
 * Answers to what people ask: which objects have this name, what hangs on one, what it hangs on, and why it stands as it does.
 *
 * What must stay true: it reads what is committed and changes nothing; an answer that may be incomplete says so.
 */
import type { StateReader } from '../../core/graph.ts'
import { kindOf, ownerOf } from '../../core/graph.ts'
import type { Attempt, Node, Verdict } from '../../core/node.ts'
import type { OwnerReference } from '../../core/object.ts'
import type { History } from '../../core/record.ts'
import type { Standing } from '../../core/reference.ts'
import { standingOf } from '../../core/standing.ts'
import type { Owner } from '../../core/state.ts'
import type { HistoryIndex, Named } from './history-index.ts'
import type { Obstacle } from './obstacle.ts'
import { obstacleOf, withFirstSeen } from './obstacle.ts'
import type { TreeNode } from './tree.ts'
import { Tree } from './tree.ts'
import type { View, Views } from './view.ts'

export interface Selector {
  /** `Pod`, `pods`, `deployments.apps`, `Deployment.v1.apps`; upper and lower case alike; empty: any. */
  readonly kind: string
  readonly name: string
  readonly namespace: string
  /** The cluster's name or id; undefined: any. */
  readonly cluster: string | undefined
  readonly uid: string | undefined
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
          isKind: uid !== undefined || kind === '' || isKind(kind, object, view.readers),
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

function ownerText({ position: _, proof, ...owner }: Owner): NonNullable<Why['asOwner']> {
  const text =
    proof === null
      ? null
      : `${proof.class} at ${proof.position}, ${new Date(proof.at).toISOString()}`
  return { ...owner, proof: text }
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

/** Of one record: what was decided, before what was asked for because of it. All else stays in its order. */
function verdictsFirst(history: readonly History[]): History[] {
  const records = Map.groupBy(history, ({ partition, position }) => `${partition}-${position}`)
  return [...records.values()].flatMap((all) => [
    ...all.filter(({ change }) => change !== 'command'),
    ...all.filter(({ change }) => change === 'command'),
  ])
}
