/**
 * Finds the objects that a question may mean, in all clusters: each process seeks in those that it
 * has, for the one that was asked.
 *
 * What must stay true: what could not be asked, or is not read yet, is a doubt, and never absent. A
 * process tells another one of no object that the user may not get, and answers only on routes for
 * which a client has to be let in. Each process reads kinds as its own clusters serve them. However
 * many objects have a name, an answer is bounded.
 *
 * Not here: searching (answer/query.ts), which of those found is meant (choice.ts), what is said
 * where there is none (not-found.ts).
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { identityKey, identityOf } from '../../../../core/graph/identity.ts'
import { invariant } from '../../../../core/model/invariant.ts'
import type { ClusterId } from '../../../../core/model/object.ts'
import {
  type Found,
  lacksOf,
  livingFirst,
  type Match,
  type Query,
  type Selector,
} from '../answer/query.ts'
import { historiesAt, lastStateOf } from '../index/history-at.ts'
import type { HistoryIndex } from '../index/history-index.ts'
import { type Asked, askedIn, type Moment } from '../index/moment.ts'
import type { Lacks } from '../index/name-index.ts'
import type { Clusters, KnownCluster } from '../view/clusters.ts'
import type { Forwarding } from '../view/forward.ts'
import { markOf, readJson, strange } from '../view/forward-call.ts'
import type { View } from '../view/view.ts'
import type { Access } from './access.ts'

export interface FinderParts {
  readonly access: Access
  readonly query: Query
  readonly clusters: Clusters
  readonly forwarding: Forwarding
  readonly index: HistoryIndex
}

export interface Sought {
  readonly selector: Selector
  /** A moment as a question names it. Of what was deleted, the last before it and after it. */
  readonly at?: string | undefined
  /** Whether which of them were there then is asked, too: which takes histories up to then. */
  readonly isThen?: boolean
  /** Where nothing is found, what was seen just now is waited for. */
  readonly waits?: boolean
  /** What has a similar name, or is elsewhere, instead of what is meant. */
  readonly isNear?: boolean
}

export interface SoughtFound {
  readonly matches: readonly Match[]
  readonly lacks: Lacks
  /** Why others may be meant: what could not be asked, or is not indexed yet; empty for nothing. */
  readonly doubt: string
  /** By `identityKey`: those that were there then, where that is asked. */
  readonly there: ReadonlySet<string>
}

/** As another process is asked. */
interface Sent extends Sought {
  /**
   * Those that the selector names, by id: what a cluster is called may be known there earlier, or
   * later. Left out: all, or where they are many, those that have the name there.
   */
  readonly clusters?: readonly ClusterId[] | undefined
}

/** Of one process. */
interface Own extends Omit<SoughtFound, 'there'> {
  readonly there: readonly string[]
}

/** Without what could not be asked, and why: that may name a cluster. */
const UNASKED = 'not all could be asked'
/** Ids in a header, of clusters that have one name. */
const MOST_IDS = 100
/** Names, each of a kind in a cluster, that are reviewed for a user who may not see all. */
const MOST_REVIEWED = 200
/**
 * Objects that one process answers with: a name that is given again and again has as many of each
 * kind in each cluster as the index looks through.
 */
export const MOST_SENT = 1_000
/**
 * Routes that find an object. A process seeks on no other one: some answer clients that showed
 * nothing, or a token for that route alone.
 */
const SEEKING: ReadonlySet<string> = new Set([
  ...['/v1/tree', '/v1/why', '/v1/cascade', '/v1/plan', '/v1/plan/finalizer'],
  ...['/v1/dependents', '/v1/rules/:rule', '/v1/changes', '/v1/deletions'],
])

export class Finder {
  readonly #parts: FinderParts
  readonly #request: FastifyRequest
  readonly #reply: FastifyReply

  constructor(parts: FinderParts, request: FastifyRequest, reply: FastifyReply) {
    invariant(isSeeking(request), 'each route that finds an object is one that is sought on')
    this.#parts = parts
    this.#request = request
    this.#reply = reply
  }

