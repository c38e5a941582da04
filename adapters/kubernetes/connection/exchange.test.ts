/**
 * Shows the Exchange over undici on real sockets: connections kept and bounded, credentials, TLS,
 * and the code of each kind of failure.
 *
 * What must stay true: servers here are scripted, not Kinfold's. The contract runs in
 * cluster.cluster.test.ts, where there is an API server.
 */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createTlsServer, type ServerOptions } from 'node:https'
import { createServer as createTcpServer, type Socket } from 'node:net'
import { text as textFrom } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { type Exchange, ExchangeError, type ExchangeRequest } from '../../../ports/exchange.ts'
import { type Listening, listening, tunnel } from '../../../testing/process/listening.ts'
import { textOf } from '../call.ts'
import type { ConnectionOptions } from './connections.ts'
import { openUndiciExchange } from './exchange.ts'
import type { ClusterContext, Credentials, TlsOptions } from './kubeconfig.ts'

const pem = (name: string) => readFileSync(new URL(`../test-certificates/${name}`, import.meta.url))
const CA = pem('ca.crt')
const SERVER_KEYS = { cert: pem('server.crt'), key: pem('server.key') }
const CLIENT_KEYS = { cert: pem('client.crt'), key: pem('client.key') }
const DEADLINE_MS = 20_000

describe('the undici exchange', () => {
  test('keeps its connections, after DELETEs with a body too', async () => {
    await using server = await tlsServer((_, response) => response.end('{}'))
    await using exchange = opened(server)
    for (let i = 0; i < 50; i++) equal(await text(exchange, DELETE), '{}')
    // The next request leaves a moment before the connection of the last one counts as free.
    ok(server.connections <= 2, `${server.connections} connections`)
  })

  test('bounds the connections of writes, and lets the others wait', async () => {
    await using server = await tlsServer((_, response) => response.end('{}'))
    await using exchange = opened(server, { options: { writeConnections: 4 } })
    const answers = await Promise.all(Array.from({ length: 200 }, () => text(exchange, DELETE)))
    ok(answers.every((it) => it === '{}'))
    ok(server.connections <= 4, `${server.connections} connections`)
  })

  test('sends method, path, headers and body as they are, below the path of the server', async () => {
    await using server = await tlsServer(async (request, response) => {
      const { method, url, headers } = request
      const { authorization, accept } = headers
      response.end(JSON.stringify([method, url, authorization, accept, await textFrom(request)]))
    })
    const headers = { authorization: 'Bearer t' }
    await using exchange = opened(server, { headers, path: '/k8s/clusters/c-1/' })
    const path = '/api/v1/Upper%3ACase?a=b%2Fc'
    const request = { ...DELETE, path, headers: { accept: 'application/json' }, body: '{"ü":1}' }
    deepEqual(JSON.parse(await text(exchange, request)), [
      ...['DELETE', `/k8s/clusters/c-1${path}`, 'Bearer t', 'application/json', '{"ü":1}'],
    ])
  })

  test('lets no looks hold up a write, however many wait for connections', async () => {
    const held: ServerResponse[] = []
    await using server = await tlsServer((request, response) => {
      if (request.method === 'GET') held.push(response)
      else response.end('{}')
    })
    await using exchange = opened(server, { options: { readConnections: 1, writeConnections: 1 } })
    const looks = Array.from({ length: 3 }, () => text(exchange, { ...GET, purpose: 'read' }))
    equal(await text(exchange, DELETE), '{}')
    for (const _ of looks) {
      while (held.length === 0) await text(exchange, DELETE)
      held.shift()?.end('{}')
    }
    deepEqual(await Promise.all(looks), ['{}', '{}', '{}'])
  })

  test('confirms a list over no connection that lists come over (F14)', async () => {
    const sockets: unknown[] = []
    await using server = await tlsServer((request, response) => {
      sockets.push(request.socket)
      response.end('{}')
    })
    await using exchange = opened(server, { options: { listConnections: 1 } })
    for (const purpose of ['list', 'list', 'confirm'] as const) {
      equal(await text(exchange, { ...GET, purpose }), '{}')
    }
    deepEqual(
      sockets.map((socket) => sockets.indexOf(socket)),
      [0, 0, 2],
    )
  })

  test('lets no slow list hold up a write', async () => {
    const held: ServerResponse[] = []
    await using server = await tlsServer((request, response) => {
      if (request.method === 'GET') held.push(response)
      else response.end('{}')
    })
    await using exchange = opened(server, { options: { listConnections: 1, writeConnections: 1 } })
    const lists = [
      text(exchange, { ...GET, purpose: 'list' }),
      text(exchange, { ...GET, purpose: 'list' }),
    ]
    equal(await text(exchange, DELETE), '{}')
    for (const _ of lists) {
      while (held.length === 0) await text(exchange, DELETE)
      held.shift()?.end('{}')
    }
    deepEqual(await Promise.all(lists), ['{}', '{}'])
  })

  test('lets a watch be silent for longer than a list may be', async () => {
    const watches: ServerResponse[] = []
    await using server = await tlsServer((request, response) => {
      response.write('1')
      if (request.url === '/watch') watches.push(response)
    })
    await using exchange = opened(server, { options: { bodyTimeoutMs: 100 } })
    const watch = await exchange.request({ ...GET, path: '/watch', purpose: 'watch' }, deadline())
    await rejects(text(exchange, { ...GET, purpose: 'list' }), hasCode('TIMEOUT'))
    watches[0]?.end('2')
    equal(await textOf(watch), '12')
  })

  test('reads no faster than its reader', async () => {
    const total = 64 * 1024 * 1024
    let written = 0
    await using server = await tlsServer(async (request, response) => {
      if (request.method === 'DELETE') return response.end('{}')
      const piece = Buffer.alloc(64 * 1024, 'a')
      while (written < total) {
        written += piece.byteLength
        if (!response.write(piece)) await once(response, 'drain')
      }
      return response.end()
    })
    await using exchange = opened(server)
    const { body } = await exchange.request({ ...GET, purpose: 'list' }, deadline())
    // It has stopped once it makes no progress over many other requests.
    let before = -1
    for (let still = 0; still < 100 && written < total; before = written) {
      await text(exchange, DELETE)
      still = written === before ? still + 1 : 0
    }
    ok(written < total / 2, `${written} bytes were taken`)
    let read = 0
    for await (const chunk of body) read += chunk.byteLength
    equal(read, total)
  })

  test('never sends what was given up while it waited its turn', async () => {
    const seen: string[] = []
    const held: ServerResponse[] = []
    await using server = await tlsServer((request, response) => {
      seen.push(request.url ?? '')
      if (request.url === '/first') held.push(response)
      else response.end('{}')
    })
    await using exchange = opened(server, { options: { writeConnections: 1 } })
    const first = text(exchange, { ...DELETE, path: '/first' })
    while (held.length === 0) await text(exchange, { ...GET, purpose: 'list' })
    const stop = new AbortController()
    const second = exchange.request({ ...DELETE, path: '/second' }, stop.signal)
    const third = text(exchange, { ...DELETE, path: '/third' })
    stop.abort(new Error('enough'))
    await rejects(second, /enough/)
    held[0]?.end('{}')
    deepEqual(await Promise.all([first, third]), ['{}', '{}'])
    deepEqual(
      seen.filter((it) => it !== GET.path),
      ['/first', '/third'],
    )
  })

  test('passes a proxy', async () => {
    await using server = await tlsServer((_, response) => response.end('{}'))
    await using proxy = await tunnel()
    await using exchange = opened(server, { proxyUrl: proxy.url })
    for (let i = 0; i < 10; i++) equal(await text(exchange, DELETE), '{}')
    equal(proxy.tunnels, server.connections)
    ok(proxy.tunnels <= 2, `${proxy.tunnels} tunnels`)
  })
})

