/**
 * The HTTP endpoint: health, readiness, metrics, and the questions people ask.
 *
 * What must stay true: it listens on loopback only, unless whoever asks has to show a token; it changes nothing; what one request may bring is bounded.
 *
 * Not here: TLS, which is for what stands before it.
 */
import { isIP } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fastify from 'fastify'
import type { Codec } from '../../ports/codec.ts'
import type { Log } from '../../ports/log.ts'
import type { Check } from '../../runtime/health.ts'
import { isReady, verbose } from '../../runtime/health.ts'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import type { HttpToken } from './http-token.ts'
import type { PartitionParts } from './partition-http.ts'
import { addPartitions } from './partition-http.ts'
import { Problem, problem } from './problem.ts'
import type { QuestionParts } from './question.ts'
import { addGraphDump, addQuestions, plain } from './question.ts'

export interface HttpParts extends QuestionParts, PartitionParts {
  readonly log: Log
  readonly codec: Codec
  readonly version: string
  readonly checks: () => readonly Check[]
  readonly scrape: () => Promise<string>
}

/** Entries of a stream read at once, and how long a read waits for more. */
const STREAM_LIMIT = 500
const STREAM_WAIT_MS = 5_000

/** Of one request, and of all: what is larger, slower or more is refused. Addresses with their questions are headers, too. */
const LIMITS = {
  bodyLimit: 64 * 1024,
  http: { maxHeaderSize: 16 * 1024 },
  routerOptions: { maxParamLength: 100 },
  requestTimeout: 30_000,
}
const MOST_CONNECTIONS = 1_000

export interface HttpSettings {
  /** `HOST:PORT` to listen on. */
  readonly address: string
  /** What requests must show; undefined: nothing, and only loopback is listened on. */
  readonly token?: HttpToken | undefined
  /** `HOST:PORT` by which others reach it; undefined: as it is bound. */
  readonly advertise?: string | undefined
  /** Other processes come here, so an address is needed by which they can. */
  readonly isShared?: boolean
}

export interface Served {
  readonly server: FastifyInstance
  /** For clients on this machine. */
  readonly url: string
  /** For other machines. */
  readonly advertised: string
}

interface Address {
  readonly host: string
  readonly port: number
}

/** `HOST:PORT`. Throws `ExitError` for what is none. */
export function parseAddress(text: string, flag = '--http'): Address {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/.exec(text)
  const host = match?.[1] ?? match?.[2] ?? ''
  const port = Number(match?.[3] ?? Number.NaN)
  if (port >= 0 && port <= 65_535) return { host, port }
  throw new ExitError(EXIT.input, `${flag} ${text}: expected HOST:PORT, such as 127.0.0.1:7070`)
}

/** Throws `ExitError` for settings that would let in anybody, or that are none. */
export function checkHttp({ address, token, advertise, isShared }: HttpSettings): void {
  const { host, port } = parseAddress(address)
  if (token === undefined && !isLoopback(host)) {
    throw new ExitError(
      EXIT.input,
      `--http ${address}: anybody could ask there; name a file with a token that requests must show (--http-token-file), or take 127.0.0.1:${port}`,
    )
  }
  if (isShared && advertise === undefined && isUnspecified(host)) {
    throw new ExitError(
      EXIT.input,
      `--http ${address}: other processes cannot go to an address of that kind; say where they reach this one with --http-advertise HOST:PORT`,
    )
  }
  if (advertise === undefined) return
  const { host: others, port: theirs } = parseAddress(advertise, '--http-advertise')
  if (theirs === 0 || isUnspecified(others)) {
    throw new ExitError(
      EXIT.input,
      `--http-advertise ${advertise}: expected an address that others can reach, with its port`,
    )
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

/** Any address of the machine: one to listen on, and none to go to. */
function isUnspecified(host: string): boolean {
  return host === '0.0.0.0' || /^[0:]*:[0:]*$/.test(host)
}

/** Listens; resolves with the server, to be closed, and its URLs. */
export async function serveHttp(parts: HttpParts, settings: HttpSettings): Promise<Served> {
  checkHttp(settings)
  const { address, token, advertise } = settings
  const { host, port } = parseAddress(address)
  const server = fastify({ logger: false, forceCloseConnections: true, ...LIMITS })
  server.server.maxConnections = MOST_CONNECTIONS
  server.setErrorHandler(async (error, _request, reply) => problem(reply, error))
  server.setNotFoundHandler(async (request, reply) =>
    problem(reply, new Problem(404, `there is no ${request.url}`)),
  )
  if (token !== undefined) addToken(server, token)
  addHealth(server, parts, token)
  addQuestions(server, parts)
  addGraphDump(server, parts)
  addStreams(server, parts)
  addPartitions(server, parts)
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
  const here = isUnspecified(bound.address) ? '127.0.0.1' : bound.address
  const url = urlOf(here, bound.port)
  const others = advertise === undefined ? undefined : parseAddress(advertise)
  return { server, url, advertised: others === undefined ? url : urlOf(others.host, others.port) }
}

function urlOf(host: string, port: number): string {
  return `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}`
}

/** These say no more than that the process lives and is ready. */
const OPEN: ReadonlySet<string> = new Set(['/livez', '/readyz'])

function addToken(server: FastifyInstance, token: HttpToken): void {
  server.addHook('onRequest', async (request, reply) => {
    if (request.method === 'GET' && OPEN.has(request.url)) return
    if (token.isShown(request.headers.authorization)) return
    reply.header('www-authenticate', 'Bearer')
    throw new Problem(
      401,
      'a token of the file that this process was given (--http-token-file) must be shown: kinfold takes --token-file, HTTP the header "Authorization: Bearer TOKEN"',
    )
  })
}

function addHealth(
  server: FastifyInstance,
  { checks, scrape, version }: HttpParts,
  token: HttpToken | undefined,
): void {
  server.get('/livez', async (_request, reply) => reply.type('text/plain').send('ok'))
  const ready = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const now = checks()
    const isVerbose = 'verbose' in (request.query as Record<string, unknown>)
    const ok = isReady(now)
    const mayKnow = token === undefined || token.isShown(request.headers.authorization)
    const text = mayKnow && (isVerbose || !ok) ? verbose(now) : ok ? 'ok' : 'not ready'
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
