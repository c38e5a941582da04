/**
 * A graph service over a log in memory, with the clock in the hand of the test: a story a minute, so that each moment can be named.
 *
 * What must stay true: what answers is put together as in a running service; answers are compared with the document of the endpoint.
 */
import { equal } from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { MemoryLog } from '../../adapters/memory/log.ts'
import type { Event } from '../../core/model/event.ts'
import type { Store } from '../../ports/store.ts'
import { systemClock } from '../../runtime/clock.ts'
import { serveEndpoint } from '../../runtime/http/endpoint.ts'
import { reachOf } from '../../services/graph/fold/former/former-rows.ts'
import { addGraphRoutes } from '../../services/graph/http.ts'
import {
  createHistoryIndex,
  type HistoryIndex,
} from '../../services/graph/query/index/history-index.ts'
import { createQuestions } from '../../services/graph/questions.ts'
import { checked } from '../answer-check.ts'
import { World } from '../model/story.ts'
import { appendAll, assign, codec, emptyStore, runTask } from './task-rig.ts'

const START = Date.parse('2026-01-31T09:00:00Z')
const MINUTE_MS = 60_000

export interface MinuteRig {
  readonly log: MemoryLog
  readonly url: string
  readonly store: Store
  readonly index: HistoryIndex
  /** A minute passes, by which what events before that position changed is forgotten. */
  forget(before: bigint): Promise<void>
  /** A minute passes, these lines of a story happen, and a heartbeat; answers with the append time of the last of them. */
  minute(...lines: readonly string[]): Promise<string>
  /** The story so far. */
  readonly world: World
  ask(path: string, init?: RequestInit): Promise<Response>
  get<T>(path: string): Promise<T>
  refused(path: string): Promise<{ readonly status: number; readonly detail: string }>
}

export async function rigged(t: Pick<TestContext, 'after'>): Promise<MinuteRig> {
  const clock = systemClock()
  let now = START
  const log = new MemoryLog({
    partitions: 1,
    clock: { ...clock, now: () => now, monotonicMs: () => now },
  })
  const world = new World()
  const events: Event[] = []
  const fold = world.tell.bind(world)
  world.tell = (event) => {
    events.push(event)
    return fold(event)
  }
  world.begin()
  await assign(log)
  const store = emptyStore()
  const running = runTask(log, emptyStore())
  const index = createHistoryIndex(log, codec, clock, store)
  const stop = new AbortController()
  const indexing = index.run(stop.signal)
  const graph = { tasks: [running.task], owners: () => new Map<number, string>() }
  const parts = createQuestions({ log, codec, clock, graph, index })
  const { url, server } = await serveEndpoint(
    {
      add: (routes) => addGraphRoutes(routes, parts),
      version: 'test',
      checks: () => [],
      scrape: async () => '',
    },
    { address: '127.0.0.1:0' },
  )
  t.after(async () => {
    await server.close()
    stop.abort()
    await indexing
    await running[Symbol.asyncDispose]()
  })
  const ask = async (path: string, init?: RequestInit): Promise<Response> =>
    await checked(url + path, await fetch(url + path, init))
  return {
    log,
    url,
    store,
    world,
    index,
    async forget(before) {
      running.task.forgetBefore(before)
      const isForgotten = (): boolean =>
        (reachOf(running.task.store, codec)?.begin ?? 0) >= Number(before)
      while (!isForgotten()) {
        world.step('beat 1')
        await appendAll(log, events.splice(0))
        await running.caughtUp()
      }
    },
    async minute(...lines) {
      const begin = now + MINUTE_MS
      // Its watcher saw the cluster all the time.
      for (now = begin - 40_000; now < begin; now += 10_000) {
        world.step('beat 1')
        await appendAll(log, events.splice(0))
      }
      for (const line of lines) world.step(line)
      await appendAll(log, events.splice(0))
      const at = now
      now += 1
      world.step('beat 1')
      await appendAll(log, events.splice(0))
      await running.caughtUp()
      // On a busy machine one wait of a question's is not enough for thousands of entries.
      while ((await index.caughtUp()) > 0n);
      return new Date(at).toISOString()
    },
    ask,
    async get<T>(path: string): Promise<T> {
      const response = await ask(path)
      const text = await response.text()
      equal(response.status, 200, `${path}: ${text}`)
      return JSON.parse(text) as T
    },
    async refused(path) {
      const response = await ask(path)
      const { detail } = (await response.json()) as { detail: string }
      return { status: response.status, detail }
    },
  }
}
