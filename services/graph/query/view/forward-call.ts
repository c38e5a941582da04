/**
 * One request forwarded to another graph process, and the header by which that one knows it.
 *
 * What must stay true: it ends within its time or with its caller; a process that no longer has
 * what is asked for is distinguished from one that cannot be reached; a request that may have had
 * an effect there is never sent again. Only a path of ours is asked, whatever the caller wrote
 * before it.
 *
 * Not here: who is asked, and how often (forward.ts).
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { Agent, type Dispatcher, request as send } from 'undici'
import type { ClusterId } from '../../../../core/model/object.ts'
import { Problem } from '../../../../runtime/http/problem.ts'
import { isTableAsked } from '../../api/kubernetes-table.ts'

/** Of a request: what it was sent on for. Of an answer: that this process does not have it. */
const FORWARDED = 'kinfold-forwarded'
const MOVED = 'kinfold-moved'
/** A machine that is down answers nothing. */
const CONNECT_MS = 3_000
/** Between two parts of an answer; one that is followed may be silent for days. */
const PART_MS = 30_000
/** Of an answer that is read whole. */
const WHOLE_BYTES = 16 * 1024 * 1024

const agent = new Agent({ connect: { timeout: CONNECT_MS } })

/** One cluster, or all clusters of some partitions; of these some records alone, or a search. */
export type Mark =
  | {
      readonly cluster: ClusterId
      readonly partitions?: undefined
      /** Why another cluster may be meant; left out for none. */
      readonly doubt?: string
    }
  | {
      readonly cluster?: undefined
      readonly partitions: readonly number[]
      readonly records?: readonly RecordPlace[]
      /** What is sought beside the question itself, as who seeks it wrote it (ask/finder.ts). */
      readonly sought?: string
    }

/** An entry of the log, of a topic that the question knows. */
export interface RecordPlace {
  readonly partition: number
  readonly offset: bigint
}

export type Answer = Dispatcher.ResponseData

interface Call {
  readonly request: FastifyRequest
  readonly mark: Mark
  readonly beginsWithinMs: number
  readonly signal: AbortSignal
}

/** Undefined when a client sent it. */
export function markOf({ headers }: FastifyRequest): Mark | undefined {
  const text = headers[FORWARDED]
  if (text === undefined) return undefined
  const [what, value = '', more = ''] = String(text).split('=')
  if (what === 'partitions' && /^\d+(,\d+)*$/.test(value)) {
    return { partitions: value.split(',').map(Number) }
  }
  if (what === 'records' && /^\d{1,9}-\d{1,18}(,\d{1,9}-\d{1,18})*$/.test(value)) {
    const records = value.split(',').map((each): RecordPlace => {
      const [partition = '', offset = ''] = each.split('-')
      return { partition: Number(partition), offset: BigInt(offset) }
    })
    return { partitions: [...new Set(records.map(({ partition }) => partition))], records }
  }
  try {
    if (what === 'cluster') {
      const doubt = decodeURIComponent(more)
      return { cluster: decodeURIComponent(value), ...(doubt !== '' && { doubt }) }
    }
    if (what === 'seek' && /^\d+(,\d+)*$/.test(value)) {
      return { partitions: value.split(',').map(Number), sought: decodeURIComponent(more) }
    }
  } catch {}
  throw strange()
}

/** A mark that no process would write. */
export function strange(): Problem {
  return new Problem(400, `${FORWARDED} is set by graph processes only`)
}

/** The sender checks again who has it. */
export function moved(reply: FastifyReply, partition: number): Problem {
  reply.header(MOVED, 'true')
  return new Problem(409, `partition ${partition} is not in this process; ask who has it now`)
}

