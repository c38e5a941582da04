/**
 * The HTTP endpoint that every process has: health, readiness, metrics, and what its service adds.
 *
 * What must stay true: it listens on loopback only, unless requests have to show a token; what one
 * request may bring is bounded, and so is how many answers may go on without end: a client that
 * takes them all delays no other request, and no probe.
 */
import { once } from 'node:events'
import type { Server as HttpsServer } from 'node:https'
import { createServer, isIP } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fastify from 'fastify'
import type { Clock } from '../../ports/clock.ts'
import { systemClock } from '../clock.ts'
import type { Check } from '../health.ts'
import { counted, isReady, verbose } from '../health.ts'
import { INSTANCE, INSTANCE_HEADER } from '../instance.ts'
import { EXIT, ExitError } from '../lifecycle.ts'
import type { Logger } from '../logger.ts'
import { Cuts } from '../shares/cuts.ts'
import { Refusals } from '../shares/refusals.ts'
import { endStream, MOST_STREAMS, Streams } from '../shares/streams.ts'
import { parseAddress } from './address.ts'
import { AUDIENCE, type Authority } from './authority.ts'
import { clientOf, sourceOf } from './client.ts'
import type { ClusterTokens } from './cluster-token.ts'
import { type ConnectionCounts, Connections } from './connections.ts'
import type { HttpToken } from './http-token.ts'
import { isPrincipal, type Principal, setPrincipal } from './principal.ts'
import { Problem, problem, refuseUnread } from './problem.ts'
import type { Tls } from './tls.ts'
import { GROUP, maySeeAll } from './whole-right.ts'

export interface EndpointParts {
  readonly version: string
  readonly checks: () => readonly Check[]
  readonly scrape: () => Promise<string>
  /** Adds the routes of a service. */
  readonly add?: (server: FastifyInstance) => void
  /** Where refused requests are written down. */
  readonly logger?: Logger
  readonly clock?: Clock
  /** Of the process; undefined: of this endpoint alone. */
  readonly cuts?: Cuts
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the answer goes on for as long as it is read: then it is one of `MOST_STREAMS`. */
    isStream?: (request: FastifyRequest) => boolean
    /** Whether the token of a cluster is enough here. */
    takesClusterToken?: boolean
    /** Whether every client gets an answer, as it holds nothing of any cluster. */
    isPublic?: boolean
  }
}

/**
 * Whatever has not arrived by then is given up with the next look for such: within 30 s, as
 * docs/operate/config.md says.
 */
const ARRIVAL_MS = 25_000
const LOOK_FOR_LATE_MS = 5_000
/** A stream that has to end for another one: then nothing waits for its reader any more. */
const ENDS_WITHIN_MS = 1_000
/**
 * Of one request, and of all: what is larger, slower or more is refused. Addresses with their
 * questions are headers, too.
 */
const LIMITS = {
  bodyLimit: 64 * 1024,
  http: {
    maxHeaderSize: 16 * 1024,
    headersTimeout: ARRIVAL_MS,
    requestTimeout: ARRIVAL_MS,
    connectionsCheckingInterval: LOOK_FOR_LATE_MS,
  },
  // Names of objects, percent-encoded.
  routerOptions: { maxParamLength: 2_000 },
  requestTimeout: ARRIVAL_MS,
  keepAliveTimeout: ARRIVAL_MS,
}
/** That any route may take. */
const METHODS = ['GET', 'HEAD', 'POST'] as const

export interface HttpSettings {
  /** `HOST:PORT` to listen on. */
  readonly address: string
  /** What requests must show; undefined: nothing, and only loopback is listened on. */
  readonly token?: HttpToken | undefined
  /**
   * A client that shows one of these may read the metrics, and nothing else. It counts beside a
   * token or an authority only: without one no client has to show anything.
   */
  readonly metricsToken?: HttpToken | undefined
  /**
   * What clusters' own servers show where they report something; undefined: no such token is good.
   */
  readonly clusterTokens?: ClusterTokens | undefined
  /** Undefined: plain HTTP. */
  readonly tls?: Tls | undefined
  /** Clusters that say whose a token is; undefined: none is asked. */
  readonly authority?: Authority | undefined
  /**
   * Whether reading takes rights in the clusters, too: then names and metrics are for who may see
   * all.
   */
  readonly isReadingReviewed?: boolean | undefined
  /** `HOST:PORT` by which others reach it; undefined: as it is bound. */
  readonly advertise?: string | undefined
  /** Other processes come here, so an address is needed by which they can. */
  readonly isShared?: boolean
}

export interface Served {
  readonly server: FastifyInstance
  /** For clients on this machine. */
  readonly url: string
  /** For other machines. */
  readonly advertised: string
  status(): EndpointStatus
}