describe('the undici exchange shows itself', () => {
  test('by a client certificate', async () => {
    const options = { requestCert: true, rejectUnauthorized: true, ca: CA }
    await using server = await tlsServer((request, response) => {
      const { subject } = (request.socket as TLSSocket).getPeerCertificate()
      response.end(subject.CN)
    }, options)
    await using exchange = opened(server, { tls: { ca: CA, ...CLIENT_KEYS } })
    equal(await text(exchange, GET), 'kinfold test client')
  })

  test('by credentials read afresh after a 401 to a read, once', async () => {
    const seen: (string | undefined)[] = []
    await using server = await tlsServer((request, response) => {
      seen.push(request.headers.authorization)
      response.writeHead(request.headers.authorization === 'Bearer new' ? 200 : 401).end('{}')
    })
    const asked: boolean[] = []
    const provider = async (afresh: boolean) => {
      asked.push(afresh)
      const authorization = asked.includes(true) ? 'Bearer new' : 'Bearer old'
      return { headers: { authorization }, tls: { ca: CA } }
    }
    await using exchange = openUndiciExchange(contextOf(server, provider))
    const answers = await Promise.all([1, 2].map(() => exchange.request(GET, deadline())))
    deepEqual(
      answers.map(({ status }) => status),
      [200, 200],
    )
    deepEqual(asked, [false, true])
    deepEqual(seen.toSorted(), ['Bearer new', 'Bearer new', 'Bearer old', 'Bearer old'])
  })

  test('no second time if nothing is new', async () => {
    let requests = 0
    await using server = await tlsServer((_, response) => {
      requests++
      response.writeHead(401).end('no')
    })
    await using exchange = opened(server)
    const answer = await exchange.request(GET, deadline())
    deepEqual([answer.status, await textOf(answer), requests], [401, 'no', 1])
  })

  test('over new connections when a client certificate changes', async () => {
    await using server = await tlsServer(
      (request, response) => {
        const { subject } = (request.socket as TLSSocket).getPeerCertificate()
        response.writeHead(subject ? 200 : 401).end('{}')
      },
      { requestCert: true, rejectUnauthorized: false, ca: CA },
    )
    const provider = async (afresh: boolean): Promise<Credentials> => {
      return { headers: {}, tls: afresh ? { ca: CA, ...CLIENT_KEYS } : { ca: CA } }
    }
    await using exchange = openUndiciExchange(contextOf(server, provider))
    const answer = await exchange.request(GET, deadline())
    deepEqual([answer.status, await textOf(answer), server.connections], [200, '{}', 2])
  })

  test('not at all without credentials', async () => {
    const provider = async () => {
      throw new Error('exec: no such plugin\nand much more')
    }
    await using server = await tlsServer((_, response) => response.end('{}'))
    await using exchange = openUndiciExchange(contextOf(server, provider))
    await rejects(text(exchange, GET), hasCode('CREDENTIALS', /"test".*no such plugin\)/))
    equal(server.connections, 0)
  })

  test('not at all with a certificate that is none', async () => {
    await using server = await tlsServer((_, response) => response.end('{}'))
    await using exchange = opened(server, { tls: { ca: CA, cert: 'none', key: 'none' } })
    await rejects(text(exchange, GET), hasCode('CREDENTIALS'))
  })
})

