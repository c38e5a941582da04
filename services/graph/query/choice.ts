/**
 * Which object a question means: its words read, and the one chosen of all that have that name or had it.
 *
 * What must stay true: what is there comes before what was there last; what could be meant twice is refused with both.
 *
 * Not here: finding by name (query.ts), who may see it (access.ts).
 */
import type { FastifyRequest } from 'fastify'
import type { ClusterId } from '../../../core/model/object.ts'
import { Problem } from '../../../runtime/problem.ts'
import type { Named } from './history-index.ts'
import type { Match, Query, Selector } from './query.ts'

export interface Chosen {
  readonly object: Named
  readonly others: readonly Match[]
}

type Asked = Record<string, string | undefined>

/** Words of a query, each given once: a parser makes a list of those that are given more often. */
export function askedOf({ query }: FastifyRequest): Asked {
  const asked = query as Record<string, unknown>
  const twice = Object.keys(asked).find((key) => typeof asked[key] !== 'string')
  if (twice === undefined) return asked as Asked
  throw new Problem(400, `${twice} is given more than once; ask with one`)
}

export function selector(asked: Record<string, string | undefined>): Selector {
  const { kind, name, namespace, cluster, uid } = asked
  if (uid === undefined && (!kind || name === undefined)) {
    throw new Problem(400, 'ask with kind and name, or with uid')
  }
  return { kind: kind ?? '', name: name ?? '', namespace: namespace ?? 'default', cluster, uid }
}

/** The cluster that the question is about. Where but one has the name, it knows best which object of it is meant. */
export async function clusterOf(query: Query, asked: Selector): Promise<ClusterId> {
  const found = await query.find({ ...asked, kind: '' })
  const [only, ...others] = new Set(found.map(({ object }) => object.cluster))
  if (only !== undefined && others.length === 0) return only
  return (await choose(query, asked)).object.cluster
}

/** What is there now, if anything is, else what was there last; and what else has that name or had it once: in another cluster, or before it was made anew. */
export async function choose(query: Query, asked: Selector, cluster?: ClusterId): Promise<Chosen> {
  const everywhere = await all(query, asked, cluster)
  const found = everywhere.filter(
    ({ object }) => cluster === undefined || object.cluster === cluster,
  )
  const there = found.filter(({ isThere }) => isThere)
  const newest = found.reduce((a, b) => (b.object.at > a.object.at ? b : a))
  const [first = newest, second] = there
  if (second === undefined) {
    return { object: first.object, others: everywhere.filter((each) => each !== first) }
  }
  // One cluster that took another's place may have its name, too.
  const clusters = there.map(({ clusterName, object: { cluster, kind, group } }) => {
    return `${clusterName} (${cluster}) ${group === '' ? kind : `${kind}.${group}`}`
  })
  throw new Problem(
    409,
    `${describe(asked)} is ambiguous (${clusters.join(', ')}): say which with --cluster, or kind.group/name`,
  )
}

/** At least one of the cluster, if it is given. */
async function all(query: Query, asked: Selector, cluster?: ClusterId): Promise<readonly Match[]> {
  const found = await query.find(asked)
  const isOne = ({ object }: Match): boolean => cluster === undefined || object.cluster === cluster
  if (found.some(isOne)) return found
  const where = asked.cluster === undefined ? '' : ` in cluster ${asked.cluster}`
  const unwatched = await query.unwatched(asked)
  const why = unwatched.length > 0 ? `: ${unwatched.join('; ')}` : await hint(query, asked)
  throw new Problem(404, `no ${describe(asked)} was ever seen${where}${why}`)
}

/** What is nearest to it: the same in another cluster, then another kind of that name. */
async function hint(query: Query, asked: Selector): Promise<string> {
  const elsewhere = await query.find({ ...asked, cluster: undefined })
  if (elsewhere.length > 0) return `; there is one in ${listed(elsewhere, clusterNameOf)}`
  if (asked.uid !== undefined) return ''
  const alike = await query.find({ ...asked, kind: '' })
  if (alike.length > 0) return `; of that name there is ${listed(alike, kindOf)}`
  return '; --namespace names another'
}

function listed(matches: readonly Match[], word: (match: Match) => string): string {
  return [...new Set(matches.map(word))].join(', ')
}

function clusterNameOf({ clusterName }: Match): string {
  return clusterName
}

function kindOf({ object: { group, kind, name } }: Match): string {
  return `${group === '' ? kind : `${kind}.${group}`}/${name}`
}

function describe({ kind, name, namespace, uid }: Selector): string {
  return uid === undefined
    ? `${kind}/${name} in namespace ${namespace || 'none'}`
    : `object with uid ${uid}`
}
