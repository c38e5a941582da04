/**
 * Runs graph tasks in tests: a story's events on a log, a store, and the wait until all is folded.
 */
import { setImmediate } from 'node:timers/promises'
import { avroCodec } from '../../adapters/avro/codec.ts'
import { MemoryStore } from '../../adapters/memory/store.ts'
import type { Event } from '../../core/model/event.ts'
import type { ClusterId } from '../../core/model/object.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Codec } from '../../ports/record/codec.ts'
import { assignKey, nameKey } from '../../ports/record/control-key.ts'
import type { Store } from '../../ports/store.ts'
import { systemClock } from '../../runtime/clock.ts'
import type { Pace } from '../../services/graph/config.ts'
import { END_OF_STATE } from '../../services/graph/fold/former/former-key.ts'
import { RowStore } from '../../services/graph/fold/former/row-store.ts'
import { giveOrder, isOrder } from '../../services/graph/fold/order.ts'
import type { TaskObserver, TaskOptions } from '../../services/graph/fold/task.ts'
import { Task } from '../../services/graph/fold/task.ts'
import type { LocalPartition } from '../../services/graph/query/view/view.ts'
import { View } from '../../services/graph/query/view/view.ts'
import { World } from '../model/story.ts'

export const codec: Codec = avroCodec()

/** The events of a story, those of its beginning included. */
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
    if (isOrder(event)) await giveOrder(log, codec, event, [partition])
    else await log.append('events', partition, [{ key: 'c/ns', value: codec.encode(event) }])
  }
}

/** So many concurrent deletions of owners that the breaker of their namespace opens. */
export const BREAKER_STORY: readonly string[] = [
  'policy enforce guarded',
  'many 300 rs/r#',
  'many 102 pod/b# <- rs/r#',
  'delete-many 101 rs/r#',
]

export interface RunningTask extends AsyncDisposable {
  readonly task: Task
  readonly ended: Promise<void>
  /** Until everything on the log is folded, records of the fold itself included. */
  caughtUp(): Promise<void>
}

export function runTask(
  log: Log,
  store: Store,
  observe?: TaskObserver & Pick<TaskOptions, 'isRemembering'>,
  partition = 0,
  clock: Clock = systemClock(),
  pace?: Pace,
): RunningTask {
  const stop = new AbortController()
  const { isRemembering = true } = observe ?? {}
  const rest = { isRemembering, ...(observe && { observe }) }
  const task = new Task({ log, codec, store, partition, clock, pace, ...rest })
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
        // The next offset may be no record but the end of a transaction.
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

/** As a task has it: its values can be read, and another task goes on with it. */
export function taskStore(rows: Store = new MemoryStore()): RowStore {
  return new RowStore(rows, codec)
}

/** All keys and values of the state, as hexadecimal text. */
export async function contentOf(store: Store): Promise<Map<string, string>> {
  const { rows } = await store.page({ gte: ' ', lt: END_OF_STATE, limit: Number.MAX_SAFE_INTEGER })
  return new Map(rows.map(([key, value]) => [key, Buffer.from(value).toString('hex')]))
}

/** The content that the store should have by the changelog. */
export async function changelogContent(log: Log): Promise<Map<string, string>> {
  const latest = await log.latest('changelog', 0)
  const pairs = latest
    .filter(({ key }) => !key.startsWith('~'))
    .map(({ key, value }) => [key, Buffer.from(value ?? []).toString('hex')] as const)
  return new Map(pairs.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** As the watcher of a cluster does before it publishes anything. */
export async function assign(log: Log, cluster: ClusterId = 'c', partition = 0): Promise<void> {
  const value = codec.encode({ type: 'Assignment', cluster, partition, objects: 0 })
  await log.append('control', 0, [{ key: assignKey(cluster), value }])
}

/** As the watcher of a cluster does where that is not what `control` says. */
export async function call(log: Log, cluster: ClusterId, name: string): Promise<void> {
  const value = codec.encode({ type: 'ClusterName', cluster, name })
  await log.append('control', 0, [{ key: nameKey(cluster), value }])
}

/** The committed state of a cluster in the only partition. */
export function viewOf(partition: LocalPartition, cluster: ClusterId = 'c'): View {
  return new View({ cluster, partition, partitions: 1, codec, clock: systemClock() })
}
