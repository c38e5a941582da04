/**
 * The HTTP endpoint: health, readiness, metrics, and the questions people ask.
 *
 * What must stay true: it listens on loopback only, for as long as nobody has to show who they are; it changes nothing.
 */
import { isIP } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fastify from 'fastify'
import type { Codec } from '../../ports/codec.ts'
import type { Log } from '../../ports/log.ts'
import type { Check } from '../../runtime/health.ts'
import { isReady, verbose } from '../../runtime/health.ts'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import type { Named } from './history-index.ts'
import type { Query, Selector } from './query.ts'

export interface HttpParts {
  readonly query: Query
  readonly log: Log
  readonly codec: Codec
  readonly version: string
  readonly checks: () => readonly Check[]
  readonly scrape: () => Promise<string>
}

/** Entries of a stream read at once, and how long a read waits for more. */
const STREAM_LIMIT = 500
const STREAM_WAIT_MS = 5_000

/** `HOST:PORT`. Throws `ExitError` for what is no loopback address. */
export function parseAddress(text: string): { readonly host: string; readonly port: number } {
  const match = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text)
  const host = match?.[1] ?? match?.[2] ?? ''
  const port = Number(match?.[3] ?? Number.NaN)
  if (!(port >= 0 && port <= 65_535)) {
    throw new ExitError(EXIT.input, `--http ${text}: expected HOST:PORT, such as 127.0.0.1:7070`)
  }
  const isLoopback =
    host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
  if (!isLoopback) {
    throw new ExitError(
      EXIT.input,
      `--http ${text}: only a loopback address may be listened on while there is no authentication; take 127.0.0.1:${port}`,
    )
  }
  return { host, port }
}

/** Listens; resolves with the server, to be closed, and its URL. */
export async function serveHttp(
  parts: HttpParts,
  address: string,
): Promise<{ readonly url: string; readonly server: FastifyInstance }> {
  const { host, port } = parseAddress(address)
  const server = fastify({ logger: false, bodyLimit: 64 * 1024, forceCloseConnections: true })
  server.setErrorHandler(async (error, _request, reply) => problem(reply, error))
  server.setNotFoundHandler(async (request, reply) =>
    problem(reply, new Problem(404, `there is no ${request.url}`)),
  )
  addHealth(server, parts)
  addQuestions(server, parts)
  addStreams(server, parts)
  try {
    await server.listen({ host, port })
  } catch (error) {
    const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
    const why = isTaken ? 'another program has it' : String((error as Error).message)
    const hint = 'give another address with --http HOST:PORT; port 0 takes any that is free'
    throw new ExitError(EXIT.failure, `--http ${address} cannot be listened on: ${why}; ${hint}`)
  }
  const bound = server.server.address()
  if (bound === null || typeof bound === 'string')
    throw new ExitError(EXIT.failure, 'no port was bound')
  const shown = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address
  return { url: `http://${shown}:${bound.port}`, server }
}

function addHealth(server: FastifyInstance, { checks, scrape, version }: HttpParts): void {
  server.get('/livez', async (_request, reply) => reply.type('text/plain').send('ok'))
  const ready = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const now = checks()
    const isVerbose = 'verbose' in (request.query as Record<string, unknown>)
    const ok = isReady(now)
    const text = isVerbose || !ok ? verbose(now) : 'ok'
    return reply
      .code(ok ? 200 : 503)
      .type('text/plain')
      .send(text)
  }
  server.get('/readyz', ready)
  server.get('/healthz', ready)
  server.get('/version', async () => ({ version }))
  server.get('/metrics', async (_request, reply) =>
    reply.type('text/plain; version=0.0.4').send(await scrape()),
  )
}

function addQuestions(server: FastifyInstance, { query }: HttpParts): void {
  server.get('/v1/tree', async (request) => {
    const asked = request.query as Record<string, string | undefined>
    return json(await query.tree(await one(query, selector(asked)), asked['owners'] === 'true'))
  })
  server.get('/v1/why', async (request) => {
    const asked = request.query as Record<string, string | undefined>
    return json(await query.why(await one(query, selector(asked))))
  })
}