export interface EndpointStatus {
  readonly streams: number
  readonly connections: ConnectionCounts
  /** Requests, by status code. */
  readonly refused: ReadonlyMap<number, number>
}

/** Throws `ExitError` for settings that would let in anybody, or that are none. */
export function checkHttp(settings: HttpSettings): void {
  const { address, token, metricsToken, authority, advertise, isShared } = settings
  const { host, port } = parseAddress(address)
  if (metricsToken !== undefined && token === undefined && authority === undefined) {
    throw new ExitError(
      EXIT.input,
      '--http-metrics-token-file: its tokens may read the metrics alone, and everything else would be open to anybody; name a file of tokens for that as well (--http-token-file), or a cluster that says whose a token is (--http-auth)',
    )
  }
  if (token === undefined && authority === undefined && !isLoopback(host)) {
    throw new ExitError(
      EXIT.input,
      `--http ${address}: anybody could ask there; name a file with a token that requests must show (--http-token-file), or a cluster that says whose a token is (--http-auth), or take 127.0.0.1:${port}`,
    )
  }
  if (isShared && advertise === undefined && isUnspecified(host)) {
    throw new ExitError(
      EXIT.input,
      `--http ${address}: other processes cannot go to an address of that kind; say where they reach this one with --http-advertise HOST:PORT`,
    )
  }
  if (advertise === undefined) return
  const { host: others, port: theirs } = parseAddress(advertise, '--http-advertise')
  if (theirs === 0 || isUnspecified(others)) {
    throw new ExitError(
      EXIT.input,
      `--http-advertise ${advertise}: expected an address that others can reach, with its port`,
    )
  }
}

/**
 * As `checkHttp`, and that nothing else listens there. Called before anything is opened or created:
 * what would fail at the end of a start leaves nothing behind. Throws `ExitError`.
 */
export async function checkAddress(settings: HttpSettings): Promise<void> {
  checkHttp(settings)
  await checkFree(settings.address)
}

export async function checkFree(address: string, flag = '--http'): Promise<void> {
  const probe = createServer()
  try {
    probe.listen(parseAddress(address, flag))
    await once(probe, 'listening')
    probe.close()
    await once(probe, 'close')
  } catch (error) {
    if (error instanceof ExitError) throw error
    throw notListening(address, flag, error)
  }
}