  /** In the clusters of that name or id, or in all. */
  async find(sought: Sought): Promise<SoughtFound> {
    const { forwarding } = this.#parts
    const asked = await this.#askedFor(sought)
    const isByName = sought.selector.cluster === undefined || asked.length > MOST_IDS
    const sent: Sent = { ...sought, clusters: isByName ? undefined : asked.map(({ id }) => id) }
    const { all, partial } = await forwarding.gathered(this.#request, this.#reply, {
      asked,
      own: async (views) => await ownOf(this.#parts, this.#request, views, sought),
      read: async (answer) => (await readJson(answer)) as Own,
      sought: JSON.stringify(sent),
    })
    const answers = all.map(({ answer }) => answer)
    const matches = answers.flatMap((each) => each.matches)
    const doubts = [...new Set([partial, ...answers.map(({ doubt }) => doubt)])]
    const doubt = doubts.filter((each) => each !== '').join('; ')
    const isWhole = doubt === '' || (await this.#parts.access.mayAll(this.#request))
    return {
      matches: sought.isNear === true ? nearestOf(matches, sought.selector) : matches,
      lacks: lacksOf(answers),
      doubt: isWhole ? doubt : UNASKED,
      there: new Set(answers.flatMap((each) => each.there)),
    }
  }

  async #askedFor(sought: Sought): Promise<readonly KnownCluster[]> {
    const { selector, at, waits = false } = sought
    const { cluster } = selector
    const { clusters } = this.#parts
    const moment = at === undefined ? undefined : askedIn(at)
    const all = waits ? await clusters.now() : await clusters.all(cluster)
    return all.filter(({ id, name, partition }) => {
      const isMeant = cluster === undefined || cluster === id || cluster === name
      return isMeant && (moment?.type !== 'position' || moment.partition === partition)
    })
  }
}

/** What another process seeks is answered before the question that it is about. */
export function addFinding(server: FastifyInstance, parts: FinderParts): void {
  server.addHook('preHandler', async (request, reply) => {
    if (!isSeeking(request)) return undefined
    const mark = markOf(request)
    if (mark?.partitions === undefined || mark.sought === undefined) return undefined
    const { clusters, ...sought } = sentIn(mark.sought)
    // A cluster may have come since they were read lately, here as where it was asked.
    if (sought.waits === true) await parts.clusters.now()
    const views = await parts.forwarding.ownOf(request, reply)
    if (views === undefined) throw strange()
    const { cluster: named } = sought.selector
    const meant = views.filter(({ cluster, name }) => {
      if (clusters !== undefined) return clusters.includes(cluster)
      return named === undefined || named === cluster || named === name
    })
    const own = await ownOf(parts, request, meant, sought)
    return await reply.type('application/json').send(JSON.stringify(own))
  })
}

function isSeeking({ routeOptions }: FastifyRequest): boolean {
  return SEEKING.has(routeOptions.url ?? '')
}

function sentIn(text: string): Sent {
  try {
    const { selector, clusters, at, isThen, waits, isNear } = JSON.parse(text)
    const { kind, name, namespace, cluster, uid } = selector
    const isWhole =
      [kind, name, namespace].every(isText) &&
      [cluster, uid, at].every((each) => each === undefined || isText(each)) &&
      (clusters === undefined || (Array.isArray(clusters) && clusters.every(isText)))
    if (isWhole) {
      const flags = { isThen: isThen === true, waits: waits === true, isNear: isNear === true }
      return { selector: { kind, name, namespace, cluster, uid }, clusters, at, ...flags }
    }
  } catch {}
  throw strange()
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed()
}

async function ownOf(
  parts: FinderParts,
  request: FastifyRequest,
  views: readonly View[],
  sought: Sought,
): Promise<Own> {
  const { selector, at, isThen = false, isNear = false } = sought
  if (isNear) {
    const near = await parts.query.nearestIn(views, selector)
    return sentBack(await shownOf(parts, request, near), [])
  }
  const moment = at === undefined ? undefined : askedIn(at)
  const { found, doubt } = await foundIn(parts, views, sought)
  const shown = await shownOf(parts, request, found.matches)
  const isOfThen = isThen && moment !== undefined
  const there = isOfThen ? await thereIn(parts.index, shown.matches, moment) : []
  const lacks = lacksOf([found, shown])
  return { ...sentBack({ matches: shown.matches, lacks }, there), doubt }
}

