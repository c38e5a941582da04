/**
 * The endpoint while one client takes all that it gives: streams that are not read, connections
 * that send nothing. Probes, questions with their rights and orders are answered as before, and no
 * turn of the process is longer for it.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { MemoryLog } from '../../adapters/memory/log.ts'
import type { Codec } from '../../ports/record/codec.ts'
import { systemClock } from '../../runtime/clock.ts'
import { passed } from '../../runtime/health.ts'
import { MOST_CONNECTIONS } from '../../runtime/http/connections.ts'
import { type Served, serveEndpoint } from '../../runtime/http/endpoint.ts'
import { openToken } from '../../runtime/http/http-token.ts'
import { MOST_STREAMS } from '../../runtime/shares/streams.ts'
import { eventually } from '../../testing/eventually.ts'
import { indexOver } from '../../testing/rig/index-rig.ts'
import {
  appendAll,
  assign,
  codec,
  emptyStore,
  eventsOf,
  runTask,
} from '../../testing/rig/task-rig.ts'
import { TURN_MS } from './config.ts'
import { addGraphRoutes } from './http.ts'
import { createQuestions } from './questions.ts'

const STORY = ['put rs/web', 'put pod/a <- rs/web']
const TOKEN = 'a-token-for-this-test'
/** Of one client. */
const SHARE = MOST_STREAMS
/** Of history, so many that no stream has sent all before the next one is asked for. */
const RECORDS = 200

interface Rig {
  readonly served: Served
  /** Records read for streams, by the turn of the event loop. */
  readonly turns: ReadonlyMap<number, number>
  read(): number
  ask(path: string, init?: RequestInit): Promise<Response>
  /** Sends this and reads nothing. */
  open(text: string): Promise<Socket>
}

/** Reading a record takes a millisecond of the stream's own clock. */
async function rigFor(t: TestContext): Promise<Rig> {
  const clock = systemClock()
  const log = new MemoryLog({ partitions: 1, clock })
  await assign(log)
  await appendAll(log, eventsOf(STORY))
  const running = runTask(log, emptyStore())
  await running.caughtUp()
  const index = indexOver(log, clock)
  const stop = new AbortController()
  const indexing = index.run(stop.signal)
  while ((await index.lagEntries()) > 0n) await setImmediate()
  const graph = { tasks: [running.task], owners: () => new Map<number, string>() }
  const { entries } = await log.read('history', 0, 0n, { limit: 1, waitMs: 0 })
  const { key = '', value = null } = entries[0] ?? {}
  await log.append(
    'history',
    0,
    Array.from({ length: RECORDS }, () => ({ key, value })),
  )
  let nowMs = 0
  let turn = 0
  let isOver = false
  const turns = new Map<number, number>()
  const ticking = (async () => {
    for (; !isOver; turn++) await setImmediate()
  })()
  const counting: Codec = {
    encode: (record) => codec.encode(record),
    decode(bytes) {
      nowMs += 1
      turns.set(turn, (turns.get(turn) ?? 0) + 1)
      return codec.decode(bytes)
    },
  }
  const folder = mkdtempSync(join(tmpdir(), 'pressure-'))
  const tokenFile = join(folder, 'token')
  writeFileSync(tokenFile, TOKEN)
  chmodSync(tokenFile, 0o600)
  const parts = createQuestions({ log, codec, clock, graph, index })
  const streaming = { ...parts, codec: counting, clock: { ...clock, monotonicMs: () => nowMs } }
  const served = await serveEndpoint(
    {
      add: (routes) => addGraphRoutes(routes, streaming),
      version: 'test',
      checks: () => [passed('task/0')],
      scrape: async () => 'kinfold_build_info 1\n',
    },
    { address: '127.0.0.1:0', token: openToken(tokenFile) },
  )
  const sockets: Socket[] = []
  t.after(async () => {
    isOver = true
    for (const socket of sockets) socket.destroy()
    await served.server.close()
    await ticking
    stop.abort()
    await indexing
    await running[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true })
  })
  const { hostname, port } = new URL(served.url)
  return {
    served,
    turns,
    read: () => [...turns.values()].reduce((sum, count) => sum + count, 0),
    ask: async (path, init = {}) =>
      await fetch(served.url + path, {
        ...init,
        headers: { ...init.headers, authorization: `Bearer ${TOKEN}`, connection: 'close' },
      }),
    async open(text) {
      const socket = connect(Number(port), hostname)
      socket.on('error', () => undefined)
      sockets.push(socket)
      await once(socket, 'connect')
      socket.write(text)
      return socket
    },
  }
}

const STREAM = `GET /v1/history?follow=true HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TOKEN}\r\n\r\n`

test('300 streams that nobody reads and 1,100 connections that send nothing stop no probe, no question and no order', async (t) => {
  const { served, turns, read, ask, open } = await rigFor(t)
  for (let count = 0; count < 300; count++) await open(STREAM)
  await eventually('as many streams are open as one client may have', async () => {
    return served.status().streams === SHARE || `${served.status().streams} are`
  })
  // Probes are answered in the middle of it.
  equal((await ask('/livez')).status, 200)
  ok(read() < SHARE * RECORDS, 'the streams were sent all before a probe was answered')

  for (let count = 0; count < 1_100; count++) await open('')
  equal((await ask('/livez')).status, 200)
  equal((await ask('/readyz')).status, 200)
  equal((await ask('/v1/why?uid=pod-a')).status, 200)
  equal((await fetch(`${served.url}/v1/why?uid=pod-a`)).status, 401)
  const init = { method: 'POST', headers: { 'content-type': 'application/json' } }
  const body = JSON.stringify({ verb: 'pause', why: 'test', claimed: 'ann' })
  const ordered = await ask('/v1/directives', { ...init, body })
  equal(ordered.status, 200, await ordered.text())

  const { streams, connections } = served.status()
  equal(streams, SHARE)
  ok(connections.open <= MOST_CONNECTIONS)
  ok(connections.crowded >= 300)
  await eventually('all of it is sent', async () => read() >= SHARE * RECORDS)
  ok(Math.max(...turns.values()) <= 2 * TURN_MS, `${Math.max(...turns.values())} in one turn`)
})

test('a stream beyond those is told to come again, and takes the place of one that has ended', async (t) => {
  const { served, ask, open } = await rigFor(t)
  const streams: Socket[] = []
  while (streams.length < SHARE) streams.push(await open(STREAM))
  await eventually('they are open', async () => served.status().streams === SHARE)
  for (const path of ['/v1/lineage', '/v1/history?follow=true', '/debug/graph']) {
    const refused = await ask(path)
    deepEqual([refused.status, refused.headers.get('retry-after')], [429, '30'], path)
    match(await refused.text(), /all 64 streams are open, and no other client has more of them/)
  }
  equal((await ask('/v1/tree?uid=pod-a')).status, 200)
  streams[0]?.destroy()
  await eventually('there is room', async () => served.status().streams < SHARE)
  const again = await ask('/v1/history')
  equal(again.status, 200)
  equal((await again.text()).trimEnd().split('\n').length > RECORDS, true)
})
