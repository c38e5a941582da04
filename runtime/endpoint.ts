/**
 * The HTTP endpoint that every process has: health, readiness, metrics, and what its service adds.
 *
 * What must stay true: it listens on loopback only, for as long as nobody has to show who they are.
 */
import { isIP } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fastify from 'fastify'
import type { Check } from './health.ts'
import { isReady, verbose } from './health.ts'
import { EXIT, ExitError } from './lifecycle.ts'
import { Problem, problem } from './problem.ts'

export interface EndpointParts {
  readonly version: string
  readonly checks: () => readonly Check[]
  readonly scrape: () => Promise<string>
  /** Adds the routes of a service. */
  readonly add?: (server: FastifyInstance) => void
}

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
export async function serveEndpoint(
  parts: EndpointParts,
  address: string,
): Promise<{ readonly url: string; readonly server: FastifyInstance }> {
  const { host, port } = parseAddress(address)
  const server = fastify({ logger: false, bodyLimit: 64 * 1024, forceCloseConnections: true })
  server.setErrorHandler(async (error, _request, reply) => problem(reply, error))
  server.setNotFoundHandler(async (request, reply) =>
    problem(reply, new Problem(404, `there is no ${request.url}`)),
  )
  addHealth(server, parts)
  parts.add?.(server)
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

function addHealth(server: FastifyInstance, { checks, scrape, version }: EndpointParts): void {
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
