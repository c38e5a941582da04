/** Runs graph tasks in tests: a story's events on a log, a store, and the wait until all is folded. */
import { setImmediate } from 'node:timers/promises'
import { avroCodec } from '../adapters/avro/codec.ts'
import { MemoryStore } from '../adapters/memory/store.ts'
import type { Event } from '../core/event.ts'
import type { Clock } from '../ports/clock.ts'
import type { Codec } from '../ports/codec.ts'
import type { Log } from '../ports/log.ts'
import type { Store } from '../ports/store.ts'
import { systemClock } from '../runtime/clock.ts'
import type { Peer } from '../services/graph/peer.ts'
import { createPeer, PeerError } from '../services/graph/peer.ts'
import type { TaskObserver } from '../services/graph/task.ts'
import { Task } from '../services/graph/task.ts'
import type { Views } from '../services/graph/view.ts'
import { createViews } from '../services/graph/view.ts'
import type { LocalPartition } from '../services/graph/viewed-partition.ts'
import { taskOf } from '../services/graph/viewed-partition.ts'
import { World } from './story.ts'

export const codec: Codec = avroCodec()

/** The events that a story tells, those it begins with included. */
export function eventsOf(lines: readonly string[]): Event[] {
  const events: Event[] = []
  const world = new World()
  const tell = world.tell.bind(world)
  world.tell = (event) => {
    events.push(event)
    return tell(event)
  }
  world.begin()
  for (const line of lines) world.step(line)
  return events
}

export async function appendAll(log: Log, events: readonly Event[], partition = 0): Promise<void> {
  for (const event of events) {
    if (event.type === 'Unreadable') continue
    await log.append('events', partition, [{ key: 'c/ns', value: codec.encode(event) }])
  }
}

export interface RunningTask extends AsyncDisposable {
  readonly task: Task
  readonly ended: Promise<void>
  /** Until everything on the log is folded, what the fold itself put there included. */
  caughtUp(): Promise<void>
}

export function runTask(
  log: Log,
  store: Store,
  observe?: TaskObserver,
  partition = 0,
  clock: Clock = systemClock(),
): RunningTask {
  const stop = new AbortController()
  const task = new Task({ log, codec, store, partition, clock, ...(observe && { observe }) })
  const ended = task.run(stop.signal)
  // Tests that expect a failure await `ended` themselves.
  ended.catch(() => undefined)
  return {
    task,
    ended,
    async caughtUp() {
      for (;;) {
        await Promise.race([setImmediate(), ended])
        const { end } = await log.bounds('events', partition)
        const { position, state } = task.status()
        if (position >= end) return
        // What lies ahead may be no record but the end of a transaction.
        const ahead = await log.read('events', partition, position, { limit: 1, waitMs: 0 })
        if (ahead.entries.length === 0 && task.status().position === position) return
        if (state === 'stopped') return await ended
      }
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      await ended.catch(() => undefined)
    },
  }
}

export function emptyStore(): Store {
  return new MemoryStore()
}

/** All keys and values, as hexadecimal text. */
export async function contentOf(store: Store): Promise<Map<string, string>> {
  const page = await store.page({ gte: ' ', lt: '~', limit: Number.MAX_SAFE_INTEGER })
  return new Map(page.map(([key, value]) => [key, Buffer.from(value).toString('hex')]))
}

/** What the changelog says that the store should hold. */
export async function changelogContent(log: Log): Promise<Map<string, string>> {
  const latest = await log.latest('changelog', 0)
  const pairs = latest
    .filter(({ key }) => !key.startsWith('~'))
    .map(({ key, value }) => [key, Buffer.from(value ?? []).toString('hex')] as const)
  return new Map(pairs.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Of tasks of this process, for as many partitions as there are. */
export function viewsOf(tasks: readonly LocalPartition[], partitions: number): Views {
  const peer = createPeer(() => undefined)
  const here = taskOf({ tasks })
  return createViews({
    partitions,
    here,
    owners: () => new Map(),
    peer,
    codec,
    clock: systemClock(),
  })
}

/** Of tasks of another process, which answers in small parts. */
export function viewsElsewhere(tasks: readonly LocalPartition[], partitions: number): Views {
  const task = (partition: number): LocalPartition => {
    const found = taskOf({ tasks })(partition)
    if (found === undefined) throw new PeerError('MOVED', 'it is nowhere')
    return found
  }
  const peer: Peer = {
    async get(_url, partition, keys) {
      const found = task(partition)
      const values = keys.slice(0, ANSWERED).map((key) => found.store.get(key) ?? null)
      return { ...found.status(), values }
    },
    async page(_url, partition, range) {
      const found = task(partition)
      const page = await found.store.page(range)
      const entries = page.slice(0, ANSWERED)
      return { ...found.status(), entries, isCut: entries.length < page.length }
    },
    async counts(_url, partition) {
      const found = task(partition)
      return { ...found.status(), counts: found.counts() ?? null }
    },
  }
  const owners = new Map(Array.from({ length: partitions }, (_, each) => [each, 'http://other']))
  const clock = systemClock()
  return createViews({
    partitions,
    here: () => undefined,
    owners: () => owners,
    peer,
    codec,
    clock,
  })
}

/** Keys and entries of one such part. */
const ANSWERED = 3
