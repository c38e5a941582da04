/**
 * The questions people ask over HTTP: tree, why, cascade, plan, what is held, and the graph in DOT.
 *
 * What must stay true: they change nothing; what costs much is asked one at a time, and more than a few who wait are told to come again.
 *
 * Not here: health, streams of records, listening (http.ts), the answers themselves.
 */
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { PropagationPolicy } from '../../core/object.ts'
import { Problem } from '../../runtime/problem.ts'
import type { Access } from './access.ts'
import type { CascadeAnswer, Cascades } from './cascade.ts'
import type { GraphDump } from './graph-dump.ts'
import type { Holdings } from './held.ts'
import type { Named } from './history-index.ts'
import type { Planner } from './plan.ts'
import type { Match, Query, Selector } from './query.ts'

export interface QuestionParts {
  readonly access: Access
  readonly query: Query
  readonly planner: Planner
  readonly cascades: Cascades
  readonly dump: GraphDump
  readonly holdings: Holdings
}

/** Plans that wait for the one being made: each holds an overlay while it is. */
const MOST_WAITING = 4
/** Objects that a plan lists, unless it is asked for another number, and at most. */
const PLAN_LISTED = 500
const PLAN_LISTED_MOST = 20_000

interface Chosen {
  readonly object: Named
  readonly others: readonly Match[]
}

/** What else has the name that was asked for, or had it, the latest first. */
export type Others = readonly {
  readonly cluster: string
  readonly clusterName: string
  readonly uid: string
  readonly isThere: boolean
  /** Append time of the last event about it, in milliseconds. */
  readonly at: number
}[]

/** Of a name that is given again and again, as those of a StatefulSet's pods are. */
const OTHERS_SHOWN = 5

const yes = (): boolean => true
const no = (): boolean => false

function byTime({ object: a }: Match, { object: b }: Match): number {
  return b.at - a.at || (a.uid < b.uid ? -1 : 1)
}

type Asked = Record<string, string | undefined>

/** Words of a query, each given once: a parser makes a list of those that are given more often. */
export function askedOf({ query }: FastifyRequest): Asked {
  const asked = query as Record<string, unknown>
  const twice = Object.keys(asked).find((key) => typeof asked[key] !== 'string')
  if (twice === undefined) return asked as Asked
  throw new Problem(400, `${twice} is given more than once; ask with one`)
}

export function addQuestions(server: FastifyInstance, parts: QuestionParts): void {
  const { query, cascades, access } = parts
  const allowed = async (request: FastifyRequest): Promise<Chosen> => {
    const chosen = await choose(query, selector(askedOf(request))).catch(async (error) => {
      await access.graph(request)
      throw error
    })
    await access.object(request, chosen.object)
    return chosen
  }
  /** Of the latest, those that who asks may get. */
  const shownOthers = async (request: FastifyRequest, { others }: Chosen): Promise<Others> => {
    const latest = [...others].sort(byTime).slice(0, OTHERS_SHOWN)
    const may = await Promise.all(
      latest.map(({ object }) => access.object(request, object).then(yes, no)),
    )
    const shown = latest.filter((_, index) => may[index])
    return shown.map(({ object: { cluster, uid, at }, clusterName, isThere }) => {
      return { cluster, clusterName, uid, isThere, at }
    })
  }
  server.get('/v1/tree', async (request) => {
    const asked = askedOf(request)
    const { object: root } = await allowed(request)
    const { answer, ...rest } = await query.tree(root, asked['owners'] === 'true')
    return json({ answer: await access.shown(request, root.cluster, answer), ...rest })
  })
  server.get('/v1/why', async (request) => {
    const chosen = await allowed(request)
    const answer = await query.why(chosen.object)
    return json({ ...answer, others: await shownOthers(request, chosen) })
  })
  server.get('/v1/cascade', async (request, reply) => {
    const asked = askedOf(request)
    const root = await one(query, selector(asked))
    if (asked['follow'] === 'true') return await follow(request, reply, cascades, root)
    const answer = await cascades.cascade(root)
    return answer === undefined ? notGoing(root) : json(answer)
  })
  const oneAtATime = queue(MOST_WAITING)
  server.get('/v1/held', async (request) => {
    const { cluster } = askedOf(request)
    return json(await oneAtATime(() => parts.holdings.held(cluster)))
  })
  server.get('/v1/plan/held', async (request) => {
    const { cluster, limit } = askedOf(request)
    return json(await oneAtATime(() => parts.holdings.plan(cluster, limitOf(limit))))
  })
  server.get('/v1/plan', async (request) => {
    const asked = askedOf(request)
    const root = await one(query, selector(asked))
    const cascade = cascadeOf(asked['cascade'])
    const limit = limitOf(asked['limit'])
    const made = await oneAtATime(() => parts.planner.plan(root, cascade, limit))
    if (made !== undefined) return json(made)
    throw new Problem(
      409,
      `${root.kind}/${root.name} is gone already; "kinfold cascade" says how what hung on it stands`,
    )
  })
}

