/**
 * A graph service over a log in memory, with the clock in the hand of the test: a story a minute,
 * so that each moment can be named.
 *
 * What must stay true: what answers is put together as in a running service; answers are compared
 * with the document of the endpoint.
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
import type { HistoryIndex } from '../../services/graph/query/index/history-index.ts'
import { createQuestions } from '../../services/graph/questions.ts'
import { checked } from '../answer-check.ts'
import { World } from '../model/story.ts'
import { indexOver } from './index-rig.ts'
import { appendAll, assign, codec, emptyStore, runTask } from './task-rig.ts'

const START = Date.parse('2026-01-31T09:00:00Z')
const MINUTE_MS = 60_000

type RunningTask = ReturnType<typeof runTask>

interface RigParts {
  readonly story: StoryLog
  readonly running: RunningTask
  /** Of histories. */
  readonly store: Store
  readonly index: HistoryIndex
  readonly url: string
}

export class MinuteRig {
  readonly log: MemoryLog
  /** The story so far. */
  readonly world: World
  readonly store: Store
  readonly index: HistoryIndex
  readonly url: string
  readonly #story: StoryLog
  readonly #running: RunningTask

  constructor({ story, running, store, index, url }: RigParts) {
    this.log = story.log
    this.world = story.world
    this.store = store
    this.index = index
    this.url = url
    this.#story = story
    this.#running = running
  }

  /** A minute passes, by which what events before that position changed is forgotten. */
  async forget(before: bigint): Promise<void> {
    const { task } = this.#running
    task.forgetBefore(before)
    while ((reachOf(task.store, codec)?.begin ?? 0) < Number(before)) {
      await this.#story.write('beat 1')
      await this.#running.caughtUp()
    }
  }

  /**
   * A minute passes, these lines of a story happen, and a heartbeat; answers with the append time
   * of the last of them.
   */
  async minute(...lines: readonly string[]): Promise<string> {
    const at = await this.#story.minute(lines)
    await this.#running.caughtUp()
    // On a busy machine one wait of a question's is not enough for thousands of entries.
    while ((await this.index.caughtUp()) > 0n);
    return new Date(at).toISOString()
  }

  async ask(path: string, init?: RequestInit): Promise<Response> {
    return await checked(this.url + path, await fetch(this.url + path, init))
  }

  async get<T>(path: string): Promise<T> {
    const response = await this.ask(path)
    const text = await response.text()
    equal(response.status, 200, `${path}: ${text}`)
    return JSON.parse(text) as T
  }

  async refused(path: string): Promise<{ readonly status: number; readonly detail: string }> {
    const response = await this.ask(path)
    const { detail } = (await response.json()) as { detail: string }
    return { status: response.status, detail }
  }
}

/** A story, and the log that its events are appended to, at the time that the test has. */
class StoryLog {
  readonly log: MemoryLog
  readonly world: World = new World()
  readonly #events: Event[] = []
  #now = START

  constructor() {
    const now = (): number => this.#now
    this.log = new MemoryLog({
      partitions: 1,
      clock: { ...systemClock(), now, monotonicMs: now },
    })
    const fold = this.world.tell.bind(this.world)
    this.world.tell = (event) => {
      this.#events.push(event)
      return fold(event)
    }
    this.world.begin()
  }

  async write(...lines: readonly string[]): Promise<void> {
    for (const line of lines) this.world.step(line)
    await appendAll(this.log, this.#events.splice(0))
  }

  /** Answers with the append time of the last line. */
  async minute(lines: readonly string[]): Promise<number> {
    const begin = this.#now + MINUTE_MS
    // Its watcher saw the cluster all the time.
    for (this.#now = begin - 40_000; this.#now < begin; this.#now += 10_000)
      await this.write('beat 1')
    await this.write(...lines)
    const at = this.#now
    this.#now += 1
    await this.write('beat 1')
    return at
  }
}

export async function rigged(t: Pick<TestContext, 'after'>): Promise<MinuteRig> {
  const clock = systemClock()
  const story = new StoryLog()
  const { log } = story
  await assign(log)
  const store = emptyStore()
  const running = runTask(log, emptyStore())
  const index = indexOver(log, clock, () => store)
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
  return new MinuteRig({ story, running, store, index, url })
}
