/**
 * A new connection is always taken: the longest idle one makes room for it, and a client that does
 * not read its answer is cut.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import {
  createServer,
  get,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createSecureServer, get as getSecurely } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { connect as connectSecurely } from 'node:tls'
import { ManualClock } from '../../adapters/memory/clock.ts'
import { eventually } from '../../testing/eventually.ts'
import { issue, makeAuthority } from '../../testing/kafka/certificates.ts'
import { Connections, STALLED_MS } from './connections.ts'

const MOST = 8

interface Rig {
  readonly port: number
  readonly connections: Connections
  readonly clock: ManualClock
  /** Answers that were begun and never end. */
  readonly held: ServerResponse[]
  open(request?: string): Promise<Socket>
  status(path: string): Promise<number | undefined>
}

const folder = await mkdtemp(join(tmpdir(), 'kinfold-connections-'))
after(async () => await rm(folder, { recursive: true }))
const authority = await makeAuthority(folder, 'authority')
const { certificateFile, keyFile } = await issue(authority, 'endpoint', 'broker')
const ca = readFileSync(authority.certificateFile)
const pair = { cert: readFileSync(certificateFile), key: readFileSync(keyFile) }

type Scheme = 'http' | 'https'
const SCHEMES: readonly Scheme[] = ['http', 'https']

async function rigFor(t: TestContext, scheme: Scheme): Promise<Rig> {
  const isSecure = scheme === 'https'
  const clock = new ManualClock()
  const held: ServerResponse[] = []
  const answer: RequestListener = (request, response) => {
    if (request.url === '/livez') return response.end('ok')
    response.writeHead(200).write('begun')
    held.push(response)
    return undefined
  }
  const server: Server = isSecure ? createSecureServer(pair, answer) : createServer(answer)
  const connections = new Connections(server, clock, MOST)
  const stop = new AbortController()
  const running = connections.run(stop.signal)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const sockets: Socket[] = []
  t.after(async () => {
    for (const socket of sockets) socket.destroy()
    stop.abort()
    await running
    server.close()
  })
  return {
    port,
    connections,
    clock,
    held,
    async open(request) {
      const accepted = once(server, isSecure ? 'secureConnection' : 'connection')
      const to = { port, host: '127.0.0.1' }
      const socket = isSecure ? connectSecurely({ ...to, ca }) : connect(to)
      socket.on('error', () => undefined)
      sockets.push(socket)
      await accepted
      if (request === undefined) return socket
      const before = held.length
      socket.write(`GET ${request} HTTP/1.1\r\nhost: x\r\n\r\n`)
      await eventually('it is asked', async () => held.length > before)
      return socket
    },
    async status(path) {
      const to = { port, host: '127.0.0.1', path, agent: false } as const
      const asked = isSecure ? getSecurely({ ...to, ca }) : get(to)
      const [response] = await once(asked, 'response')
      response.resume()
      return response.statusCode
    },
  }
}

for (const scheme of SCHEMES) {
  test(`beyond the bound the one that has been idle for longest makes room, and no request under way, over ${scheme}`, async (t) => {
    const { open, status, connections } = await rigFor(t, scheme)
    const busy = await open('/stream')
    const idle: Socket[] = []
    while (idle.length < MOST - 1) idle.push(await open())
    equal(connections.counts().open, MOST)
    const gone = idle.slice(0, 2).map((socket) => once(socket, 'close'))
    await open()
    await open()
    await Promise.all(gone)
    equal(await status('/livez'), 200)
    ok(!busy.destroyed)
    deepEqual(
      idle.map(({ destroyed }) => destroyed),
      [true, true, true, false, false, false, false],
    )
    equal(connections.counts().crowded, 3)
  })
}

for (const scheme of SCHEMES) {
  test(`where all are asked something, the oldest request makes room for a probe, over ${scheme}`, async (t) => {
    const { open, status, connections } = await rigFor(t, scheme)
    const busy: Socket[] = []
    while (busy.length < MOST) busy.push((await open('/stream')).resume())
    equal(await status('/livez'), 200)
    await eventually('one of them is closed', async () => busy.some(({ destroyed }) => destroyed))
    deepEqual(
      busy.map(({ destroyed }) => destroyed),
      [true, ...Array.from({ length: MOST - 1 }, () => false)],
    )
    equal(connections.counts().open <= MOST, true)
  })
}

for (const scheme of SCHEMES) {
  test(`a reader that takes nothing for so long is cut, and one with nothing to read is not, over ${scheme}`, async (t) => {
    const { open, held, clock, connections } = await rigFor(t, scheme)
    const reader = await open('/quiet')
    reader.resume()
    const stalled = await open('/stream')
    // More than any system takes.
    held[1]?.write(Buffer.alloc(64 * 1024 * 1024))
    const cut = once(stalled, 'close')
    await clock.advance(STALLED_MS - 1)
    equal(connections.counts().stalled, 0)
    await clock.advance(10_000)
    equal(connections.counts().stalled, 1)
    stalled.resume()
    await cut
    ok(!reader.destroyed)
  })
}

test('who does not begin TLS makes room as any that is idle', async (t) => {
  const { port, status, connections } = await rigFor(t, 'https')
  const silent: Socket[] = []
  t.after(() => {
    for (const socket of silent) socket.destroy()
  })
  while (silent.length < MOST + 3) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    silent.push(socket)
    await once(socket, 'connect')
  }
  equal(await status('/livez'), 200)
  await eventually('the oldest are closed', async () => silent[3]?.destroyed === true)
  equal(connections.counts().open <= MOST, true)
})