function notListening(address: string, flag: string, error: unknown): ExitError {
  const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
  const why = isTaken ? 'another program has it' : String((error as Error).message)
  const hint = `give another address with ${flag} HOST:PORT; port 0 takes any that is free`
  return new ExitError(EXIT.failure, `${flag} ${address} cannot be listened on: ${why}; ${hint}`)
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

/** Any address of the machine: one to listen on, and none to go to. */
function isUnspecified(host: string): boolean {
  return host === '0.0.0.0' || /^[0:]*:[0:]*$/.test(host)
}

/** Listens; resolves with the server, to be closed, and its URLs. */
export async function serveEndpoint(parts: EndpointParts, settings: HttpSettings): Promise<Served> {
  checkHttp(settings)
  const { address, token, clusterTokens, authority, advertise, tls } = settings
  const { host, port } = parseAddress(address)
  const server = bareServer(tls)
  const clock = parts.clock ?? systemClock()
  const connections = new Connections(server.server, clock)
  const refusals = new Refusals(clock, parts.logger)
  const streams = new Streams(parts.cuts ?? new Cuts(clock, parts.logger))
  // A web page may send that anywhere without being asked whether it may.
  server.removeContentTypeParser('text/plain')
  server.setErrorHandler(async (error, _request, reply) => problem(reply, error))
  const refuseUnknown = unknownRoutes(server)
  server.setNotFoundHandler(refuseUnknown)
  server.addHook('onResponse', async ({ socket, method, routeOptions }, { statusCode: code }) => {
    const [address, route] = [socket.remoteAddress ?? '', routeOptions.url ?? '']
    refusals.note({ address, method, route, code })
  })
  addInstanceCheck(server)
  if (clusterTokens !== undefined) addClusterTokens(server, clusterTokens)
  if (token !== undefined || authority !== undefined) addToken(server, settings)
  else addHostCheck(server, advertise)
  // Before anything of the request is read, and after the access checks.
  server.addHook('onRequest', async (request, reply) => {
    if (request.is404) await refuseUnknown(request, reply)
  })
  addStreamLimit(server, streams)
  addHealth(server, parts, settings)
  parts.add?.(server)
  try {
    await server.listen({ host, port })
  } catch (error) {
    throw notListening(address, '--http', error)
  }
  const closed = new AbortController()
  server.server.once('close', () => closed.abort())
  void connections.run(closed.signal)
  void tls?.renew(server.server as HttpsServer, clock, closed.signal)
  const bound = server.server.address()
  if (bound === null || typeof bound === 'string')
    throw new ExitError(EXIT.failure, 'no port was bound')
  const here = isUnspecified(bound.address) ? '127.0.0.1' : bound.address
  const scheme = tls === undefined ? 'http' : 'https'
  const near = urlOf(scheme, here, bound.port)
  const others = advertise === undefined ? undefined : parseAddress(advertise)
  const advertised = others === undefined ? near : urlOf(scheme, others.host, others.port)
  return {
    server,
    // A certificate is for the name by which others come, and seldom for an address of this
    // machine.
    url: tls === undefined ? near : advertised,
    advertised,
    status: () => ({
      streams: streams.open,
      connections: connections.counts(),
      refused: refusals.counts(),
    }),
  }
}

/**
 * Refuses what no route takes: by the methods that its path takes, if any. Of routes that are added
 * from then on.
 */
function unknownRoutes(
  server: FastifyInstance,
): (request: FastifyRequest, reply: FastifyReply) => Promise<never> {
  const patterns: { readonly method: string; readonly path: RegExp }[] = []
  const paths = new Set<string>()
  server.addHook('onRoute', ({ method, url }) => {
    const path = RegExp(`^${url.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}$`)
    for (const each of [method].flat()) patterns.push({ method: each, path })
    if ([method].flat().includes('GET')) paths.add(url)
  })
  return async ({ method, url }, reply) => {
    const [path = ''] = url.split('?')
    const there = patterns.filter((each) => each.path.test(path))
    const takes = METHODS.filter((each) => there.some(({ method: its }) => its === each)).join(', ')
    if (takes === '') throw new Problem(404, `there is no ${url}${below(path, paths)}`)
    reply.header('allow', takes)
    throw new Problem(405, `${path} takes ${takes}, and no ${method}`)
  }
}

/** Of a path that is only the beginning of others, such as /v1: what there is. */
function below(path: string, paths: ReadonlySet<string>): string {
  const start = path.endsWith('/') ? path : `${path}/`
  const found = [...paths].filter((each) => start !== '/' && each.startsWith(start)).sort()
  return found.length === 0
    ? ''
    : `; there are ${found.join(', ')}: /openapi.json says what each is`
}

/** After the access checks: a client that is refused takes none of them. */
function addStreamLimit(server: FastifyInstance, streams: Streams): void {
  server.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.config.isStream?.(request) !== true) return
    const stream = streams.take(clientOf(request), (reason) => {
      endStream(request, reason)
      // A route that can say why has begun to; of any other the answer breaks off.
      setTimeout(() => reply.raw.destroy(), ENDS_WITHIN_MS).unref()
    })
    if (stream === undefined) {
      reply.header('retry-after', '30')
      throw new Problem(
        429,
        `all ${MOST_STREAMS} streams are open, and no other client has more of them than you; end one, or ask again later`,
      )
    }
    // A client that left during authentication has left already.
    if (reply.raw.closed) stream[Symbol.dispose]()
    else reply.raw.once('close', () => stream[Symbol.dispose]())
  })
}

/**
 * Fastify's types tell a server with TLS from one without; what is done with them here is the same.
 */
function bareServer(tls: Tls | undefined): FastifyInstance {
  const options = {
    ...{ logger: false, forceCloseConnections: true, ...LIMITS },
    clientErrorHandler: refuseUnread,
    frameworkErrors: (error: FastifyError, _request: FastifyRequest, reply: FastifyReply) =>
      problem(reply, error),
  }
  if (tls === undefined) return fastify(options)
  const https = { ...LIMITS.http, ...tls.pair, handshakeTimeout: ARRIVAL_MS }
  return fastify({ ...options, https }) as unknown as FastifyInstance
}

function urlOf(scheme: 'http' | 'https', host: string, port: number): string {
  return `${scheme}://${isIP(host) === 6 ? `[${host}]` : host}:${port}`
}

function addInstanceCheck(server: FastifyInstance): void {
  server.addHook('onRequest', async ({ headers }) => {
    const meant = headers[INSTANCE_HEADER]
    if (meant === undefined || meant === INSTANCE) return
    throw new Problem(
      421,
      'this is another kinfold than the one that was meant: name its endpoint with --server, or its data directory with --data',
    )
  })
}

/** These say no more than that the process lives and is ready. */
const OPEN: ReadonlySet<string> = new Set(['/livez', '/readyz'])
const METRICS = '/metrics'

/**
 * A web page may have its own name bound anew to this machine, and read what is answered: its
 * browser still asks for that name.
 */
