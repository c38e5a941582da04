/**
 * What the graph service adds to its endpoint: the questions people ask, what they order, and streams of public records.
 *
 * What must stay true: only an order changes anything, and that by records on the log.
 *
 * Not here: listening, health and metrics (runtime/endpoint.ts).
 */
import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Codec } from '../../ports/codec.ts'
import type { Log } from '../../ports/log.ts'
import { documentOf } from './api/document.ts'
import { addTags } from './api/etag.ts'
import { openApi } from './api/openapi.ts'
import { addRouteTable } from './api/parameter.ts'
import { DOCUMENT_PATH } from './api/route.ts'
import type { Shadow } from './audit/shadow.ts'
import { shadowAnswer } from './audit/shadow-answer.ts'
import type { DirectiveParts } from './orders/directive-http.ts'
import { addDirectives } from './orders/directive-http.ts'
import type { Access } from './query/access.ts'
import { askedOf } from './query/choice.ts'
import { addObjectList } from './query/list-question.ts'
import type { QuestionParts } from './query/question.ts'
import { addGraphDump, addQuestions, plain } from './query/question.ts'
import { Turns } from './turns.ts'

export interface HttpParts extends QuestionParts, DirectiveParts {
  readonly log: Log
  readonly codec: Codec
}

/** Entries of a stream read at once, and how long a read waits for more. */
const STREAM_LIMIT = 500
const STREAM_WAIT_MS = 5_000

export function addGraphRoutes(server: FastifyInstance, parts: HttpParts): void {
  addRouteTable(server)
  addTags(server)
  // Before its words are looked at: who may not ask learns nothing of them.
  server.addHook('preValidation', async (request) => await mayAsk(request, parts.access))
  const document = openApi()
  server.get(DOCUMENT_PATH, async (_request, reply) =>
    reply.type('application/json').send(document),
  )
  addQuestions(server, parts)
  addObjectList(server, parts)
  addGraphDump(server, parts)
  addDirectives(server, parts)
  addStreams(server, parts)
}

/** Those that are about one object, and orders, look for themselves. */
const OWN_LOOK: ReadonlySet<string> = new Set(['/v1/tree', '/v1/why', '/v1/directives'])

async function mayAsk(request: FastifyRequest, access: Access): Promise<void> {
  const route = request.routeOptions.url ?? ''
  const isOfGraph = route.startsWith('/v1/') || route.startsWith('/debug/')
  if (isOfGraph && !OWN_LOOK.has(route)) await access.graph(request)
}

/** Where another collector and this one agree, and where not. */
export function addShadow(server: FastifyInstance, shadow: Pick<Shadow, 'report'>): void {
  server.get('/v1/shadow', async () =>
    documentOf('Shadow', { answer: shadowAnswer(await shadow.report()), partial: '' }),
  )
}

/** `lineage` and `history` as lines of JSON, from `from` on; with `follow=true` for ever. */
function addStreams(server: FastifyInstance, { log, codec, clock }: HttpParts): void {
  // Of all streams together: however many are read, nobody else waits for more than a turn.
  const turns = new Turns(clock)
  const stream = async (
    topic: 'lineage' | 'history',
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const { follow, from = 'start' } = askedOf(request)
    const closed = new AbortController()
    request.raw.on('close', () => closed.abort())
    reply.hijack()
    reply.raw.writeHead(200, { 'content-type': 'application/x-ndjson' })
    const partitions = Array.from({ length: log.partitions(topic) }, (_, partition) => partition)
    const drained = drainOf(reply.raw)
    const tell = async (partition: number): Promise<void> => {
      const { start, end } = await log.bounds(topic, partition)
      let next = from === 'end' ? end : start
      while (!closed.signal.aborted && (follow === 'true' || next < end)) {
        const waitMs = follow === 'true' ? STREAM_WAIT_MS : 0
        await turns.take()
        const page = await log.read(topic, partition, next, { limit: STREAM_LIMIT, waitMs })
        for (const { offset, key, value } of page.entries) {
          await turns.take()
          if (closed.signal.aborted) return
          const record = value === null ? null : codec.decode(value)
          const line = { topic, partition, offset, key, value: record }
          if (!reply.raw.write(`${JSON.stringify(line, plain)}\n`)) await drained()
        }
        next = page.next
      }
    }
    try {
      await Promise.all(partitions.map(tell))
    } catch (error) {
      // What is left out of a stream must not look like its end: the answer breaks off.
      closed.abort()
      reply.raw.destroy(error as Error)
      return reply
    }
    reply.raw.end()
    return reply
  }
  for (const topic of ['lineage', 'history'] as const) {
    server.get(
      `/v1/${topic}`,
      { config: { isStream: () => true } },
      async (request, reply) => await stream(topic, request, reply),
    )
  }
}

/** Waits until more can be written, or nothing any more: for all that wait at one time together. */
function drainOf(stream: ServerResponse): () => Promise<void> {
  let waiting: Promise<void> | undefined
  const wait = async (): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>()
    stream.once('drain', resolve).once('close', resolve)
    await promise
    stream.off('drain', resolve).off('close', resolve)
    waiting = undefined
  }
  return async () => {
    if (stream.destroyed) return
    waiting ??= wait()
    await waiting
  }
}
