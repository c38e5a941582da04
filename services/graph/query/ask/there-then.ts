/**
 * Which of several objects were there at a moment of the past, each asked where its histories are.
 *
 * What must stay true: of an object that could not be asked about nothing is said: the question is
 * refused with the partition, or with how far histories lag where it is. A process tells another
 * one of no object that the user may not get.
 *
 * Not here: what follows for the question (choice.ts).
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { identityKey, identityOf } from '../../../../core/graph/identity.ts'
import { Problem } from '../../../../runtime/http/problem.ts'
import type { Match, Query, Selector } from '../answer/query.ts'
import { type Histories, historiesAt, lastStateOf } from '../index/history-at.ts'
import type { Asked, Moment } from '../index/moment.ts'
import type { Clusters } from '../view/clusters.ts'
import type { Forwarding } from '../view/forward.ts'
import { readJson } from '../view/forward-call.ts'
import type { View } from '../view/view.ts'
import type { Access } from './access.ts'

interface Parts {
  readonly access: Access
  readonly query: Query
  readonly clusters: Clusters
  readonly forwarding: Forwarding
  readonly index: Histories
}

/** Of one process. */
interface Own {
  /** By `identityKey`. */
  readonly there: readonly string[]
  /** How far its index lags, by which others may have been there; else empty. */
  readonly behind: string
}

/** By `identityKey` those that were there. */
export async function thereThen(
  { clusters, forwarding, index, query }: Parts,
  request: FastifyRequest,
  reply: FastifyReply,
  { at, found }: { readonly at: Asked; readonly found: readonly Match[] },
): Promise<ReadonlySet<string>> {
  const ids = new Set(found.map(({ object }) => object.cluster))
  const { all, partial } = await forwarding.gathered(request, reply, {
    asked: (await clusters.all()).filter(({ id }) => ids.has(id)),
    own: async (views) => await ownThen({ index, query }, views, found, at),
    read: async (answer) => (await readJson(answer)) as Own,
  })
  const [lacks] = [partial, ...all.map(({ answer }) => answer.behind)].filter((text) => text !== '')
  if (lacks === undefined) return new Set(all.flatMap(({ answer }) => answer.there))
  throw new Problem(503, `which cluster had it then is not known, ask again later: ${lacks}`)
}

/** What this process answers to another one that asks `thereThen`. */
export async function ownThereThen(
  parts: Parts,
  request: FastifyRequest,
  views: readonly View[],
  { asked, at }: { readonly asked: Selector; readonly at: Asked },
): Promise<Own> {
  const { access, query } = parts
  await query.caughtUp()
  const { matches } = await query.find(asked, at.type === 'time' ? at.at : undefined)
  const here = new Set(views.map(({ cluster }) => cluster))
  const shown: Match[] = []
  for (const match of matches.filter(({ object }) => here.has(object.cluster))) {
    if (await access.mayGet(request, match.object)) shown.push(match)
  }
  return await ownThen(parts, views, shown, at)
}

async function ownThen(
  { index, query }: Pick<Parts, 'index' | 'query'>,
  views: readonly View[],
  found: readonly Match[],
  at: Asked,
): Promise<Own> {
  const behind = await query.caughtUp()
  const histories = historiesAt(index, momentOf(at))
  const here = new Set(views.map(({ cluster }) => cluster))
  const own = found.flatMap(({ object }) => {
    return here.has(object.cluster) ? identityOf(object.cluster, object) : []
  })
  const states = await Promise.all(own.map(async (each) => await lastStateOf(histories, each)))
  const there = own
    .filter((_, each) => states[each] !== undefined && states[each]?.change !== 'gone')
    .map(identityKey)
  return { there, behind }
}

function momentOf(at: Asked): Moment {
  return at.type === 'time' ? at : { type: 'position', position: Number(at.position), at: 0 }
}
