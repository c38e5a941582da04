/** A new connection is always taken: the longest idle one makes room for it, and whoever does not read its answer is cut. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, get, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { ManualClock } from '../adapters/memory/clock.ts'
import { eventually } from '../testing/eventually.ts'
import { Connections, STALLED_MS } from './connections.ts'

const MOST = 8

interface Rig {
  readonly connections: Connections
  readonly clock: ManualClock
  /** Answers that were begun and never end. */
  readonly held: ServerResponse[]
  open(request?: string): Promise<Socket>
  status(path: string): Promise<number | undefined>
}

async function rigFor(t: TestContext): Promise<Rig> {
  const clock = new ManualClock()
  const held: ServerResponse[] = []
  const server: Server = createServer((request, response) => {
    if (request.url === '/livez') return response.end('ok')
    response.writeHead(200).write('begun')
    held.push(response)
    return undefined
  })
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
    connections,
    clock,
    held,
    async open(request) {
      const accepted = once(server, 'connection')
      const socket = connect(port, '127.0.0.1')
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
      const asked = get({ port, host: '127.0.0.1', path, agent: false })
      const [response] = await once(asked, 'response')
      response.resume()
      return response.statusCode
    },
  }
}

test('beyond the bound the one that has been idle for longest makes room, and no request under way', async (t) => {
  const { open, status, connections } = await rigFor(t)
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

test('where all are asked something, the oldest request makes room for a probe', async (t) => {
  const { open, status, connections } = await rigFor(t)
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

test('a reader that takes nothing for so long is cut, and one with nothing to read is not', async (t) => {
  const { open, held, clock, connections } = await rigFor(t)
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
