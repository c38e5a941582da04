/**
 * A task takes over, restores, folds and commits: after every failure in between, nothing is lost
 * and nothing is done twice.
 */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { MemoryLog } from '../../../adapters/memory/log.ts'
import { openSqliteLog } from '../../../adapters/sqlite/log.ts'
import type { Command } from '../../../core/model/command.ts'
import type { Event } from '../../../core/model/event.ts'
import type { Log, Topic } from '../../../ports/log.ts'
import { LogError } from '../../../ports/log.ts'
import type { Writable } from '../../../ports/record/codec.ts'
import type { DeadLetter } from '../../../ports/record/service-record.ts'
import type { Store } from '../../../ports/store.ts'
import { systemClock } from '../../../runtime/clock.ts'
import {
  appendAll,
  changelogContent,
  codec,
  contentOf,
  emptyStore,
  eventsOf,
  runTask,
  taskStore,
} from '../../../testing/rig/task-rig.ts'
import { auditPartition } from '../audit/audit.ts'
import { type Pace, READ_LIMIT, TAKE_OVER_ATTEMPTS } from '../config.ts'
import { takeSnapshot } from './retention.ts'

const CASCADE = [
  'put deploy/web',
  'put rs/web-1 <- deploy/web!',
  'put pod/a <- rs/web-1!',
  'put pod/b <- rs/web-1!',
  'delete deploy/web',
  'delete rs/web-1',
]

function memoryLog(): MemoryLog {
  return new MemoryLog({ partitions: 1, clock: systemClock() })
}

async function commandsOn(log: Log): Promise<Command[]> {
  return (await recordsOn(log, 'commands')) as Command[]
}

async function recordsOn(log: Log, topic: Topic): Promise<Writable[]> {
  const { start, end } = await log.bounds(topic, 0)
  if (start === end) return []
  const page = await log.read(topic, 0, start, { limit: 10_000, waitMs: 0 })
  return page.entries.map(({ value }) => codec.decode(value ?? new Uint8Array()))
}

const names = (commands: readonly Command[]): string[] =>
  commands.map(({ type, target }) => `${type} ${target.name}`)

/** All that a page has, however slow the machine is. */
const IN_ONE_BATCH: Pace = { batchMs: Number.POSITIVE_INFINITY, gatherMs: 0, quietMs: 0 }

const EXPECTED = ['DeleteObject web-1', 'DeleteObject a', 'DeleteObject b']

const engines: readonly [string, (t: TestContext) => Promise<Log>][] = [
  ['memory', async () => memoryLog()],
  [
    'SQLite',
    async (t) => {
      const directory = mkdtempSync(join(tmpdir(), 'kinfold-task-'))
      const log = await openSqliteLog({ directory, partitions: 1, clock: systemClock() })
      t.after(async () => {
        await log[Symbol.asyncDispose]()
        rmSync(directory, { recursive: true })
      })
      return log
    },
  ],
]

