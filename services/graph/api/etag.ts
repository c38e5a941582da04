/**
 * ETag and If-None-Match of documents: a client that asks again and would get the same answer gets
 * 304.
 *
 * What must stay true: the tag is a hash of the whole answer but `asOf`, made after the answer. So
 * no list of what an answer depends on has to be kept complete: equal tags are equal answers. It is
 * a weak one, since `asOf` moves on with each heartbeat.
 */
import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply } from 'fastify'

export function addTags(server: FastifyInstance): void {
  server.addHook('preSerialization', async ({ method, headers }, reply, payload) => {
    const isDocument = typeof payload === 'object' && payload !== null && 'apiVersion' in payload
    if (!isDocument || method === 'POST') return payload
    const { asOf, ...rest } = payload as { readonly asOf?: unknown }
    const text = JSON.stringify(rest)
    const tag = `W/"${createHash('sha256').update(text).digest('base64url')}"`
    const control = reply.getHeader('cache-control') ?? 'private, no-cache'
    reply.headers({ etag: tag, 'cache-control': control, vary: 'authorization, accept' })
    if (isMatch(headers['if-none-match'], tag)) reply.code(304)
    reply.type('application/json').serializer(asItIs)
    return asOf === undefined ? text : `${text.slice(0, -1)},"asOf":${JSON.stringify(asOf)}}`
  })
}

/** Of an answer that nothing can change any more, such as one about the past. */
export function markImmutable(reply: FastifyReply): void {
  reply.header('cache-control', `private, immutable, max-age=${IMMUTABLE_S}`)
}

/** A day: who may ask then is asked again. */
const IMMUTABLE_S = 86_400

function asItIs(text: unknown): string {
  return String(text)
}

/** Weak comparison (RFC 9110, 8.8.3.2). */
function isMatch(asked: string | undefined, tag: string): boolean {
  const tags = (asked ?? '').split(',').map((each) => each.trim().replace(/^W\//, ''))
  return tags.includes('*') || tags.includes(tag.slice('W/'.length))
}
