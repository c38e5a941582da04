/**
 * Shows that watches share connections on real sockets, and that none of them suffers for another.
 *
 * What must stay true: servers here are scripted, not Kinfold's. An API server's own HTTP/2 is in
 * cluster.cluster.test.ts.
 */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import {
  constants,
  createSecureServer,
  performServerHandshake,
  type SecureServerOptions,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { describe, test } from 'node:test'
import { connect, createServer as createRawTlsServer, type TLSSocket } from 'node:tls'
import { Agent, buildConnector } from 'undici'
import {
  type Exchange,
  ExchangeError,
  type ExchangeRequest,
  type ExchangeResponse,
} from '../../../ports/exchange.ts'
import { front, type Listening, listening, tunnel } from '../../../testing/process/listening.ts'
import { textOf } from '../call.ts'
import { DEFAULT_CONNECTIONS } from './connections.ts'
import { openUndiciExchange } from './exchange.ts'
import type { ClusterContext, Credentials } from './kubeconfig.ts'
import { SharedConnection } from './shared-connection.ts'
import { SharedConnections } from './shared-connections.ts'

const pem = (name: string) => readFileSync(new URL(`../test-certificates/${name}`, import.meta.url))
const CA = pem('ca.crt')
const SERVER_KEYS = { cert: pem('server.crt'), key: pem('server.key') }
const CLIENT_KEYS = { cert: pem('client.crt'), key: pem('client.key') }
const DEADLINE_MS = 20_000
const LIMITED = { timeout: DEADLINE_MS }
const { NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR, NGHTTP2_REFUSED_STREAM } = constants

describe('watches share connections', () => {
  test('as few as their number allows, each with its own events', async () => {
    await using server = await serving()
    await using exchange = opened(server, { watchesPerConnection: 10 })
    const paths = Array.from({ length: 25 }, (_, i) => `/kind-${i}`)
    const watches = await Promise.all(paths.map((path) => watch(exchange, path)))
    equal(server.connections, 3)
    for (const { stream, path } of server.watches) stream.end(path)
    deepEqual(await Promise.all(watches.map(textOf)), paths)
  })

  test('as far as the server takes streams, and none waits for another to end', async () => {
    await using server = await serving({ settings: { maxConcurrentStreams: 2 } })
    await using exchange = opened(server)
    await Promise.all(['/a', '/b', '/c', '/d', '/e'].map((path) => watch(exchange, path)))
    equal(server.connections, 3)
  })

  test('where another one has ended', async () => {
    await using server = await serving()
    await using exchange = opened(server, { watchesPerConnection: 2 })
    const [first] = await Promise.all(['/a', '/b'].map((path) => watch(exchange, path)))
    server.watches.find(({ path }) => path === '/a')?.stream.end()
    equal(await textOf(first!), '')
    await watch(exchange, '/c')
    equal(server.connections, 1)
    await watch(exchange, '/d')
    equal(server.connections, 2)
  })

  test('and nothing else does', async () => {
    const seen: string[] = []
    await using server = await serving({}, (version) => seen.push(version))
    await using exchange = opened(server)
    await watch(exchange, '/a')
    for (const purpose of ['list', 'confirm', 'read', 'write'] as const) {
      await textOf(await exchange.request({ ...GET, purpose }, deadline()))
    }
    deepEqual(seen, ['1.1', '1.1', '1.1', '1.1'])
    equal(server.watches.length, 1)
  })

  test('through a proxy', async () => {
    await using server = await serving()
    await using proxy = await tunnel()
    await using exchange = opened(server, {}, { proxyUrl: proxy.url })
    const watches = await Promise.all(['/a', '/b', '/c'].map((path) => watch(exchange, path)))
    for (const { stream, path } of server.watches) stream.end(path)
    deepEqual(await Promise.all(watches.map(textOf)), ['/a', '/b', '/c'])
    equal(proxy.tunnels, 1)
  })

  for (const origin of ['https://127.0.0.1', 'https://127.0.0.1:6443', 'https://[::1]:6443']) {
    test(`for the host that HTTP/1.1 names, to ${origin}`, async () => {
      await using server = await serving()
      let asked: unknown
      server.statusOf = (headers) => {
        asked = headers[':authority']
        return 200
      }
      await using proxy = await tunnel(server.port)
      const credentials = async () => ({ headers: {}, tls: { rejectUnauthorized: false } })
      const more = { server: origin, proxyUrl: proxy.url, credentials }
      await using exchange = opened(server, {}, more)
      await watch(exchange, '/a')
      equal(asked, new URL(origin).host)
    })
  }

  test('not with a server that speaks HTTP/1.1 only, which is asked once', async () => {
    for (const proxyUrl of [null, 'tunnel'] as const) {
      await using server = await listening(
        createTlsServer(SERVER_KEYS, (request, response) => response.end(request.url)),
        'secureConnection',
      )
      await using proxy = await tunnel()
      await using exchange = opened(server, {}, { proxyUrl: proxyUrl && proxy.url })
      const paths = ['/a', '/b', '/c', '/d']
      const bodies = paths.map(async (path) => textOf(await watch(exchange, path)))
      deepEqual(await Promise.all(bodies), paths)
      ok(server.connections <= paths.length + 1, `${server.connections} connections`)
      const before = server.connections
      equal(await textOf(await watch(exchange, '/e')), '/e')
      ok(server.connections <= before + 1, `${server.connections} connections`)
    }
  })

  test('that are closed once nothing is watched', async () => {
    await using server = await serving()
    await using exchange = opened(server, { keepAliveMs: 50 })
    const watching = await watch(exchange, '/a')
    const [socket] = server.sockets
    server.watches[0]?.stream.end()
    await textOf(watching)
    if (!socket?.destroyed) await once(socket!, 'close')
  })
})

describe('a watch does not suffer', () => {
  test('for one that nobody reads', async () => {
    await using server = await serving()
    await using exchange = opened(server, { watchesPerConnection: 2 })
    const hot = await watch(exchange, '/hot')
    const calm = await watch(exchange, '/calm')
    const [hotStream, calmStream] = server.watches.map(({ stream }) => stream)
    // Room for all that both may have on their way.
    equal(server.sessions[0]!.state.remoteWindowSize, 2 * 256 * 1024)
    const total = 8 * 1024 * 1024
    const flood = pour(hotStream!, total)
    // Far more than the window of the connection, while the other one stands still.
    const calmFlood = pour(calmStream!, total)
    equal(await bytesOf(calm), total)
    await calmFlood.done
    ok(flood.written < total / 4, `${flood.written} bytes were taken`)
    equal(server.connections, 1)
    equal(await bytesOf(hot), total)
  })

  test('for one that is given up', async () => {
    await using server = await serving()
    await using exchange = opened(server)
    const stop = new AbortController()
    const given = await watch(exchange, '/given-up', stop.signal)
    const left = await watch(exchange, '/left')
    const kept = await watch(exchange, '/kept')
    const [givenUp, leftAlone, keptOn] = server.watches.map(({ stream }) => stream)
    const reading = rejects(textOf(given), /enough/)
    stop.abort(new Error('enough'))
    await reading
    leftAlone!.write('1')
    for await (const _ of left.body) break
    for (const stream of [givenUp!, leftAlone!]) {
      if (!stream.closed) await once(stream, 'close')
      equal(stream.rstCode, NGHTTP2_CANCEL)
    }
    keptOn!.end('on')
    equal(await textOf(kept), 'on')
    equal(server.connections, 1)
  })

  for (const [what, code] of [
    ['fails', NGHTTP2_INTERNAL_ERROR],
    ['is cancelled by the server', NGHTTP2_CANCEL],
    ['is refused', NGHTTP2_REFUSED_STREAM],
  ] as const) {
    test(`for one that ${what}, which is CUT`, async () => {
      await using server = await serving()
      await using exchange = opened(server)
      const broken = await watch(exchange, '/broken')
      const kept = await watch(exchange, '/kept')
      const [brokenStream, keptStream] = server.watches.map(({ stream }) => stream)
      brokenStream!.write('half')
      brokenStream!.close(code)
      await rejects(textOf(broken), hasCode('CUT'))
      keptStream!.end('on')
      equal(await textOf(kept), 'on')
      equal(server.watches.length, 2, 'none was sent again')
    })
  }

  test('for one whose head does not come', async () => {
    await using server = await serving({}, undefined, ['/silent'])
    await using exchange = opened(server, { headersTimeoutMs: 200 })
    const kept = await watch(exchange, '/kept')
    await rejects(watch(exchange, '/silent'), hasCode('TIMEOUT'))
    await watch(exchange, '/elsewhere')
    equal(server.connections, 2)
    server.watches[0]?.stream.end('on')
    equal(await textOf(kept), 'on')
    equal(server.watches.length, 3, 'it was not sent again')
  })
})

describe('a shared connection that breaks', () => {
  const ways: [string, (parts: Connected) => void][] = [
    ['by its socket', ({ tls }) => tls.destroy()],
    ['by its socket below TLS', ({ tcp }) => tcp.destroy()],
    ['by a reset', ({ tcp }) => tcp.resetAndDestroy()],
    ['by half of its socket', ({ tcp }) => tcp.end()],
    ['by its end', ({ session }) => session.destroy()],
    ['by an error', ({ session }) => session.destroy(undefined, NGHTTP2_INTERNAL_ERROR)],
    ['by a GOAWAY with an error', ({ session }) => session.goaway(NGHTTP2_INTERNAL_ERROR)],
  ]
  for (const [how, end] of ways) {
    test(`${how} is the end of each of its watches, as CUT, and of no other`, async () => {
      await using server = await serving()
      await using exchange = opened(server, { watchesPerConnection: 2 })
      const watches: ExchangeResponse[] = []
      for (const path of ['/a', '/b', '/c']) watches.push(await watch(exchange, path))
      for (const { stream } of server.watches) stream.write('{"half":')
      const cut = watches.slice(0, 2).map((it) => rejects(textOf(it), hasCode('CUT')))
      const [[session], [tls], [tcp]] = [server.sessions, server.sockets, server.tcpSockets]
      end({ session: session!, tls: tls!, tcp: tcp! })
      await Promise.all(cut)
      const again = await watch(exchange, '/a')
      for (const { stream } of server.watches) if (!stream.destroyed) stream.end('on')
      equal(await textOf(watches[2]!), '{"half":on')
      equal(await textOf(again), 'on')
      equal(server.watches.length, 4, 'none was sent again')
    })
  }

  test('is not used for more after a GOAWAY, and its watches go on to their end', async () => {
    await using server = await serving()
    await using exchange = opened(server)
    const old = await watch(exchange, '/old')
    const [socket] = server.sockets
    server.sessions[0]!.close()
    // The GOAWAY is here when this is: the server has sent it before.
    server.watches[0]!.stream.write('1')
    const reader = old.body[Symbol.asyncIterator]()
    equal(String((await reader.next()).value), '1')
    const fresh = await watch(exchange, '/new')
    equal(server.connections, 2)
    server.watches[0]!.stream.end('2')
    equal(String((await reader.next()).value), '2')
    equal((await reader.next()).done, true)
    if (!socket!.destroyed) await once(socket!, 'close')
    server.watches[1]!.stream.end('on')
    equal(await textOf(fresh), 'on')
  })

  test('without a word is found, and one that is only quiet is kept', async () => {
    await using server = await serving()
    await using between = await front(server.port)
    await using exchange = opened(between, { silenceMs: 100 })
    const watching = await watch(exchange, '/a')
    for (let pings = 0; pings < 5; pings++) await once(server.sessions[0]!, 'ping')
    server.watches[0]!.stream.write('1')
    const reader = watching.body[Symbol.asyncIterator]()
    equal(String((await reader.next()).value), '1')
    between.freeze()
    await rejects(reader.next(), hasCode('CUT', /ping/))
  })

  test('without a word is found after a GOAWAY, too, and one that is only quiet is kept', async () => {
    await using server = await serving()
    await using between = await front(server.port)
    await using exchange = opened(between, { silenceMs: 100 })
    const watching = await watch(exchange, '/a')
    const [session] = server.sessions
    session!.close()
    server.watches[0]!.stream.write('1')
    const reader = watching.body[Symbol.asyncIterator]()
    equal(String((await reader.next()).value), '1')
    const next = reader.next()
    for (let asked = 0; asked < 5; asked++) {
      await Promise.race([once(session!, 'remoteSettings'), next])
    }
    server.watches[0]!.stream.write('2')
    equal(String((await next).value), '2')
    between.freeze()
    await rejects(reader.next(), hasCode('CUT', /ping/))
  })

  test('is let go with the exchange, though the server never ends it', LIMITED, async () => {
    for (const hasGoaway of [false, true]) {
      await using server = await serving()
      await using between = await front(server.port)
      const exchange = opened(between)
      const watching = await watch(exchange, '/a')
      if (hasGoaway) server.sessions[0]!.close()
      server.watches[0]!.stream.write('1')
      const reader = watching.body[Symbol.asyncIterator]()
      await reader.next()
      between.freeze()
      const cut = rejects(reader.next(), hasCode('CUT'))
      await exchange[Symbol.asyncDispose]()
      await cut
    }
  })

  test('is let go after its last watch, though the server never ends it', LIMITED, async () => {
    await using server = await rawServer((socket) => {
      // Its settings, and nothing more: it keeps its half open.
      socket.resume().write(Buffer.from('000000040000000000', 'hex'))
    })
    const options = { ...DEFAULT_CONNECTIONS, silenceMs: 50 }
    const origin = `https://127.0.0.1:${server.port}`
    const socket = connect({ port: server.port, ca: CA, ALPNProtocols: ['h2'] })
    await once(socket, 'secureConnect')
    const connection = new SharedConnection(origin, socket, options)
    await connection.ready
    connection.retire()
    await connection.closed
  })

  test('is the end of those that the exchange has, once it is closed', async () => {
    await using server = await serving()
    const exchange = opened(server)
    const old = await watch(exchange, '/old')
    server.sessions[0]!.close()
    server.watches[0]!.stream.write('1')
    const reader = old.body[Symbol.asyncIterator]()
    await reader.next()
    const fresh = await watch(exchange, '/new')
    const cut = [rejects(reader.next(), hasCode('CUT')), rejects(textOf(fresh), hasCode('CUT'))]
    await exchange[Symbol.asyncDispose]()
    await Promise.all(cut)
  })
})

describe('a watch waits for no connection for long', () => {
  test('where a server speaks HTTP/2 and says nothing', async () => {
    await using server = await rawServer((socket) => void socket.resume())
    await using exchange = opened(server, { headersTimeoutMs: 200 })
    const paths = ['/a', '/b', '/c']
    await Promise.all(paths.map((path) => rejects(watch(exchange, path), hasCode('UNREACHABLE'))))
    equal(server.connections, 1)
  })

  test('where a server takes no streams, which is not asked again and again', async () => {
    await using server = await serving({ settings: { maxConcurrentStreams: 0 } })
    await using exchange = opened(server)
    await rejects(watch(exchange, '/a'), hasCode('UNREACHABLE', /no stream/))
    equal(server.connections, 1)
  })

  test('where a server ends each connection at once', async () => {
    await using server = await rawServer((socket) => void socket.destroy())
    await using exchange = opened(server)
    await rejects(watch(exchange, '/a'), hasCode('UNREACHABLE'))
    equal(server.connections, 1)
  })
})

describe('watches that share connections', () => {
  test('are sent although they have to leave them before those are ready', LIMITED, async () => {
    const { promise: preface, resolve: onPreface } = Promise.withResolvers<TLSSocket>()
    await using server = await rawServer((socket) => {
      socket.once('readable', () => onPreface(socket))
    })
    const origin = `https://127.0.0.1:${server.port}`
    const connector = buildConnector({ ca: CA, allowH2: true, preferH2: true })
    const parts = { origin, connect: connector, unshared: new Agent() }
    const shared = new SharedConnections(parts, DEFAULT_CONNECTIONS)
    const answer = shared.request({ origin, path: '/a', method: 'GET' })
    const socket = await preface
    const closing = shared.close()
    performServerHandshake(socket).on('stream', (stream) => {
      stream.respond()
      stream.end()
    })
    equal((await answer).statusCode, 200)
    await closing
  })

  test('go on over the same one when a token changes', async () => {
    await using server = await serving()
    server.statusOf = (headers) => (headers['authorization'] === 'Bearer new' ? 200 : 401)
    let isNew = false
    const provider = async (afresh: boolean): Promise<Credentials> => {
      isNew ||= afresh
      return { headers: { authorization: isNew ? 'Bearer new' : 'Bearer old' }, tls: { ca: CA } }
    }
    await using exchange = openUndiciExchange(contextOf(server, provider))
    const watching = await watch(exchange, '/a')
    deepEqual([watching.status, server.watches.length, server.connections], [200, 2, 1])
  })

  test('go on to their end over the old one when a client certificate changes', async () => {
    await using server = await demanding()
    await using exchange = openUndiciExchange(contextOf(server, rotating()))
    const old = await watch(exchange, '/open')
    const [oldSocket] = server.sockets
    const fresh = await watch(exchange, '/closed')
    deepEqual([fresh.status, server.connections], [200, 2])
    server.watches[0]!.stream.end('to its end')
    equal(await textOf(old), 'to its end')
    if (!oldSocket!.destroyed) await once(oldSocket!, 'close')
  })

  test('end over the old one, too, when the exchange is closed, also behind a proxy', async () => {
    for (const isBehind of [false, true]) {
      await using server = await demanding()
      await using proxy = await tunnel()
      const context = contextOf(server, rotating())
      const exchange = openUndiciExchange({ ...context, proxyUrl: isBehind ? proxy.url : null })
      const old = await watch(exchange, '/open')
      const fresh = await watch(exchange, '/closed')
      equal(server.connections, 2)
      const cut = [old, fresh].map((it) => rejects(textOf(it), hasCode('CUT')))
      await exchange[Symbol.asyncDispose]()
      await Promise.all(cut)
    }
  })
})

const GET: ExchangeRequest = { method: 'GET', path: '/', headers: {}, body: null, purpose: 'watch' }

/** Anonymous until the server refuses it, with a client certificate then. */
function rotating(): ClusterContext['credentials'] {
  let isNew = false
  return async (afresh) => {
    isNew ||= afresh
    return { headers: {}, tls: isNew ? { ca: CA, ...CLIENT_KEYS } : { ca: CA } }
  }
}

/** A server that asks for a client certificate but for `/open`. */
async function demanding(): Promise<Serving> {
  const server = await serving({ requestCert: true, rejectUnauthorized: false, ca: CA })
  server.statusOf = (headers, { authorized }) =>
    authorized || headers[':path'] === '/open' ? 200 : 401
  return server
}

type Options = NonNullable<Parameters<typeof openUndiciExchange>[1]>

function opened(
  server: Pick<Listening, 'port'>,
  options: Options = {},
  more: Partial<ClusterContext> = {},
): Exchange {
  const context = contextOf(server, async () => ({ headers: {}, tls: { ca: CA } }))
  return openUndiciExchange({ ...context, ...more }, options)
}

function contextOf(
  { port }: Pick<Listening, 'port'>,
  credentials: ClusterContext['credentials'],
): ClusterContext {
  return { name: 'test', server: `https://127.0.0.1:${port}`, proxyUrl: null, credentials }
}

async function watch(
  exchange: Exchange,
  path: string,
  signal: AbortSignal = deadline(),
): Promise<ExchangeResponse> {
  return await exchange.request({ ...GET, path }, signal)
}

function deadline(): AbortSignal {
  return AbortSignal.timeout(DEADLINE_MS)
}

function hasCode(code: string, message: RegExp = /./): (error: unknown) => boolean {
  return (error) => {
    ok(error instanceof ExchangeError, String(error))
    equal(error.code, code)
    match(error.message, message)
    return true
  }
}

async function bytesOf({ body }: ExchangeResponse): Promise<number> {
  let bytes = 0
  for await (const chunk of body) bytes += chunk.byteLength
  return bytes
}

interface Flood {
  /** As the stream takes them. */
  readonly written: number
  readonly done: Promise<void>
}

function pour(stream: ServerHttp2Stream, total: number): Flood {
  const piece = Buffer.alloc(64 * 1024, 'a')
  const flood = { written: 0, done: Promise.resolve() }
  const work = async (): Promise<void> => {
    while (flood.written < total) {
      flood.written += piece.byteLength
      if (!stream.write(piece)) await once(stream, 'drain')
    }
    stream.end()
  }
  flood.done = work()
  return flood
}

type Headers = Readonly<Record<string, unknown>>

interface Connected {
  readonly session: ServerHttp2Session
  readonly tls: TLSSocket
  readonly tcp: Socket
}

interface Serving extends Listening {
  /** In the order in which they came. */
  readonly watches: readonly { readonly path: string; readonly stream: ServerHttp2Stream }[]
  readonly sessions: readonly ServerHttp2Session[]
  readonly sockets: readonly TLSSocket[]
  /** Below those. */
  readonly tcpSockets: readonly Socket[]
  statusOf: (headers: Headers, socket: TLSSocket) => number
}

/** Answers each watch with its head, but those of `silent`; `onPlain` for what is HTTP/1.1. */
async function serving(
  options: SecureServerOptions = {},
  onPlain: (version: string) => void = () => undefined,
  silent: readonly string[] = [],
): Promise<Serving> {
  const server = createSecureServer({ ...SERVER_KEYS, allowHTTP1: true, ...options })
  const watches: { path: string; stream: ServerHttp2Stream }[] = []
  const sessions: ServerHttp2Session[] = []
  const sockets: TLSSocket[] = []
  const tcpSockets: Socket[] = []
  server.on('connection', (socket) => tcpSockets.push(socket))
  const hooks: Pick<Serving, 'statusOf'> = { statusOf: () => 200 }
  server.on('secureConnection', (socket: TLSSocket) => {
    if (socket.alpnProtocol === 'h2') sockets.push(socket)
  })
  server.on('session', (session) => {
    sessions.push(session)
    session.on('error', () => undefined)
  })
  server.on('stream', (stream, headers) => {
    const path = headers[':path'] ?? ''
    stream.on('error', () => undefined)
    watches.push({ path, stream })
    if (silent.includes(path)) return
    const status = hooks.statusOf(headers, stream.session!.socket as TLSSocket)
    stream.respond({ ':status': status, 'content-type': 'application/json' })
    if (status !== 200) stream.end('{}')
  })
  server.on('request', (request, response) => {
    if (request.httpVersion === '2.0') return
    onPlain(request.httpVersion)
    response.end('{}')
  })
  const it = await listening(server, 'secureConnection')
  const own = Object.assign(hooks, { watches, sessions, sockets, tcpSockets })
  return Object.defineProperties(own, Object.getOwnPropertyDescriptors(it)) as typeof own &
    Listening
}

/** Agrees to HTTP/2, and may do anything then. */
async function rawServer(accept: (socket: TLSSocket) => void): Promise<Listening> {
  const options = { ...SERVER_KEYS, ALPNProtocols: ['h2'], allowHalfOpen: true }
  const server = createRawTlsServer(options, (socket) => {
    socket.on('error', () => undefined)
    accept(socket)
  })
  return await listening(server, 'secureConnection')
}