for (const [engine, open] of engines) {
  test(`${engine}: folds a cascade into commands, and its store is its changelog`, async (t) => {
    const log = await open(t)
    const store = taskStore()
    await appendAll(log, eventsOf(CASCADE))
    await using running = runTask(log, store)
    await running.caughtUp()
    deepEqual(names(await commandsOn(log)), EXPECTED)
    deepEqual(await contentOf(store), await changelogContent(log))
  })

  test(`${engine}: what became of an object in one batch is one entry of lineage, and all of it is history`, async (t) => {
    const log = await open(t)
    await appendAll(log, eventsOf(['put cm/a', 'put cm/b', 'delete cm/a']))
    await using running = runTask(log, emptyStore(), undefined, 0, systemClock(), IN_ONE_BATCH)
    await running.caughtUp()
    const lineage = await recordsOn(log, 'lineage')
    deepEqual(
      lineage.map((it) => it.type === 'Lineage' && `${it.name} ${it.phase}`),
      ['b observed', 'a gone'],
    )
    const history = await recordsOn(log, 'history')
    deepEqual(
      history.map((it) => it.type === 'History' && `${it.name} ${it.change}`),
      ['a created', 'b created', 'a gone'],
    )
  })

  test(`${engine}: a store that was lost is rebuilt from the changelog (F54)`, async (t) => {
    const log = await open(t)
    const first = taskStore()
    await appendAll(log, eventsOf(CASCADE))
    {
      await using running = runTask(log, first)
      await running.caughtUp()
    }
    const second = taskStore()
    await using running = runTask(log, second)
    await running.caughtUp()
    deepEqual(await contentOf(second), await contentOf(first))
    deepEqual(names(await commandsOn(log)), EXPECTED)
  })

  test(`${engine}: a successor fences a task that still lives (F44)`, async (t) => {
    const log = await open(t)
    await appendAll(log, eventsOf(CASCADE.slice(0, 4)))
    await using zombie = runTask(log, emptyStore())
    await zombie.caughtUp()
    await using heir = runTask(log, emptyStore())
    await heir.caughtUp()
    await appendAll(log, eventsOf(CASCADE).slice(-2))
    await heir.caughtUp()
    await zombie.ended
    deepEqual(names(await commandsOn(log)), EXPECTED)
  })

  test(`${engine}: an audit folds the log again and finds it identical`, async (t) => {
    const log = await open(t)
    await appendAll(log, eventsOf(CASCADE))
    {
      await using running = runTask(log, emptyStore())
      await running.caughtUp()
    }
    const result = await auditPartition({ log, codec, store: emptyStore(), partition: 0 }, never())
    equal(result.type, 'identical')
    equal(result.type === 'identical' && result.commands, 3)
  })

  test(`${engine}: an audit goes on from a snapshot once the events before it are trimmed`, async (t) => {
    const log = await open(t)
    const store = taskStore()
    const events = eventsOf(CASCADE)
    await appendAll(log, events.slice(0, -2))
    {
      await using running = runTask(log, store)
      await running.caughtUp()
      await takeSnapshot({ log, codec, task: running.task }, never())
      await log.trim('events', 0, running.task.status().position)
      await appendAll(log, events.slice(-2))
      await running.caughtUp()
    }
    const result = await auditPartition({ log, codec, store: emptyStore(), partition: 0 }, never())
    equal(result.type, 'identical')
    equal(result.type === 'identical' && result.from, BigInt(events.length - 2))
  })
}

function never(): AbortSignal {
  return new AbortController().signal
}

for (const took of [true, false]) {
  test(`a commit whose answer is lost ${took ? 'took' : 'did not take'}: either way once (F58)`, async () => {
    const log = memoryLog()
    const store = taskStore()
    const events = eventsOf(CASCADE)
    await appendAll(log, events.slice(0, -2))
    const reasons: string[] = []
    await using running = runTask(log, store, { takenOver: (why) => reasons.push(why) })
    await running.caughtUp()
    log.loseNextCommitAnswer(took)
    await appendAll(log, events.slice(-2))
    await running.caughtUp()
    equal(reasons.length, 1)
    deepEqual(names(await commandsOn(log)), EXPECTED)
    deepEqual(await contentOf(store), await changelogContent(log))
  })
}

test('lineage and history are in the partition of their cluster, commands in all of them', async () => {
  const log = new MemoryLog({ partitions: 3, clock: systemClock() })
  const story = ['put deploy/web', 'many 9 pod/p# <- deploy/web', 'delete deploy/web']
  await appendAll(log, eventsOf(story), 1)
  await using running = runTask(log, emptyStore(), undefined, 1)
  await running.caughtUp()
  const written = async (topic: Topic): Promise<readonly boolean[]> =>
    await Promise.all([0, 1, 2].map(async (each) => (await log.end(topic, each)) > 0n))
  deepEqual(await written('lineage'), [false, true, false])
  deepEqual(await written('history'), [false, true, false])
  deepEqual(await written('commands'), [true, true, true])
})

test('a log that was away for long leaves as many attempts as before (F49)', async () => {
  const log = memoryLog()
  await appendAll(log, eventsOf(CASCADE))
  let left = 2 * TAKE_OVER_ATTEMPTS
  const openTask = log.openTask.bind(log)
  log.openTask = async (partition) => {
    if (left-- > 0) throw new LogError('UNAVAILABLE', 'the log is away')
    return await openTask(partition)
  }
  log.loseNextCommitAnswer(false)
  const clock = { ...systemClock(), sleep: async () => await setImmediate() }
  await using running = runTask(log, emptyStore(), undefined, 0, clock)
  await running.caughtUp()
  deepEqual(names(await commandsOn(log)), EXPECTED)
})

