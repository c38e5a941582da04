/**
 * `GET /v1/lineage` and `/v1/history`: records as they are on the log, as lines of JSON or as
 * server-sent events, from a position on; with `follow=true` for ever.
 *
 * What must stay true: each entry is sent once, in the order of its partition, and none is left out
 * but by what was asked: a stream that cannot be read on breaks off, so it never seems whole. The
 * id of an event is where to continue after it, in all partitions: a client that resumes there
 * misses nothing and gets nothing twice. A user who may not see the whole graph sees what may be
 * listed in the one namespace that was asked for, and nothing of the rest; the header `warning`
 * says so.
 *
 * Not here: positions (stream-position.ts), which records are meant (query/ask/record-filter.ts),
 * how many streams there may be (runtime/shares/streams.ts).
 */
import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../ports/clock.ts'
import { type Entry, type Log, LogError } from '../../ports/log.ts'
import type { Codec } from '../../ports/record/codec.ts'
import type { PublicRecord } from '../../ports/record/lineage.ts'
import { bodyOf, Problem } from '../../runtime/http/problem.ts'
import { streamEnd } from '../../runtime/shares/streams.ts'
import type { Access } from './query/ask/access.ts'
import { askedOf } from './query/ask/choice.ts'
import { plain } from './query/ask/question.ts'
import { type RecordFilter, recordFilter } from './query/ask/record-filter.ts'
import type { Clusters } from './query/view/clusters.ts'
import { closedOf, type Forwarding } from './query/view/forward.ts'
import { type Positions, positionsFrom, positionText, trimmed } from './stream-position.ts'
import { Turns } from './turns.ts'

export interface StreamParts {
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  readonly clusters: Clusters
  readonly access: Access
  readonly forwarding: Forwarding
}

/**
 * Entries read at once; how long a read waits for more, and after which silence an event-stream
 * says where it is.
 */
const STREAM_LIMIT = 500
const STREAM_WAIT_MS = 5_000

type StreamTopic = 'lineage' | 'history'

export function addStreams(server: FastifyInstance, parts: StreamParts): void {
  // Of all streams together: however many are read, other work waits for at most one turn.
  const turns = new Turns(parts.clock)
  for (const topic of ['lineage', 'history'] as const) {
    const config = { isStream: () => true }
    server.get(`/v1/${topic}`, { config }, async (request, reply) => {
      const closed = closedOf(reply)
      const filter = await recordFilter(parts, request)
      if (filter.only === null)
        return await send(parts, { turns, topic, filter, closed }, request, reply)
      return await parts.forwarding.answered(request, reply, filter.only, async (view) => {
        await parts.access.namespace(request, view, filter.namespace)
        return await send(parts, { turns, topic, filter, closed }, request, reply)
      })
    })
  }
}

interface Sending {
  readonly turns: Turns
  readonly topic: StreamTopic
  readonly filter: RecordFilter
  /** The client has closed the stream. */
  readonly closed: AbortSignal
}

