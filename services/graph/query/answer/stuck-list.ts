/**
 * Lists the objects of one cluster that finalizers hold for long, a page at a time: what each waits
 * for, who removes which finalizer, who asked for the deletion, and what waits for the object.
 *
 * What must stay true: an object is on it from the same moment of its cluster's clock on from which
 * it counts as late (overdue.ts). Pages follow uids, so nothing is listed twice. Of now no page
 * reads what is not being deleted, as long as the tally knows all that is by uid; else, and of a
 * moment of the past, a page reads a bounded number of nodes and may hold fewer than were asked
 * for.
 *
 * Not here: removing a finalizer (finalizer-plan.ts), which cluster a page is about
 * (ask/finalizer-question.ts).
 */
import { lastPart, nodeKey, nodesPrefix } from '../../../../core/graph/key.ts'
import { type Node, nodePhase } from '../../../../core/model/node.ts'
import type { Uid } from '../../../../core/model/object.ts'
import { entriesIn, prefixRange } from '../../../../ports/store.ts'
import type { FinalizerList } from '../../api/answer-schema.ts'
import type { ClusterRef, Row, Unshaped } from '../../api/document.ts'
import { timeOf } from '../../api/document.ts'
import { NONE_DELETING } from '../../fold/deleting-count.ts'
import type { Asked } from '../index/moment.ts'
import { PAGE_KEYS, type View } from '../view/view.ts'
import { removerOf } from './known-finalizer.ts'
import { MOST_READ } from './object-list.ts'
import { stuckBefore, waitsFor } from './overdue.ts'
import type { Answer, Query } from './query.ts'

export interface StuckAsked {
  readonly olderThanMs: number
  /** Undefined: all; empty: objects without one. */
  readonly namespace: string | undefined
  /** Undefined: any. */
  readonly finalizer: string | undefined
  readonly limit: number
  /** Undefined: of now. */
  readonly at: Asked | undefined
}

export type StuckObject = Row<Unshaped<FinalizerList>['objects']>

export interface StuckPage {
  readonly objects: readonly StuckObject[]
  /** Last key that was read; null: there are no more in this cluster. */
  readonly next: string | null
}

/** Owners that a row names as waiting for its object. */
const MOST_BLOCKED = 20

export async function stuckPage(
  view: View,
  { cluster, query }: { readonly cluster: ClusterRef; readonly query: Pick<Query, 'deletion'> },
  asked: StuckAsked,
  after: string,
): Promise<Answer<StuckPage>> {
  const doubts = new Set([view.partial()])
  const objects: StuckObject[] = []
  let [read, last] = [0, after]
  const answered = (next: string | null): Answer<StuckPage> => {
    const partial = [...doubts].filter((text) => text !== '').join('; ')
    return { answer: { objects, next }, partial }
  }
  for await (const [key, uid] of candidates(view, after)) {
    if (read >= MOST_READ || objects.length >= asked.limit) return answered(last)
    read += 1
    const node = view.node(uid)
    if (node !== undefined && isStuck(view, node, asked)) {
      const { answer: deletion, partial } = await query.deletion(view, {
        ...node.object,
        cluster: view.cluster,
        at: 0,
      })
      doubts.add(partial)
      objects.push({ cluster, ...(await stuckObject(view, node)), deletion })
    }
    last = key
  }
  return answered(null)
}

/** By key. What the tally knows by uid is all that is being deleted, or it is not taken. */
async function* candidates(view: View, after: string): AsyncIterable<readonly [string, Uid]> {
  const { cluster, store, turns } = view
  const named = deletingOf(view)
  if (named !== undefined) {
    const keys = named.map((uid) => [nodeKey(cluster, uid), uid] as const)
    yield* keys.filter(([key]) => key > after).sort(([a], [b]) => (a < b ? -1 : 1))
    return
  }
  const range = prefixRange(nodesPrefix(cluster), PAGE_KEYS)
  const from = range.gte <= after ? { ...range, gte: `${after}\0` } : range
  for await (const [key] of entriesIn(store, from)) {
    await turns.take()
    yield [key, lastPart(key)]
  }
}

function deletingOf({ moment, partition, cluster }: View): readonly Uid[] | undefined {
  if (moment !== null) return undefined
  const tallies = partition.counts()
  if (tallies === undefined) return undefined
  const { deleting = NONE_DELETING } = tallies.find((each) => each.cluster === cluster) ?? {}
  const counted = [...deleting.minutes.values()].reduce((sum, count) => sum + count, 0)
  return counted === deleting.named.length ? deleting.named.map(({ uid }) => uid) : undefined
}

function isStuck({ facts }: View, { object }: Node, asked: StuckAsked): boolean {
  const { deletedAt, finalizers, namespace } = object
  if (deletedAt === null || finalizers.length === 0) return false
  if (asked.namespace !== undefined && asked.namespace !== namespace) return false
  if (asked.finalizer !== undefined && !finalizers.includes(asked.finalizer)) return false
  return deletedAt <= stuckBefore(facts.state, asked.olderThanMs)
}

async function stuckObject(
  view: View,
  node: Node,
): Promise<Omit<StuckObject, 'cluster' | 'deletion'>> {
  const { object } = node
  const { group, kind, namespace, name, uid, deletedAt } = object
  const seen = view.facts.seen(object, uid)
  return {
    ...{ group, kind, namespace, name, uid, phase: nodePhase(node) },
    resourceVersion: seen?.resourceVersion ?? object.resourceVersion,
    deletionTimestamp: timeOf(deletedAt),
    since: (deletedAt ?? 0) - (view.facts.state?.clockLeadMs ?? 0),
    finalizers: object.finalizers.map((finalizer) => {
      const { by = '', once = null } = removerOf(object, finalizer) ?? {}
      return { name: finalizer, by, once }
    }),
    because: await waitsFor(view, node),
    blocks: blockedBy(view, node),
  }
}

/** Owners that wait for it, the first of them, and its namespace. */
function blockedBy(view: View, { object }: Node): StuckObject['blocks'] {
  const { facts } = view
  const owners = object.ownerReferences.flatMap((reference) => {
    const owner = facts.node(reference.uid)
    if (owner === undefined) return []
    if (!view.isNamed(view.identityOf(owner.object), object, reference)) return []
    const phase = nodePhase(owner)
    const waits = phase === 'orphaning' || (phase === 'waiting' && reference.blockOwnerDeletion)
    const { group, kind, namespace, name, uid } = owner.object
    const by = phase === 'orphaning' ? ('orphan' as const) : ('foreground' as const)
    return waits ? [{ group, kind, namespace, name, uid, by }] : []
  })
  const { namespace: of } = object
  if (of === '' || !facts.isEnding(of)) return owners.slice(0, MOST_BLOCKED)
  const place = { group: '', kind: 'Namespace', namespace: '', name: of, uid: '' }
  return [...owners.slice(0, MOST_BLOCKED), { ...place, by: 'namespace' as const }]
}
