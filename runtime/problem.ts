/** What is wrong with a question, as RFC 9457 says it. What must stay true: one clear sentence that says what to do. */
import type { FastifyReply } from 'fastify'

export class Problem extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export function problem(reply: FastifyReply, error: unknown): FastifyReply {
  const status = error instanceof Problem ? error.status : statusOf(error)
  const detail = error instanceof Error ? error.message : String(error)
  return reply.code(status).type('application/problem+json').send({ status, detail })
}

/** What the server itself refuses (a body that is too large, or no JSON) says so in `statusCode`. */
function statusOf(error: unknown): number {
  const { statusCode } = (error ?? {}) as { statusCode?: unknown }
  return typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500 ? statusCode : 500
}
