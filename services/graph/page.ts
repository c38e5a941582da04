/**
 * The page that people open at `/`: three files, written from web/ by `npm run pages`, and what a
 * browser may do with them.
 *
 * What must stay true: the files are the same for every user and hold nothing of any cluster, so
 * they need no token. All that the page shows it gets from the documented routes, with the token
 * that its user types in. Its policy lets it load, call and be shown by nothing but this server.
 *
 * Not here: its source (web/), the token (runtime/http/endpoint.ts).
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyInstance } from 'fastify'

/**
 * Nothing is written into the page but text: a browser that knows trusted types refuses any script
 * that writes markup.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'cache-control': 'no-cache',
  vary: 'accept-encoding',
}

export const PAGE_FILES: Readonly<
  Record<string, { readonly file: string; readonly type: string }>
> = {
  '/': { file: 'index.html', type: 'text/html; charset=utf-8' },
  '/page.js': { file: 'page.js', type: 'text/javascript; charset=utf-8' },
  '/page.css': { file: 'page.css', type: 'text/css; charset=utf-8' },
}

interface Content {
  readonly plain: Buffer
  readonly packed: Buffer
  readonly tag: string
}

/** Before the table of routes: these are no answers of the API, and take no parameters. */
export function addPage(server: FastifyInstance): void {
  for (const [path, { file, type }] of Object.entries(PAGE_FILES)) {
    let read: Promise<Content> | undefined
    server.get(path, { config: { isPublic: true } }, async ({ headers }, reply) => {
      read ??= contentOf(file)
      const { plain, packed, tag } = await read
      reply.headers({ ...HEADERS, etag: tag }).type(type)
      if (headers['if-none-match'] === tag) return reply.code(304).send()
      const isPacked = /\bgzip\b/.test(String(headers['accept-encoding'] ?? ''))
      if (isPacked) reply.header('content-encoding', 'gzip')
      return reply.send(isPacked ? packed : plain)
    })
  }
}

async function contentOf(file: string): Promise<Content> {
  const plain = await readFile(join(import.meta.dirname, 'page', file))
  const packed = await promisify(gzip)(plain)
  const digest = createHash('sha256').update(plain).digest('base64url')
  return { plain, packed, tag: `W/"${digest}"` }
}