test('a log that can be reached and takes no commit ends the task, which says why', async () => {
  const log = memoryLog()
  await appendAll(log, eventsOf(CASCADE))
  let opened = 0
  log.openTask = async () => {
    opened += 1
    throw new LogError('UNKNOWN_OUTCOME', 'the answer was lost')
  }
  const clock = { ...systemClock(), sleep: async () => await setImmediate() }
  await using running = runTask(log, emptyStore(), undefined, 0, clock)
  await rejects(running.ended, { message: 'the answer was lost' })
  equal(opened, TAKE_OVER_ATTEMPTS)
})

test('a crash between commit and store is caught up from the changelog (F58)', async () => {
  const log = memoryLog()
  const rows = emptyStore()
  const store = taskStore(rows)
  await appendAll(log, eventsOf(CASCADE))
  {
    await using running = runTask(log, forgetful(rows, 1))
    await rejects(running.ended, /killed/)
  }
  await using running = runTask(log, store)
  await running.caughtUp()
  deepEqual(names(await commandsOn(log)), EXPECTED)
  deepEqual(await contentOf(store), await changelogContent(log))
})

/** A store whose n-th write with changes never happens: the process died. */
function forgetful(store: Store, nth: number): Store {
  let writes = 0
  return {
    checkpoint: () => store.checkpoint(),
    get: (key) => store.get(key),
    page: (range) => store.page(range),
    view: () => store.view(),
    verify: () => store.verify(),
    wipe: () => store.wipe(),
    async write(changes, checkpoint) {
      if (changes.length > 0) writes += 1
      if (writes === nth) throw new Error('killed')
      await store.write(changes, checkpoint)
    },
    async [Symbol.asyncDispose]() {},
  }
}

test('a log that lost its end is refused, with what to do (F39)', async () => {
  const log = memoryLog()
  const store = taskStore()
  await appendAll(log, eventsOf(CASCADE))
  {
    await using running = runTask(log, store)
    await running.caughtUp()
  }
  await store.write([], { changelog: 1_000n, position: 1_000n })
  await using running = runTask(log, store)
  await rejects(running.ended, (error: unknown) => {
    ok(error instanceof LogError)
    equal(error.code, 'DAMAGED')
    match(error.message, /lost its end; restore it from a backup/)
    return true
  })
})

test('a changelog that loses its end under a task ends it at the next commit (F39)', async () => {
  const log = memoryLog()
  const events = eventsOf(CASCADE)
  await appendAll(log, events.slice(0, -1))
  await using running = runTask(log, emptyStore())
  await running.caughtUp()
  const { end } = await log.bounds('changelog', 0)
  log.cutOff('changelog', 0, end - 3n)
  await appendAll(log, events.slice(-1))
  await rejects(
    Promise.race([running.ended, running.caughtUp()]),
    /changelog ends at offset .* the log lost its end/,
  )
})

test('an owner that goes in one batch with a dependent takes the stored ones along that are left', async () => {
  const lines = [
    'put rs/web',
    'put pod/a <- rs/web!',
    'put pod/b <- rs/web!',
    'put pod/c <- rs/web!',
  ]
  const events = eventsOf([...lines, 'delete pod/a', 'delete rs/web'])
  const log = memoryLog()
  await appendAll(log, events.slice(0, -2))
  await using running = runTask(log, emptyStore())
  await running.caughtUp()
  const last = events
    .slice(-2)
    .map((event) => ({ key: 'c/ns', value: codec.encode(event as never) }))
  await log.append('events', 0, last)
  await running.caughtUp()
  deepEqual(names(await commandsOn(log)), ['DeleteObject b', 'DeleteObject c'])
})

test('what cannot be read goes to the dead letters, and its home is not judged (F47)', async () => {
  const log = memoryLog()
  const events = eventsOf(CASCADE)
  await appendAll(log, events.slice(0, -2))
  await log.append('events', 0, [{ key: 'c/ns', value: Buffer.from('{"garbage":true}') }])
  await appendAll(log, events.slice(-2))
  {
    await using running = runTask(log, emptyStore())
    await running.caughtUp()
  }
  deepEqual(await commandsOn(log), [])
  const { start } = await log.bounds('dead-letter', 0)
  const page = await log.read('dead-letter', 0, start, { limit: 10, waitMs: 0 })
  const letter = codec.decode(page.entries[0]?.value ?? new Uint8Array()) as DeadLetter
  equal(letter.position, BigInt(events.length - 2))
  const result = await auditPartition({ log, codec, store: emptyStore(), partition: 0 }, never())
  equal(result.type, 'identical')
})