async function send(
  parts: StreamParts,
  { turns, topic, filter, closed }: Sending,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { log, clock } = parts
  const { follow, from = 'start' } = askedOf(request)
  const isEvents = request.headers.accept?.includes('text/event-stream') === true
  const resumed = request.headers['last-event-id']
  // A client reconnects with the address of its first request.
  const begin = typeof resumed === 'string' && resumed !== '' ? resumed : from
  const next = await positionsFrom(log, topic, begin)
  // A reader of events reconnects at the end of an answer.
  const isFollowed = follow === undefined ? isEvents : follow === 'true'
  const failed = new AbortController()
  const signal = AbortSignal.any([closed, failed.signal])
  reply.hijack()
  if (filter.partial !== '') reply.raw.setHeader('warning', `299 - "${filter.partial}"`)
  const out = new Output(reply.raw, clock, isEvents ? next : undefined)
  const ended = streamEnd(request)
  ended.addEventListener('abort', () => out.breakOff(ended.reason))
  const tell = async (partition: number): Promise<void> => {
    const { end } = await log.bounds(topic, partition)
    for (let at = next.get(partition) ?? 0n; !signal.aborted && (isFollowed || at < end); ) {
      const waitMs = isFollowed ? STREAM_WAIT_MS : 0
      await turns.take()
      const page = await log.read(topic, partition, at, { limit: STREAM_LIMIT, waitMs })
      for (const entry of page.entries) {
        await turns.take()
        const line = await lineOf(parts.codec, topic, partition, entry, filter)
        if (signal.aborted) return
        // Not a moment before it is written: others write their ids meanwhile.
        next.set(partition, entry.offset + 1n)
        if (line !== undefined) await out.write(JSON.stringify(line, plain))
      }
      at = page.next
      next.set(partition, at)
      await out.idle()
    }
  }
  try {
    await Promise.all(
      [...next.keys()].map((partition) => broken(partition, tell, log, topic, next)),
    )
  } catch (error) {
    // An entry that is missing must not seem the end of the stream: the answer breaks off.
    failed.abort()
    out.breakOff(error)
    return reply
  }
  reply.raw.end()
  return reply
}

/** A slow reader whose next records were trimmed gets the answer of one that resumes there. */
async function broken(
  partition: number,
  tell: (partition: number) => Promise<void>,
  log: Log,
  topic: StreamTopic,
  next: Positions,
): Promise<void> {
  try {
    await tell(partition)
  } catch (error) {
    const isTrimmed = error instanceof LogError && error.code === 'OUT_OF_RANGE'
    throw isTrimmed ? await trimmed(log, topic, partition, next) : error
  }
}

/** Undefined where it is not asked for. */
async function lineOf(
  codec: Codec,
  topic: StreamTopic,
  partition: number,
  { offset, key, value }: Entry,
  filter: RecordFilter,
): Promise<object | undefined> {
  const record = value === null ? null : (codec.decode(value) as PublicRecord)
  const isShown = await filter.isShown(key, record)
  return isShown ? { topic, partition, offset, key, value: record } : undefined
}

/** Where lines go. `ids`: the positions of all partitions; undefined where they are not sent. */
class Output {
  readonly #stream: ServerResponse
  readonly #clock: Clock
  readonly #ids: Positions | undefined
  readonly #drained: () => Promise<void>
  #wroteAt: number

  constructor(stream: ServerResponse, clock: Clock, ids: Positions | undefined) {
    this.#stream = stream
    this.#clock = clock
    this.#ids = ids
    this.#drained = drainOf(stream)
    this.#wroteAt = clock.monotonicMs()
    const type = ids === undefined ? 'application/x-ndjson' : 'text/event-stream'
    stream.writeHead(200, { 'content-type': type, 'cache-control': 'no-store' })
    stream.flushHeaders()
  }

  async write(json: string): Promise<void> {
    await this.#put(this.#ids === undefined ? `${json}\n` : `${this.#id()}data: ${json}\n\n`)
  }

  /**
   * Nothing was sent for long: an event without data moves a reader's position on and is not seen
   * by it, and keeps what lies between awake.
   */
  async idle(): Promise<void> {
    if (this.#ids === undefined) return
    if (this.#clock.monotonicMs() - this.#wroteAt >= STREAM_WAIT_MS)
      await this.#put(`${this.#id()}\n`)
  }

  breakOff(error: unknown): void {
    if (this.#ids !== undefined && error instanceof Problem) {
      const body = JSON.stringify(bodyOf(error.status, error.message))
      this.#stream.write(`event: problem\ndata: ${body}\n\n`, () => this.#stream.destroy())
      return
    }
    this.#stream.destroy(error as Error)
  }

  #id(): string {
    return `id: ${positionText(this.#ids ?? new Map())}\n`
  }

  async #put(text: string): Promise<void> {
    this.#wroteAt = this.#clock.monotonicMs()
    if (!this.#stream.write(text)) await this.#drained()
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