function addHostCheck(server: FastifyInstance, advertise: string | undefined): void {
  const advertised = advertise === undefined ? undefined : parseAddress(advertise).host
  server.addHook('onRequest', async ({ hostname }) => {
    const host = hostname.toLowerCase().replace(/^\[(.*)\]$/, '$1')
    if (host === '' || isLoopback(host) || host === advertised?.toLowerCase()) return
    throw new Problem(
      403,
      `where no token has to be shown, requests are answered to localhost, 127.*, ::1 and the advertised host only, and this one is to ${host}: ask there, or have a token shown (--http-token-file)`,
    )
  })
}

/** Where Data Firehose of AWS shows its key: it sets no other header. */
const FIREHOSE_KEY = 'x-amz-firehose-access-key'

/** Before any other authentication: on other routes such a token is none. */
function addClusterTokens(server: FastifyInstance, tokens: ClusterTokens): void {
  server.addHook('onRequest', async (request) => {
    if (request.routeOptions.config.takesClusterToken !== true) return
    const { authorization, [FIREHOSE_KEY]: key } = request.headers
    const shown = authorization ?? (typeof key === 'string' ? `Bearer ${key}` : undefined)
    const cluster = tokens.clusterOf(shown)
    if (cluster !== undefined) setPrincipal(request, { by: 'cluster', user: null, cluster })
  })
}

/** Nothing has to be shown for it. */
function isOpen({ method, url, routeOptions }: FastifyRequest): boolean {
  return method === 'GET' && (OPEN.has(url) || routeOptions.config.isPublic === true)
}

type WhoMay = Pick<HttpSettings, 'token' | 'metricsToken' | 'authority'>

function addToken(server: FastifyInstance, who: WhoMay): void {
  const { authority } = who
  server.addHook('onRequest', async (request, reply) => {
    if (isPrincipal(request) || isOfMetrics(request, who)) return
    const principal = await principalFor(request, who)
    if (principal !== undefined) return setPrincipal(request, principal)
    if (isOpen(request)) return
    reply.header('www-authenticate', 'Bearer')
    const what =
      authority === undefined
        ? 'a token of the file that this process was given (--http-token-file)'
        : `a token that its cluster knows, for the audience ${AUDIENCE},`
    throw new Problem(
      401,
      `${what} must be shown: kinfold takes --token-file, HTTP the header "Authorization: Bearer TOKEN"`,
    )
  })
}

/**
 * Whether a token for the metrics alone is shown, and is enough. No cluster is asked whose it is,
 * and the client that shows it gets no principal. Throws `Problem` where it is not enough.
 */
function isOfMetrics(request: FastifyRequest, { token, metricsToken }: WhoMay): boolean {
  const { authorization } = request.headers
  if (metricsToken?.isShown(authorization) !== true || token?.isShown(authorization)) return false
  if (isOpen(request) || request.routeOptions.url === METRICS) return true
  throw new Problem(403, `the token that was shown may read ${METRICS}, and nothing else`)
}

/** A token of the file is not sent to any cluster. */
async function principalFor(
  request: FastifyRequest,
  { token, authority }: WhoMay,
): Promise<Principal | undefined> {
  const { authorization } = request.headers
  if (token?.isShown(authorization)) return { by: 'token', user: null }
  const isFresh = request.method !== 'GET' && request.method !== 'HEAD'
  const shown = { authorization, source: sourceOf(request.ip) }
  const user = isOpen(request) ? undefined : await authority?.identify(shown, isFresh)
  return user === undefined ? undefined : { by: 'user', user }
}

function addHealth(
  server: FastifyInstance,
  { checks, scrape, version }: EndpointParts,
  settings: HttpSettings,
): void {
  const isGuarded = settings.token !== undefined || settings.authority !== undefined
  server.get('/livez', async (_request, reply) => reply.type('text/plain').send('ok'))
  const ready = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const now = checks()
    const isVerbose = 'verbose' in (request.query as Record<string, unknown>)
    const ok = isReady(now)
    const mayKnow = !isGuarded || isPrincipal(request)
    // A probe asks no cluster anything, and is answered whether one can say who asks or not.
    const isWhole = async (): Promise<boolean> =>
      await maySeeAll(request, settings).catch(() => false)
    const details = async (): Promise<string> => ((await isWhole()) ? verbose(now) : counted(now))
    const text = mayKnow && (isVerbose || !ok) ? await details() : ok ? 'ok' : 'not ready'
    return reply
      .code(ok ? 200 : 503)
      .type('text/plain')
      .send(text)
  }
  server.get('/readyz', ready)
  server.get('/healthz', ready)
  server.get('/version', async () => ({ version }))
  server.get(METRICS, async (request, reply) => {
    if (!(await maySeeAll(request, settings))) {
      throw new Problem(
        403,
        `the metrics are about all clusters: they take the right to get graphs.${GROUP}, or a token for the metrics alone (--http-metrics-token-file)`,
      )
    }
    return reply.type('text/plain; version=0.0.4').send(await scrape())
  })
}