describe('the undici exchange trusts', () => {
  const rows: [string, TlsOptions, string, string | undefined][] = [
    ['an authority it is given', { ca: CA }, '127.0.0.1', undefined],
    ['none that it does not know', {}, '127.0.0.1', 'UNTRUSTED'],
    ['no other name', { ca: CA, servername: 'api.example.org' }, '127.0.0.1', 'UNTRUSTED'],
    ['a name it is told', { ca: CA, servername: 'api.example.com' }, '127.0.0.1', undefined],
    ['anybody if told so', { rejectUnauthorized: false }, '127.0.0.1', undefined],
    ['the name in the URL', { ca: CA }, 'localhost', undefined],
  ]
  for (const [what, tls, host, code] of rows) {
    test(what, async () => {
      await using server = await tlsServer((_, response) => response.end('{}'))
      await using exchange = opened(server, { tls, host })
      // Side by side: none may wait for a connection that never comes.
      const requests = [GET, DELETE, { ...GET, purpose: 'watch' } as const]
      const sending = Promise.allSettled(requests.map((request) => text(exchange, request)))
      for (const result of await sending) {
        const reason = result.status === 'rejected' ? result.reason : undefined
        equal(reason instanceof ExchangeError ? reason.code : reason, code)
      }
    })
  }
})

