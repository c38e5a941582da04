/**
 * Which object a question means: its words read, and the one chosen of all that have that name or
 * had it.
 *
 * What must stay true: what is there comes before what was there last; what could be meant twice is
 * refused with both.
 *
 * Not here: finding by name (query.ts), what is said where nothing is found (not-found.ts), who may
 * see it (access.ts).
 */

import type { FastifyRequest } from 'fastify'
import { identityKey, identityOf } from '../../../../core/graph/identity.ts'
import type { ClusterId } from '../../../../core/model/object.ts'
import { Problem } from '../../../../runtime/http/problem.ts'
import { clusterRefs } from '../../api/document.ts'
import { labelOf } from '../../api/word.ts'
import type { Match, Query, Selector } from '../answer/query.ts'
import { type Histories, historiesAt, lastStateOf } from '../index/history-at.ts'
import type { Named } from '../index/history-index.ts'
import type { Asked as AskedMoment } from '../index/moment.ts'
import type { Lacks } from '../index/name-index.ts'
import type { Clusters } from '../view/clusters.ts'
import type { View } from '../view/view.ts'
import { notFound, unreadText } from './not-found.ts'

export interface Chosen {
  readonly object: Named
  readonly others: readonly Match[]
  /** Why another one may be meant; empty where none can be. */
  readonly partial: string
}

/** What a choice is made from. */
export interface Asking {
  readonly query: Query
  readonly clusters: Clusters
  readonly index: Histories
}

/** A moment of the past, and what was there then. */
export interface Then {
  readonly at: AskedMoment
  /** Of these, by `identityKey`. */
  readonly there: (found: readonly Match[]) => Promise<ReadonlySet<string>>
}

type Asked = Record<string, string | undefined>

/** Words of a query, each of them checked (api/parameter.ts). */
export function askedOf({ query }: FastifyRequest): Asked {
  return query as Asked
}

export function selector(asked: Record<string, string | undefined>): Selector {
  const { kind, name, namespace, cluster, uid } = asked
  if (uid === undefined && (!kind || name === undefined)) {
    throw new Problem(400, 'ask with kind and name, or with uid')
  }
  return { kind: kind ?? '', name: name ?? '', namespace: namespace ?? 'default', cluster, uid }
}

/**
 * The cluster that the question is about. Where but one has the name, it knows best which object of
 * it is meant.
 */
export async function clusterOf(asking: Asking, asked: Selector, then?: Then): Promise<ClusterId> {
  const { matches, lacks } = await asking.query.find({ ...asked, kind: '' })
  const inClusters = clustersOf(matches)
  const [only] = inClusters
  const isOne = inClusters.size < 2 && lacks !== 'any'
  if (only !== undefined && isOne) return only
  const past = then === undefined || isOne ? undefined : await clusterOfPast(asking, asked, then)
  return past ?? (await choose(asking, asked)).object.cluster
}

/**
 * The cluster that a question about a moment of the past is about: where but one had such an object
 * then, that one. What several had then may be meant twice, also where only one of them has it now.
 * Undefined: none is known to have had it.
 */
async function clusterOfPast(
  asking: Asking,
  asked: Selector,
  { at, there }: Then,
): Promise<ClusterId | undefined> {
  await asking.query.caughtUp()
  const known = await asking.clusters.all()
  const isMeant = ({ object }: Match): boolean =>
    at.type === 'time' ||
    known.some(({ id, partition }) => id === object.cluster && partition === at.partition)
  const { matches, lacks } = await asking.query.find(asked, at.type === 'time' ? at.at : undefined)
  const found = matches.filter(isMeant)
  const were = await there(found)
  const then = found.filter(({ object }) =>
    were.has(identityKey(identityOf(object.cluster, object))),
  )
  const [only, ...others] = clustersOf(then.length > 0 ? then : found)
  if (only !== undefined && others.length === 0) return only
  if (then.length > 0) throw await ambiguous(asking, asked, then)
  // Those of then may be among what was not read, in any of them.
  if (only !== undefined && lacks !== 'nothing') throw await ambiguous(asking, asked, found)
  return undefined
}

function clustersOf(matches: readonly Match[]): ReadonlySet<ClusterId> {
  return new Set(matches.map(({ object }) => object.cluster))
}

