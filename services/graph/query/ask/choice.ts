/**
 * Which object a question means: its words read, and the one chosen of all that have that name or
 * had it.
 *
 * What must stay true: what is there comes before what was there last; what could be meant twice is
 * refused with both.
 *
 * Not here: finding by name (finder.ts), what is said where nothing is found (not-found.ts), who
 * may see it (access.ts).
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
import type { Lacks } from '../index/name-index.ts'
import type { Clusters } from '../view/clusters.ts'
import type { MeantCluster } from '../view/forward.ts'
import type { View } from '../view/view.ts'
import type { Finder } from './finder.ts'
import { namedClusters, notFound, unreadText } from './not-found.ts'

export interface Chosen {
  readonly object: Named
  /** Why another one may be meant; empty where none can be. */
  readonly partial: string
}

/** What a choice is made from. */
export interface Choosing {
  readonly query: Query
  readonly clusters: Clusters
  readonly index: Histories
  readonly finder: Finder
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
 * The cluster that the question is about: the one that it names, or the only one there is; else the
 * one that has what is meant.
 */
export async function clusterOf(
  choosing: Choosing,
  asked: Selector,
  at?: string,
): Promise<MeantCluster> {
  const [only, second] = namedClusters(await choosing.clusters.all(asked.cluster), asked.cluster)
  if (only !== undefined && second === undefined) return { id: only.id, doubt: '' }
  const past = at === undefined ? undefined : await clusterOfPast(choosing, asked, at)
  return past ?? (await clusterOfNow(choosing, asked))
}

async function clusterOfNow(choosing: Choosing, asked: Selector): Promise<MeantCluster> {
  const { finder } = choosing
  const first = await finder.find({ selector: asked })
  const found =
    first.matches.length > 0 ? first : await finder.find({ selector: asked, waits: true })
  if (found.matches.length === 0) throw await notFound(choosing, asked, found.doubt)
  const meant = await oneOf(choosing, asked, found.matches)
  const unread = found.lacks === 'any' ? unreadText(asked) : elsewhereText(found.doubt)
  return { id: meant.object.cluster, doubt: unread }
}

/**
 * Where but one cluster had such an object then, that one. What several had then may be meant
 * twice, also where only one of them has it now. Undefined: none is known to have had it.
 */
async function clusterOfPast(
  choosing: Choosing,
  asked: Selector,
  at: string,
): Promise<MeantCluster | undefined> {
  const found = await choosing.finder.find({ selector: asked, at, isThen: true })
  if (found.doubt !== '') {
    throw new Problem(
      503,
      `which cluster had it then is not known, ask again later: ${found.doubt}`,
    )
  }
  const then = found.matches.filter(({ object }) =>
    found.there.has(identityKey(identityOf(object.cluster, object))),
  )
  const [only, ...others] = clustersOf(then.length > 0 ? then : found.matches)
  if (only !== undefined && others.length === 0) return { id: only, doubt: '' }
  if (then.length > 0) throw await ambiguous(choosing, asked, then)
  // Those of then may be among what was not read, in any of them.
  if (only !== undefined && found.lacks !== 'nothing') {
    throw await ambiguous(choosing, asked, found.matches)
  }
  return undefined
}

function clustersOf(matches: readonly Match[]): ReadonlySet<ClusterId> {
  return new Set(matches.map(({ object }) => object.cluster))
}

/** What is there now, if anything is, else what was there last. */
async function oneOf(
  choosing: Pick<Choosing, 'clusters'>,
  asked: Selector,
  found: readonly Match[],
): Promise<Match> {
  const there = found.filter(({ isThere }) => isThere)
  const newest = found.reduce((a, b) => (b.object.at > a.object.at ? b : a))
  const [first = newest, second] = there
  if (second === undefined) return first
  throw await ambiguous(choosing, asked, there)
}

/** The same in the cluster of a view. */
export async function chooseNow(choosing: Choosing, asked: Selector, view: View): Promise<Chosen> {
  const { own, lacks } = await all(choosing, asked, view)
  const { object } = await oneOf(choosing, asked, own)
  return { object, partial: lacks === 'any' ? unreadText(asked) : '' }
}

/**
 * What else has the name that was asked for, or had it once: in another cluster, or before it was
 * made anew. `partial`: what may have it, too.
 */
export async function othersOf(
  { finder }: Choosing,
  asked: Selector,
  { object }: Chosen,
): Promise<{ readonly others: readonly Match[]; readonly partial: string }> {
  const { matches, doubt } = await finder.find({ selector: asked })
  const others = matches.filter((each) => {
    return each.object.cluster !== object.cluster || each.object.uid !== object.uid
  })
  return { others, partial: elsewhereText(doubt) }
}

function elsewhereText(doubt: string): string {
  return doubt === '' ? '' : `others of that name, or uid, are not known: ${doubt}`
}

/**
 * In the cluster of a view, at its moment: of now what is there, of the past what was there then,
 * else what was there last before it.
 */
export async function chooseIn(choosing: Choosing, asked: Selector, view: View): Promise<Chosen> {
  const { moment } = view
  if (moment === null) return await chooseNow(choosing, asked, view)
  const { own, lacks } = await all(choosing, asked, view, moment.at)
  const there = own.filter(({ object }) => view.node(object.uid) !== undefined)
  if (there.length > 1) throw await ambiguous(choosing, asked, there)
  const [only] = there
  if (only !== undefined) return { object: only.object, partial: '' }
  const histories = historiesAt(choosing.index, moment)
  let last: Named | undefined
  for (const { object } of own) {
    await view.turns.take()
    const state = await lastStateOf(histories, view.identityOf(object))
    if (state === undefined || (last !== undefined && state.at <= last.at)) continue
    last = { ...object, at: state.at }
  }
  if (last !== undefined) return { object: last, partial: '' }
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

/** At least one of the cluster; of deleted ones those around a time, if it is given. */
async function all(
  choosing: Choosing,
  asked: Selector,
  view: View,
  at?: number,
): Promise<{ readonly own: readonly Match[]; readonly lacks: Lacks }> {
  const { query } = choosing
  const here = { ...asked, cluster: view.cluster }
  for (let behind: string | undefined; ; ) {
    const { matches: own, lacks } = await query.findIn([view], here, at)
    if (own.length > 0) return { own, lacks }
    const unread = lacks === 'any' ? unreadText(asked) : behind
    if (unread !== undefined) throw await notFoundIn(choosing, asked, unread)
    // What was seen just now is in the index in a moment.
    behind = await query.caughtUp()
  }
}

/** In one cluster, which was named, or was the only one: others may have come since. */
async function notFoundIn(choosing: Choosing, asked: Selector, unread: string): Promise<Problem> {
  const { clusters, finder } = choosing
  const isOneOfSeveral = (await clusters.now()).length > 1
  if (unread !== '' || asked.cluster !== undefined || !isOneOfSeveral) {
    return await notFound(choosing, asked, unread)
  }
  const { matches, doubt } = await finder.find({ selector: asked, waits: true })
  if (matches.length === 0) return await notFound(choosing, asked, doubt)
  return new Problem(503, `${describe(asked)} was seen just now: ask again`)
}

async function ambiguous(
  { clusters }: Pick<Choosing, 'clusters'>,
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