describe('the undici exchange breaks', () => {
  test('as UNREACHABLE where nobody listens', async () => {
    const server = await tlsServer(() => {})
    await using exchange = opened(server)
    await server[Symbol.asyncDispose]()
    await rejects(text(exchange, DELETE), hasCode('UNREACHABLE', /ECONNREFUSED/))
  })

  test('as UNREACHABLE where somebody speaks no TLS', async () => {
    await using server = await rawServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    await using exchange = opened(server)
    await rejects(text(exchange, DELETE), hasCode('UNREACHABLE'))
  })

  test('as UNREACHABLE where a connection ends before it is one', async () => {
    await using server = await rawServer((socket) => socket.destroy())
    await using exchange = opened(server)
    await rejects(text(exchange, DELETE), hasCode('UNREACHABLE'))
  })

  test('as CUT where the request is taken and no answer comes', async () => {
    let requests = 0
    await using server = await tlsServer((request) => {
      requests++
      request.socket.destroy()
    })
    await using exchange = opened(server)
    for (const request of [DELETE, GET]) await rejects(text(exchange, request), hasCode('CUT'))
    equal(requests, 2, 'each was sent once')
  })

  for (const [how, head] of [
    ['in its length', { 'content-length': '100' }],
    ['between chunks', {}],
  ] as const) {
    test(`as CUT where the answer ends ${how}`, async () => {
      await using server = await tlsServer((request, response) => {
        response.writeHead(200, head)
        response.write('{"half":', () => request.socket.destroySoon())
      })
      await using exchange = opened(server)
      const { status, body } = await exchange.request(GET, deadline())
      equal(status, 200)
      await rejects(Array.fromAsync(body), hasCode('CUT'))
    })
  }

  test('as TIMEOUT where no head comes', async () => {
    await using server = await tlsServer(() => {})
    await using exchange = opened(server, { options: { headersTimeoutMs: 100 } })
    await rejects(text(exchange, DELETE), hasCode('TIMEOUT'))
  })

  test('as TIMEOUT where a byte comes now and then, and never the last one', async () => {
    await using server = await tlsServer((_, response) => {
      const timer = setInterval(() => response.write('1'), 10)
      response.on('close', () => clearInterval(timer))
    })
    await using exchange = opened(server, { options: { answerTimeoutMs: 300 } })
    await rejects(text(exchange, { ...GET, purpose: 'list' }), hasCode('TIMEOUT'))
    const watch = await exchange.request({ ...GET, purpose: 'watch' }, deadline())
    let bytes = 0
    for await (const chunk of watch.body) {
      bytes += chunk.byteLength
      if (bytes >= 60) break
    }
    ok(bytes >= 60, 'a watch has no such limit once it has begun')
  })

  for (const purpose of ['list', 'confirm', 'read', 'write'] as const) {
    test(`as UNREACHABLE what waits behind a server that is silent (${purpose})`, async () => {
      // One connection there is: once the first request gave up, the second must not be sent by
      // another.
      await using server = await tlsServer(() => server.refuse())
      const one = { listConnections: 1, readConnections: 1, writeConnections: 1 }
      await using exchange = opened(server, { options: { ...one, answerTimeoutMs: 200 } })
      const asked = { ...GET, purpose }
      const first = rejects(text(exchange, asked), hasCode('TIMEOUT', /did not answer within/))
      const second = rejects(text(exchange, asked), hasCode('UNREACHABLE'))
      await Promise.all([first, second])
    })
  }

  test('as UNREACHABLE where a proxy accepts connections and says nothing', async () => {
    await using proxy = await rawServer(() => {})
    const proxyUrl = `http://127.0.0.1:${proxy.port}`
    const options = { answerTimeoutMs: 200 }
    await using exchange = opened(proxy, { proxyUrl, options })
    for (const purpose of ['list', 'watch', 'write'] as const) {
      await rejects(text(exchange, { ...GET, purpose }), hasCode('UNREACHABLE'))
    }
  })

  test('as CUT what is in flight when it is closed', async () => {
    const arrived = Promise.withResolvers<void>()
    await using server = await tlsServer(() => arrived.resolve())
    const exchange = opened(server)
    const sending = rejects(text(exchange, DELETE), hasCode('CUT'))
    await arrived.promise
    await exchange[Symbol.asyncDispose]()
    await sending
  })
})

const GET: ExchangeRequest = { method: 'GET', path: '/', headers: {}, body: null, purpose: 'write' }
const DELETE: ExchangeRequest = {
  ...GET,
  method: 'DELETE',
  path: '/one',
  body: '{"kind":"DeleteOptions"}',
}

interface Opening {
  readonly options?: Partial<ConnectionOptions>
  readonly tls?: TlsOptions
  readonly headers?: Readonly<Record<string, string>>
  readonly host?: string
  readonly path?: string
  readonly proxyUrl?: string
}

function opened(server: Listening, opening: Opening = {}): Exchange {
  const credentials = { headers: opening.headers ?? {}, tls: opening.tls ?? { ca: CA } }
  const context = contextOf(server, async () => credentials, opening)
  return openUndiciExchange(context, opening.options)
}

function contextOf(
  { port }: Listening,
  credentials: ClusterContext['credentials'],
  { host = '127.0.0.1', path = '', proxyUrl }: Opening = {},
): ClusterContext {
  const server = `https://${host}:${port}${path}`
  return { name: 'test', server, proxyUrl: proxyUrl ?? null, credentials }
}

async function text(exchange: Exchange, request: ExchangeRequest): Promise<string> {
  return await textOf(await exchange.request(request, deadline()))
}

function deadline(): AbortSignal {
  return AbortSignal.timeout(DEADLINE_MS)
}

function hasCode(code: string, message: RegExp = /./): (error: unknown) => boolean {
  return (error) => {
    ok(error instanceof ExchangeError)
    equal(error.code, code)
    match(error.message, message)
    return true
  }
}

async function tlsServer(
  listener: (request: IncomingMessage, response: ServerResponse) => unknown,
  options: ServerOptions = {},
): Promise<Listening> {
  return await listening(
    createTlsServer({ ...SERVER_KEYS, ...options }, listener),
    'secureConnection',
  )
}

async function rawServer(accept: (socket: Socket) => void): Promise<Listening> {
  return await listening(
    createTcpServer((socket) => {
      socket.on('error', () => {})
      accept(socket)
    }),
    'connection',
  )
}
