/**
 * One call over an exchange with its whole answer, and the meaning of a failed one for lists,
 * watches and discovery.
 *
 * What must stay true: an answer is whole, or this throws. Only the signal's own reason, a
 * ClusterError or an ExchangeError is thrown.
 *
 * Not here: answers about one object (answer.ts).
 */
import { ClusterError, type ClusterErrorCode } from '../../ports/cluster.ts'
import {
  type Connection,
  type Exchange,
  ExchangeError,
  type ExchangeErrorCode,
  type ExchangeRequest,
  type ExchangeResponse,
} from '../../ports/exchange.ts'
import type { Projection } from '../../ports/record/projection.ts'
import { causesOf, isStatus, parsed, type Reply, reasonOf, retryAfterMsOf } from './answer.ts'
import { isJson, type Json } from './json.ts'

/** A page of whole objects, where a server knows no metadata-only lists; far more is no list. */
const MAX_BODY_BYTES = 256 * 1024 * 1024

/** An answer that came in part: its status is known, its body is not. */
export class HalfReply extends Error {
  readonly status: number
  override readonly cause: ExchangeError

  constructor(status: number, cause: ExchangeError) {
    super(cause.message, { cause })
    this.status = status
    this.cause = cause
  }
}

/** Throws ExchangeError when no answer came, HalfReply when it broke off. */
export async function call(
  exchange: Exchange,
  request: ExchangeRequest,
  signal: AbortSignal,
): Promise<Reply> {
  const response = await exchange.request(request, signal)
  const { status, headers, connection } = response
  try {
    return { status, headers, text: await textOf(response), connection }
  } catch (error) {
    throw error instanceof ExchangeError ? new HalfReply(status, error) : error
  }
}

/** The parameters of readers of lists, watches and discovery. */
export interface Reading {
  readonly exchange: Exchange
  readonly projection: Projection
  /** Wall time in milliseconds. */
  now(): number
}

/** The type requested from a server that refuses to choose from several. */
export const PLAIN = 'application/json'

/** `over` is the connection that something else came over. */
export type Way =
  | { readonly purpose: 'list' | 'confirm' }
  | { readonly purpose: 'read'; readonly over?: Connection }

/**
 * GETs JSON for a list, discovery or identity: everything that is not a 200 with a JSON object is a
 * ClusterError.
 */
export async function ask(
  reading: Reading,
  path: string,
  accept: string,
  signal: AbortSignal,
  way: Way = { purpose: 'list' },
): Promise<Json> {
  return (await askOver(reading, path, accept, signal, way)).body
}

/**
 * As `ask`, with the connection that the answer came over, where that is known: only of the purpose
 * `read`.
 */
export async function askOver(
  reading: Reading,
  path: string,
  accept: string,
  signal: AbortSignal,
  way: Way,
): Promise<{ readonly body: Json; readonly connection: Connection | undefined }> {
  const request = { method: 'GET', path, headers: { accept }, body: null, ...way } as const
  const reply = await call(reading.exchange, request, signal).catch((error: unknown) => {
    throw failed(error, path)
  })
  if (reply.status === 406 && accept !== PLAIN)
    return await askOver(reading, path, PLAIN, signal, way)
  if (reply.status !== 200) throw refused(reply, path, reading.now())
  const body = parsed(reply)
  if (!isJson(body)) throw unreadable(path, 'it is no JSON object')
  return { body, connection: reply.connection }
}

export async function textOf(response: ExchangeResponse): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body) {
    chunks.push(chunk)
    bytes += chunk.byteLength
    if (bytes > MAX_BODY_BYTES) {
      throw new ExchangeError('CUT', `An answer of over ${MAX_BODY_BYTES} bytes was given up`)
    }
  }
  const [first] = chunks
  if (first === undefined) return ''
  if (chunks.length > 1) return Buffer.concat(chunks, bytes).toString()
  return Buffer.from(first.buffer, first.byteOffset, first.byteLength).toString()
}

/** For an exchange that failed; what is no failure of an exchange (an abort) stays what it is. */
export function failed(error: unknown, path: string): unknown {
  if (error instanceof HalfReply) return unreadable(path, error.message, error)
  if (!(error instanceof ExchangeError)) return error
  return new ClusterError(CODES[error.code], error.message, { cause: error })
}

const CODES: Readonly<Record<ExchangeErrorCode, ClusterErrorCode>> = {
  UNREACHABLE: 'UNREACHABLE',
  CUT: 'UNREACHABLE',
  TIMEOUT: 'UNREACHABLE',
  UNTRUSTED: 'UNREACHABLE',
  CREDENTIALS: 'UNAUTHORIZED',
}

/** For an answer that is no success. */
export function refused(reply: Reply, path: string, now: number, verb = 'GET'): ClusterError {
  const body = parsed(reply)
  const status = isStatus(body) ? body : {}
  return refusal(reply.status, status, path, retryAfterMsOf(reply, now), verb)
}

/** As `refused`, for a Status that came by itself, in a watch. */
export function refusal(
  code: number,
  status: Json,
  path: string,
  retryAfterMs: number | null,
  verb = 'GET',
): ClusterError {
  const text = `${verb} ${path} was answered ${reasonOf({ status: code }, status)}`
  return new ClusterError(codeOf(code, status), text, { retryAfterMs })
}

export function unreadable(path: string, reason: string, cause?: unknown): ClusterError {
  return new ClusterError('UNREADABLE', `The answer to GET ${path} cannot be read: ${reason}`, {
    cause,
  })
}

function codeOf(code: number, status: Json): ClusterErrorCode {
  if (isTooNew(status)) return 'TOO_NEW'
  if (code >= 500) return 'UNAVAILABLE'
  switch (code) {
    case 400:
      return 'BAD_REQUEST'
    case 401:
      return 'UNAUTHORIZED'
    case 403:
      return 'FORBIDDEN'
    case 404:
      return 'NOT_SERVED'
    case 408:
      return 'UNAVAILABLE'
    case 410:
      return 'EXPIRED'
    case 429:
      return 'THROTTLED'
    default:
      return 'UNREADABLE'
  }
}

/** A 504 of its own kind: the requested version lies in the server's future. */
function isTooNew(status: Json): boolean {
  return causesOf(status).some((it) => isJson(it) && it['reason'] === 'ResourceVersionTooLarge')
}
