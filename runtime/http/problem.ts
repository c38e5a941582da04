/**
 * What is wrong with a question, as RFC 9457 says it. What must stay true: one clear sentence that
 * says what to do.
 */
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply } from 'fastify'

export class Problem extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export function problem(reply: FastifyReply, error: unknown): FastifyReply {
  const { status, detail } = failureOf(error)
  return reply
    .code(status)
    .type('application/problem+json')
    .send(JSON.stringify(bodyOf(status, detail)))
}

/** What is wrong, for callers that say it in another form. */
export function failureOf(error: unknown): { readonly status: number; readonly detail: string } {
  const status = error instanceof Problem ? error.status : statusOf(error)
  const detail = refusalOf(error) ?? (error instanceof Error ? error.message : String(error))
  return { status, detail }
}

/** All is said in `detail`: a type of its own would tell a client no more. */
export function bodyOf(status: number, detail: string): object {
  return { type: 'about:blank', title: STATUS_CODES[status] ?? 'Error', status, detail }
}

/**
 * What the server itself refuses (a body that is too large, or no JSON) says so in `statusCode`.
 */
function statusOf(error: unknown): number {
  const { statusCode } = (error ?? {}) as { statusCode?: unknown }
  return typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500 ? statusCode : 500
}

/** What the server itself refuses, in our words. */
const REFUSALS: Readonly<Record<string, string>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE:
    'the body must be JSON, with the header Content-Type: application/json',
  FST_ERR_CTP_INVALID_JSON_BODY: 'the body is not valid JSON',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'the body is empty, and should be a JSON object',
  FST_ERR_CTP_BODY_TOO_LARGE: 'the body is too large',
  FST_ERR_BAD_URL: 'the path is not a valid URL',
}

function refusalOf(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { code?: unknown }
  const isSyntax = error instanceof SyntaxError && statusOf(error) === 400
  return isSyntax ? REFUSALS['FST_ERR_CTP_INVALID_JSON_BODY'] : REFUSALS[String(code)]
}

/** A request that is no HTTP, too long or too slow never becomes one that a route could answer. */
export function refuseUnread(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  const [status, detail] = unreadBecause(error.code)
  if (socket.writable) {
    const body = JSON.stringify(bodyOf(status, detail))
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'Content-Type: application/problem+json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
    ]
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  }
  socket.destroy(error)
}

function unreadBecause(code: string | undefined): readonly [number, string] {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return [408, 'the request took too long to arrive']
    case 'HPE_HEADER_OVERFLOW':
      return [431, 'the headers and the address are too long together']
    default:
      return [400, 'this is no valid HTTP request']
  }
}