test('a task that is behind knows how far, beyond the page it has read', async () => {
  const log = memoryLog()
  const events = eventsOf(['put cm/a'])
  const many = Array.from({ length: 3 * READ_LIMIT }, () => events.at(-1) as Event)
  await appendAll(log, [...events, ...many])
  const lags: bigint[] = []
  const committed = (): unknown => lags.push(running.task.status().lagEntries)
  await using running = runTask(log, emptyStore(), { committed })
  await running.caughtUp()
  ok((lags[0] ?? 0n) > 2n * BigInt(READ_LIMIT), `${lags[0]} entries behind`)
  equal(running.task.status().lagEntries, 0n)
})

test('an audit names the first event that comes out otherwise', async () => {
  const log = memoryLog()
  await appendAll(log, eventsOf(CASCADE))
  {
    await using running = runTask(log, emptyStore())
    await running.caughtUp()
  }
  const commands = await commandsOn(log)
  const forged = { ...commands[0], id: '0-1-0' } as Command
  await log.append('commands', 0, [{ key: 'c/x', value: codec.encode(forged) }])
  const result = await auditPartition({ log, codec, store: emptyStore(), partition: 0 }, never())
  deepEqual(result, {
    type: 'different',
    partition: 0,
    position: 1n,
    what: 'command 0-1-0 does not follow from the events',
  })
})

test('who begins anew has as much of each budget left as there was', async () => {
  const log = memoryLog()
  const store = taskStore()
  await appendAll(log, eventsOf(['policy enforce guarded', ...CASCADE]))
  for (const _ of ['first', 'anew']) {
    await using running = runTask(log, store)
    await running.caughtUp()
  }
  const content = await contentOf(store)
  ok([...content.keys()].some((key) => key.startsWith('budget/')))
  deepEqual(content, await changelogContent(log))
})

test('a kill at every commit in turn leaves the same end (I23)', async () => {
  const events = eventsOf(CASCADE)
  for (let kill = 1; kill <= 6; kill++) {
    const log = memoryLog()
    const rows = emptyStore()
    const store = taskStore(rows)
    for (const event of events) {
      await appendAll(log, [event])
      {
        await using running = runTask(log, forgetful(rows, 1 + (kill % 2)))
        await Promise.race([
          running.ended.catch(() => undefined),
          running.caughtUp().catch(() => undefined),
        ])
      }
    }
    await using running = runTask(log, store)
    await running.caughtUp()
    deepEqual(names(await commandsOn(log)), EXPECTED)
    deepEqual(await contentOf(store), await changelogContent(log))
  }
})

/** From a moment on it has none of the counts any more. */
function losingCounts(store: Store): { readonly store: Store; lose(): void } {
  let isLost = false
  const get = (key: string): Uint8Array | undefined =>
    isLost && key.startsWith('count/') ? undefined : store.get(key)
  const parts = (['checkpoint', 'page', 'view', 'write', 'wipe', 'verify'] as const).map(
    (name) => [name, Reflect.get(store, name).bind(store)] as const,
  )
  const lossy = { ...(Object.fromEntries(parts) as unknown as Store), get }
  return {
    store: lossy,
    lose: () => {
      isLost = true
    },
  }
}

test('says of a store that contradicts itself which object does, and folds on', async () => {
  const log = memoryLog()
  const { store, lose } = losingCounts(emptyStore())
  const events = eventsOf(['put rs/web', 'put pod/a <- rs/web', 'touch pod/a other', 'put cm/b'])
  const said: string[] = []
  const observe = { faults: (faults: readonly string[]) => void said.push(...faults) }
  {
    await using running = runTask(log, store, observe)
    await appendAll(log, events.slice(0, -2))
    await running.caughtUp()
    deepEqual([said, running.task.status().faults], [[], 0])
  }
  await using running = runTask(log, store, observe)
  await running.caughtUp()
  lose()
  await appendAll(log, events.slice(-2))
  await running.caughtUp()
  deepEqual(said.slice(0, 1), ['node/c/pod-a: reference 0 is not counted'])
  equal(running.task.status().faults > 0, true)
})