/**
 * What is there now, if anything is, else what was there last; and what else has that name or had
 * it once: in another cluster, or before it was made anew.
 */
export async function choose(
  asking: Asking,
  asked: Selector,
  cluster?: ClusterId,
): Promise<Chosen> {
  const { own, everywhere, lacks } = await all(asking, asked, { cluster })
  const there = own.filter(({ isThere }) => isThere)
  const newest = own.reduce((a, b) => (b.object.at > a.object.at ? b : a))
  const [first = newest, second] = there
  if (second === undefined) {
    const others = everywhere.filter((each) => each !== first)
    return { object: first.object, others, partial: lacks === 'any' ? unreadText(asked) : '' }
  }
  throw await ambiguous(asking, asked, there)
}

/**
 * In the cluster of a view, at its moment: of now what is there, of the past what was there then,
 * else what was there last before it.
 */
export async function chooseIn(asking: Asking, asked: Selector, view: View): Promise<Chosen> {
  const { cluster, moment } = view
  if (moment === null) return await choose(asking, asked, cluster)
  const { own, lacks } = await all(asking, asked, { cluster, at: moment.at })
  const there = own.filter(({ object }) => view.node(object.uid) !== undefined)
  if (there.length > 1) throw await ambiguous(asking, asked, there)
  const [only] = there
  if (only !== undefined) return { object: only.object, others: [], partial: '' }
  const histories = historiesAt(asking.index, moment)
  let last: Named | undefined
  for (const { object } of own) {
    await view.turns.take()
    const state = await lastStateOf(histories, view.identityOf(object))
    if (state === undefined || (last !== undefined && state.at <= last.at)) continue
    last = { ...object, at: state.at }
  }
  if (last !== undefined) return { object: last, others: [], partial: '' }
  if (lacks === 'nothing') {
    throw new Problem(404, `${describe(asked)} was not seen by then; it was seen later`)
  }
  throw new Problem(503, `what was ${describe(asked)} then is not known: ${unreadText(asked)}`)
}

/** With the time of its last state at the moment of the view. */
export async function datedIn(
  index: Histories,
  { moment, cluster }: View,
  object: Named,
): Promise<Named> {
  if (moment === null) return object
  const state = await lastStateOf(historiesAt(index, moment), identityOf(cluster, object))
  return { ...object, at: state?.at ?? moment.at }
}

/** At least one of the cluster, if it is given; of deleted ones those around a time, if that is. */
async function all(
  { query, clusters }: Asking,
  asked: Selector,
  { cluster, at }: { readonly cluster?: ClusterId | undefined; readonly at?: number },
): Promise<{ own: readonly Match[]; everywhere: readonly Match[]; lacks: Lacks }> {
  for (let behind: string | undefined; ; ) {
    const { matches: everywhere, lacks } = await query.find(asked, at)
    const own = everywhere.filter(({ object }) => (cluster ?? object.cluster) === object.cluster)
    if (own.length > 0) return { own, everywhere, lacks }
    if (behind !== undefined) throw await notFound(query, clusters, asked, behind)
    // What was seen just now is in the index in a moment.
    behind = await query.caughtUp()
  }
}

async function ambiguous(
  { clusters }: Asking,
  asked: Selector,
  there: readonly Match[],
): Promise<Problem> {
  // One cluster that took another's place may have its name, too.
  const refOf = clusterRefs(await clusters.all())
  const label = (cluster: ClusterId): string => labelOf(refOf(cluster))
  const inClusters = new Set(there.map(({ object }) => label(object.cluster)))
  const which = there.map(({ object: { cluster, kind, group } }) => {
    return `${label(cluster)} ${group === '' ? kind : `${kind}.${group}`}`
  })
  const remedy = inClusters.size > 1 ? 'add --cluster' : 'name the kind as KIND.GROUP'
  const isInNamespace = there.some(({ object }) => object.namespace !== '')
  const what = describe(isInNamespace ? asked : { ...asked, namespace: '' })
  return new Problem(409, `${what} is ambiguous (${which.toSorted().join(', ')}): ${remedy}`)
}

function describe({ kind, name, namespace, uid }: Selector): string {
  if (uid !== undefined) return `object with uid ${uid}`
  return `${kind}/${name}${namespace === '' ? '' : ` in namespace ${namespace}`}`
}