export function addGraphDump(server: FastifyInstance, { dump }: QuestionParts): void {
  server.get('/debug/graph', async (request, reply) => {
    const { uid } = request.query as { uid?: string | string[] }
    const uids = uid === undefined ? [] : [uid].flat()
    return reply
      .header('content-type', 'text/vnd.graphviz')
      .header('x-content-type-options', 'nosniff')
      .send(Readable.from(dump.dot(uids)))
  })
}

function notGoing({ kind, name }: Named): never {
  throw new Problem(
    409,
    `${kind}/${name} is not being deleted; "kinfold plan delete" says what would go with it`,
  )
}

/** An answer a line, whenever it is another. */
async function follow(
  request: FastifyRequest,
  reply: FastifyReply,
  cascades: Cascades,
  root: Named,
): Promise<FastifyReply> {
  const closed = new AbortController()
  request.raw.on('close', () => closed.abort())
  if (!(await cascades.begins(root, closed.signal))) notGoing(root)
  const lines = async function* (answers: AsyncIterable<CascadeAnswer>): AsyncIterable<string> {
    for await (const answer of answers) yield `${JSON.stringify(answer, plain)}\n`
  }
  const stream = Readable.from(lines(cascades.follow(root, closed.signal)))
  return reply.type('application/x-ndjson').send(stream)
}

function cascadeOf(text: string | undefined): PropagationPolicy {
  switch (text?.toLowerCase() ?? 'background') {
    case 'background':
      return 'Background'
    case 'foreground':
      return 'Foreground'
    case 'orphan':
      return 'Orphan'
    default:
      throw new Problem(400, `cascade ${text} is none of background, foreground, orphan`)
  }
}

function limitOf(text: string | undefined): number {
  const limit = text === undefined ? PLAN_LISTED : Number(text)
  if (Number.isInteger(limit) && limit >= 0) return Math.min(limit, PLAN_LISTED_MOST)
  throw new Problem(400, `limit ${text} is no whole number`)
}

/** Runs one after the other; who finds `most` waiting is refused. */
function queue(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  let waiting = 0
  return async (work) => {
    if (waiting > most) throw new Problem(429, 'too many plans are being made; ask again later')
    waiting += 1
    const mine = last.then(work)
    last = mine.catch(() => undefined)
    try {
      return await mine
    } finally {
      waiting -= 1
    }
  }
}

/** What is there now, if anything is; else what was there last. */
async function one(query: Query, asked: Selector): Promise<Named> {
  return (await choose(query, asked)).object
}

/** The same, and what else has that name or had it once: in another cluster, or before it was made anew. */
async function choose(query: Query, asked: Selector): Promise<Chosen> {
  const found = await all(query, asked)
  const there = found.filter(({ isThere }) => isThere)
  const newest = found.reduce((a, b) => (b.object.at > a.object.at ? b : a))
  const [first = newest, second] = there
  if (second === undefined) {
    return { object: first.object, others: found.filter((each) => each !== first) }
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

async function all(query: Query, asked: Selector): Promise<readonly [Match, ...Match[]]> {
  const [first, ...others] = await query.find(asked)
  if (first !== undefined) return [first, ...others]
  const where = asked.cluster === undefined ? '' : ` in cluster ${asked.cluster}`
  throw new Problem(404, `no ${describe(asked)} was ever seen${where}${await hint(query, asked)}`)
}

/** What is nearest to it: the same in another cluster, then another kind of that name. */
async function hint(query: Query, asked: Selector): Promise<string> {
  const elsewhere = await query.find({ ...asked, cluster: undefined })
  if (elsewhere.length > 0) return `; there is one in ${listed(elsewhere, clusterOf)}`
  if (asked.uid !== undefined) return ''
  const alike = await query.find({ ...asked, kind: '' })
  if (alike.length > 0) return `; of that name there is ${listed(alike, kindOf)}`
  return '; --namespace names another'
}

function listed(matches: readonly Match[], word: (match: Match) => string): string {
  return [...new Set(matches.map(word))].join(', ')
}

function clusterOf({ clusterName }: Match): string {
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

function selector(asked: Record<string, string | undefined>): Selector {
  const { kind, name, namespace, cluster, uid } = asked
  if (uid === undefined && (!kind || name === undefined)) {
    throw new Problem(400, 'ask with kind and name, or with uid')
  }
  return { kind: kind ?? '', name: name ?? '', namespace: namespace ?? 'default', cluster, uid }
}

function json(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer, plain))
}

/** Offsets are numbers for every reader of JSON, exact up to 2^53. */
export function plain(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value
}
