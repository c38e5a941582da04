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