/** What is there now, if anything is; else what was there last. */
async function one(query: Query, asked: Selector): Promise<Named> {
  const found = await all(query, asked)
  const there = found.filter(({ cluster, uid }) => query.isThere(cluster, uid))
  const newest = found.reduce((a, b) => (b.at > a.at ? b : a))
  const [first = newest, second] = there
  if (second === undefined) return first
  const clusters = there.map(
    ({ cluster, group, kind }) => `${query.clusterName(cluster)} ${kind}.${group}`,
  )
  throw new Problem(
    409,
    `${describe(asked)} is ambiguous (${clusters.join(', ')}): say which with --cluster, or kind.group/name`,
  )
}

async function all(query: Query, asked: Selector): Promise<readonly [Named, ...Named[]]> {
  const [first, ...others] = await query.find(asked)
  if (first !== undefined) return [first, ...others]
  const none = `no ${describe(asked)} was ever seen`
  if (asked.cluster !== undefined) {
    const elsewhere = await query.find({ ...asked, cluster: undefined })
    const names = new Set(elsewhere.map(({ cluster }) => query.clusterName(cluster)))
    const hint = names.size === 0 ? '' : `; there is one in ${[...names].join(', ')}`
    throw new Problem(404, `${none} in cluster ${asked.cluster}${hint}`)
  }
  const hint = asked.uid === undefined ? '; name its namespace with --namespace' : ''
  throw new Problem(404, none + hint)
}

function describe({ kind, name, namespace, uid }: Selector): string {
  return uid === undefined
    ? `${kind}/${name} in namespace ${namespace || 'none'}`
    : `object with uid ${uid}`
}

function selector(asked: Record<string, string | undefined>): Selector {
  const { kind, name, namespace, cluster, uid } = asked
  if (uid === undefined && (kind === undefined || name === undefined)) {
    throw new Problem(400, 'ask with kind and name, or with uid')
  }
  return { kind: kind ?? '', name: name ?? '', namespace: namespace ?? 'default', cluster, uid }
}

/** `lineage` and `history` as lines of JSON, from `from` on; with `follow=true` for ever. */
function addStreams(server: FastifyInstance, { log, codec }: HttpParts): void {
  server.get('/v1/:topic', async (request, reply) => {
    const { topic } = request.params as { topic: string }
    if (topic !== 'lineage' && topic !== 'history')
      throw new Problem(404, `there is no topic ${topic} to read`)
    const { follow, from } = request.query as Record<string, string | undefined>
    const closed = new AbortController()
    request.raw.on('close', () => closed.abort())
    reply.hijack()
    reply.raw.writeHead(200, { 'content-type': 'application/x-ndjson' })
    const partitions = Array.from({ length: log.partitions(topic) }, (_, partition) => partition)
    await Promise.all(
      partitions.map(async (partition) => {
        const { start, end } = await log.bounds(topic, partition)
        let next = from === 'end' ? end : start
        while (!closed.signal.aborted && (follow === 'true' || next < end)) {
          const waitMs = follow === 'true' ? STREAM_WAIT_MS : 0
          const page = await log.read(topic, partition, next, { limit: STREAM_LIMIT, waitMs })
          for (const { offset, key, value } of page.entries) {
            const record = value === null ? null : codec.decode(value)
            const line = { topic, partition, offset, key, value: record }
            if (!reply.raw.write(`${JSON.stringify(line, plain)}\n`)) await drained(reply)
          }
          next = page.next
        }
      }),
    )
    reply.raw.end()
    return reply
  })
}

async function drained(reply: FastifyReply): Promise<void> {
  await new Promise<void>((resolve) => {
    reply.raw.once('drain', resolve)
    reply.raw.once('close', resolve)
  })
}

function json(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer, plain))
}

/** Offsets are numbers for every reader of JSON, exact up to 2^53. */
function plain(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value
}

class Problem extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** RFC 9457. */
function problem(reply: FastifyReply, error: unknown): FastifyReply {
  const status = error instanceof Problem ? error.status : 500
  const detail = error instanceof Error ? error.message : String(error)
  return reply.code(status).type('application/problem+json').send({ status, detail })
}