async function foundIn(
  { query, index }: FinderParts,
  views: readonly View[],
  { selector, at, isThen = false, waits = false }: Sought,
): Promise<{ readonly found: Found; readonly doubt: string }> {
  const moment = at === undefined ? undefined : askedIn(at)
  const time = moment?.type === 'time' ? moment.at : undefined
  // An index that is made anew has few names at first.
  const isRead = views.every(({ partition }) => index.isFollowing(partition.partition))
  let behind = isThen || !isRead ? await query.caughtUp() : undefined
  let found = await query.findIn(views, selector, time)
  if (found.matches.length === 0 && waits && behind === undefined) {
    // What was seen just now is in the index in a moment.
    behind = await query.caughtUp()
    found = await query.findIn(views, selector, time)
    if (found.matches.length > 0) behind = undefined
  }
  // While a store is restored it does not know by which words its kinds are named.
  const restored = found.matches.length > 0 ? [] : views.map((view) => view.partial())
  const doubts = new Set([behind ?? '', ...restored])
  return { found, doubt: [...doubts].filter((text) => text !== '').join('; ') }
}

/** Of too many: what was there then, what is there, and what was deleted last. */
export function sentBack({ matches, lacks }: Found, there: readonly string[]): Own {
  if (matches.length <= MOST_SENT) return { matches, lacks, doubt: '', there }
  const then = new Set(there)
  const rankOf = ({ object, isThere }: Match): number => {
    if (then.has(identityKey(identityOf(object.cluster, object)))) return 0
    return isThere ? 1 : 2
  }
  const sorted = matches.toSorted((a, b) => rankOf(a) - rankOf(b) || b.object.at - a.object.at)
  const isFormer = sorted.slice(MOST_SENT).every((each) => rankOf(each) === 2)
  const first = sorted.slice(0, MOST_SENT)
  const all = [{ lacks }, { lacks: isFormer ? 'former' : 'any' } as const]
  return { matches: first, lacks: lacksOf(all), doubt: '', there: there.slice(0, MOST_SENT) }
}

/** Those that who asks may get. */
async function shownOf(
  { access }: FinderParts,
  request: FastifyRequest,
  matches: readonly Match[],
): Promise<Found> {
  if (await access.mayAll(request)) return { matches, lacks: 'nothing' }
  const places = Map.groupBy(matches, placeOf)
  const reviewed = [...places.values()].slice(0, MOST_REVIEWED)
  const shown = await Promise.all(
    reviewed.map(async (all) => {
      const [first] = all
      return first !== undefined && (await access.mayGet(request, first.object)) ? all : []
    }),
  )
  return { matches: shown.flat(), lacks: reviewed.length < places.size ? 'any' : 'nothing' }
}

/** What one review is about. */
function placeOf({ object: { cluster, group, kind, namespace, name } }: Match): string {
  return [cluster, group, kind, namespace, name].join('/')
}

async function thereIn(
  index: HistoryIndex,
  found: readonly Match[],
  at: Asked,
): Promise<readonly string[]> {
  const histories = historiesAt(index, momentOf(at))
  const own = found.map(({ object }) => identityOf(object.cluster, object))
  const states = await Promise.all(own.map(async (each) => await lastStateOf(histories, each)))
  return own
    .filter((_, each) => states[each] !== undefined && states[each]?.change !== 'gone')
    .map(identityKey)
}

function momentOf(at: Asked): Moment {
  return at.type === 'time' ? at : { type: 'position', position: Number(at.position), at: 0 }
}

/** Of all processes together: what has the very name comes before what has one like it. */
function nearestOf(matches: readonly Match[], { name }: Selector): readonly Match[] {
  const same = matches.filter(({ object }) => object.name === name)
  return livingFirst(same.length > 0 ? same : matches)
}