/** The answer, or why there is none. */
export async function call(url: string, options: Call): Promise<Answer | string> {
  const { request, mark, beginsWithinMs, signal } = options
  const { method, body, headers } = request
  const { authorization, accept, 'if-none-match': tags } = headers
  const isGathered = mark.cluster === undefined
  try {
    const answer = await send(url + pathOf(request), {
      dispatcher: agent,
      // What is gathered is read, also for who asks with HEAD.
      method: (isGathered && method === 'HEAD' ? 'GET' : method) as Dispatcher.HttpMethod,
      headers: {
        [FORWARDED]: textOf(mark),
        ...(authorization !== undefined && { authorization }),
        ...(accept !== undefined && isTableAsked(accept) && { accept }),
        // Gathered answers are combined here, so no process there can know what the caller has.
        ...(tags !== undefined && !isGathered && { 'if-none-match': tags }),
        ...(body != null && { 'content-type': 'application/json' }),
      },
      body: body == null ? null : JSON.stringify(body),
      signal,
      headersTimeout: beginsWithinMs,
      bodyTimeout: isFollowed(request) && !isGathered ? 0 : PART_MS,
      // A connection that is kept may lead to a process that has ended meanwhile.
      reset: true,
    })
    const { statusCode } = answer
    const isMoved = statusCode === 409 && answer.headers[MOVED] !== undefined
    if (!isMoved && statusCode !== 401) return answer
    await answer.body.dump()
    if (isMoved) return `${url} does not have it any more`
    return `${url} answered 401: all graph processes need the same tokens`
  } catch (error) {
    if (method !== 'GET' && method !== 'HEAD' && !isRefused(error)) {
      throw new Problem(
        503,
        `${url} may have carried it out, and did not say so (${whyOf(error)}): look before you give it again`,
      )
    }
    return `${url} cannot be asked: ${whyOf(error)}`
  }
}

/** The JSON of an answer that is read whole. */
export async function readJson({ statusCode, body }: Answer): Promise<unknown> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of body) {
    parts.push(part)
    bytes += part.length
    if (bytes > WHOLE_BYTES) throw new Error(`it is longer than ${WHOLE_BYTES} bytes`)
  }
  const text = Buffer.concat(parts).toString()
  if (statusCode === 200) return JSON.parse(text)
  throw new Error(`${statusCode} ${text.slice(0, 200)}`)
}

/** The parts of an answer as they come. */
export async function readStream(answer: Answer): Promise<AsyncIterable<Uint8Array>> {
  if (answer.statusCode !== 200) await readJson(answer)
  return answer.body
}

/** Not the part before the path, which may be any origin. */
function pathOf({ url, routeOptions, params }: FastifyRequest): string {
  const query = url.indexOf('?')
  const path = String(routeOptions.url).replaceAll(/:(\w+)/g, (_, name: string) => {
    return segment((params as Readonly<Record<string, string>>)[name] ?? '')
  })
  return `${path}${query < 0 ? '' : url.slice(query)}`
}

/** One that is all dots would lead to another path, however it is written. */
function segment(text: string): string {
  if (/^\.{0,2}$/.test(text)) throw new Problem(404, `there is no "${text}"`)
  return encodeURIComponent(text.toWellFormed())
}

function isFollowed({ query }: FastifyRequest): boolean {
  return (query as Record<string, unknown>)['follow'] === 'true'
}

function textOf(mark: Mark): string {
  if (mark.cluster !== undefined) {
    const doubt = mark.doubt === undefined ? '' : `=${encodeURIComponent(mark.doubt)}`
    return `cluster=${encodeURIComponent(mark.cluster)}${doubt}`
  }
  const { partitions, records, sought } = mark
  if (sought !== undefined) return `seek=${partitions.join(',')}=${encodeURIComponent(sought)}`
  if (records === undefined) return `partitions=${partitions.join(',')}`
  return `records=${records.map(({ partition, offset }) => `${partition}-${offset}`).join(',')}`
}

/** Nothing was sent. */
function isRefused(error: unknown): boolean {
  return /ECONNREFUSED|UND_ERR_CONNECT_TIMEOUT/.test(String((error as { code?: unknown }).code))
}

/** Of several addresses of one name each has its own error. */
function whyOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(whyOf).join(', ')
  return error instanceof Error ? error.message || error.name : String(error)
}
