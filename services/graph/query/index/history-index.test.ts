/**
 * The index rests on the log and nothing rests on the index: what keeps it from reading must not
 * end the process that folds.
 */
import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { MemoryLog } from '../../../../adapters/memory/log.ts'
import { identityOf } from '../../../../core/graph/identity.ts'
import type { Clock } from '../../../../ports/clock.ts'
import { LogError } from '../../../../ports/log.ts'
import { prefixRange } from '../../../../ports/store.ts'
import { systemClock } from '../../../../runtime/clock.ts'
import { indexOver } from '../../../../testing/rig/index-rig.ts'
import {
  appendAll,
  codec,
  contentOf,
  emptyStore,
  eventsOf,
  runTask,
} from '../../../../testing/rig/task-rig.ts'
import { HistoryIndex } from './history-index.ts'
import { entriesPrefix } from './history-key.ts'

class AwayLog extends MemoryLog {
  isAway = false
  refused = 0

  override async bounds(
    ...asked: Parameters<MemoryLog['bounds']>
  ): ReturnType<MemoryLog['bounds']> {
    if (!this.isAway) return await super.bounds(...asked)
    this.refused += 1
    throw new LogError('UNAVAILABLE', 'the brokers cannot be reached')
  }
}

test('who asks ends a pause in which nothing came, and has all that the log held then', async (t) => {
  const clock = systemClock()
  let pauses = 0
  /** Longer pauses end for a reason only. */
  const patient: Clock = {
    ...clock,
    sleep: async (ms, signal) => {
      if (ms > 200) pauses += 1
      await clock.sleep(ms > 200 ? 2 ** 31 : ms, signal)
    },
  }
  const log = new MemoryLog({ partitions: 1, clock })
  const index = indexOver(log, patient)
  const stop = new AbortController()
  const indexing = index.run(stop.signal)
  t.after(async () => {
    stop.abort()
    await indexing
  })
  while (pauses === 0) await setImmediate()
  await appendAll(log, eventsOf(['put cm/a']))
  {
    await using running = runTask(log, emptyStore())
    await running.caughtUp()
  }
  ok((await index.lagEntries()) > 0n)
  equal(await index.caughtUp(), 0n)
  equal((await index.names.named({ namespace: 'ns', name: 'a' })).found.length, 1)
})

test('who asks waits no longer than a moment for a log that cannot be read', async () => {
  const log = new MemoryLog({ partitions: 1, clock: systemClock() })
  const index = indexOver(log, systemClock())
  await appendAll(log, eventsOf(['put cm/a']))
  await using running = runTask(log, emptyStore())
  await running.caughtUp()
  ok((await index.caughtUp()) > 0n)
})

test('however many ask at once, the ends of the log are looked up once, and never before who asks', async () => {
  let looked = 0
  let gate: Promise<void> | undefined
  class Slow extends MemoryLog {
    override async bounds(
      ...asked: Parameters<MemoryLog['bounds']>
    ): ReturnType<MemoryLog['bounds']> {
      looked += 1
      const found = await super.bounds(...asked)
      await gate
      return found
    }
  }
  const log = new Slow({ partitions: 1, clock: systemClock() })
  const index = indexOver(log, systemClock())
  await Promise.all(Array.from({ length: 50 }, async () => await index.caughtUp()))
  equal(looked, 2)
  const opened = Promise.withResolvers<void>()
  gate = opened.promise
  const early = index.caughtUp()
  while (looked === 2) await setImmediate()
  await log.append('history', 0, [{ key: 'c/a', value: new Uint8Array([1]) }])
  const late = Array.from({ length: 50 }, async () => await index.caughtUp())
  opened.resolve()
  equal(await early, 0n)
  deepEqual(new Set(await Promise.all(late)), new Set([1n]))
  equal(looked, 6)
})

test('a log that is away is waited for, from the start and later', async () => {
  const clock = systemClock()
  const log = new AwayLog({ partitions: 1, clock })
  await appendAll(log, eventsOf(['put cm/a']))
  {
    await using running = runTask(log, emptyStore())
    await running.caughtUp()
  }
  log.isAway = true
  const index = indexOver(log, clock)
  const stop = new AbortController()
  let failure: unknown
  const indexing = index.run(stop.signal).catch((error: unknown) => {
    failure = error
  })
  while (log.refused < 2 && failure === undefined) await setImmediate()
  ok(failure === undefined, String(failure))
  log.isAway = false
  while ((await index.lagEntries()) > 0n && failure === undefined) await setImmediate()
  ok(failure === undefined, String(failure))
  stop.abort()
  await indexing
})

test('an object with many owners that change again and again costs others no more than a turn', async () => {
  const clock = systemClock()
  const log = new MemoryLog({ partitions: 1, clock })
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', controller: null, blockOwnerDeletion: null }
  const values = Array.from({ length: 300 }, (_, each) => {
    const owners = Array.from({ length: 400 }, (_, index) => {
      const name = index === 399 ? `last-${each}` : `${index}`
      return { ...owner, name, uid: `uid-${name}` }
    })
    return codec.encode({
      ...{ type: 'History', cluster: 'c', uid: 'u', group: '', kind: 'Pod', namespace: 'ns' },
      ...{ name: 'p', change: 'references', text: '', phase: null, evidence: null, command: null },
      ...{ partition: 0, position: BigInt(each), basis: [], at: each, admission: null },
      object: { phase: 'observed', createdAt: 0, deletedAt: null, owners, held: null, long: null },
    })
  })
  await log.append(
    'history',
    0,
    values.map((value) => ({ key: 'c/u', value })),
  )
  let turns = 0
  const counting: Clock = {
    ...clock,
    sleep: async (ms, signal) => {
      if (ms === 0) turns += 1
      await clock.sleep(ms, signal)
    },
  }
  const store = emptyStore()
  const index = indexOver(log, counting, { histories: () => store })
  const stop = new AbortController()
  const indexing = index.run(stop.signal)
  while ((await index.lagEntries()) > 0n) await setImmediate()
  stop.abort()
  await indexing
  ok(turns > 0)
})

/** Encoded: what happened at a time; `phase` null: it was deleted by then. */
function happened(each: number, at: number, isGone: boolean): Uint8Array {
  const object = { createdAt: 0, deletedAt: null, owners: [], held: null, long: null }
  return codec.encode({
    ...{ type: 'History', cluster: 'c', uid: 'u', group: '', kind: 'Pod', namespace: 'ns' },
    ...{ name: 'p', text: '', evidence: null, command: null, phase: isGone ? null : 'observed' },
    ...{ partition: 0, position: BigInt(each), basis: [], at, admission: null },
    ...{ change: isGone ? 'gone' : 'phase' },
    object: isGone ? null : { ...object, phase: 'observed' },
  })
}

const POD = identityOf('c', { uid: 'u', group: '', kind: 'Pod', namespace: 'ns', name: 'p' })

/** Entries that are kept when all of these were read, and then that the object is forgotten. */
async function keptOf(t: TestContext, values: readonly Uint8Array[]): Promise<readonly number[]> {
  const clock = systemClock()
  const log = new MemoryLog({ partitions: 1, clock })
  await log.append(
    'history',
    0,
    values.map((value) => ({ key: 'c/u', value })),
  )
  await log.append('lineage', 0, [{ key: 'c/u', value: null }])
  const store = emptyStore()
  const index = indexOver(log, clock, { histories: () => store })
  const stop = new AbortController()
  const indexing = index.run(stop.signal)
  t.after(async () => {
    stop.abort()
    await indexing
  })
  const isMarked = async (): Promise<boolean> =>
    (await store.page(prefixRange('forgetting/', 1))).rows.length > 0
  while ((await index.lagEntries()) > 0n || (await isMarked())) await setImmediate()
  const prefix = entriesPrefix(POD)
  const { rows } = await store.page(prefixRange(prefix, values.length))
  return rows.map(([key]) => Number(key.slice(prefix.length)))
}

test('what is forgotten is forgotten whole, where its history is still to be read', async (t) => {
  const values = Array.from({ length: 2_500 }, (_, each) => happened(each, each, false))
  deepEqual(await keptOf(t, values), [])
})

test('a life after the one that is forgotten stays', async (t) => {
  const values = [happened(0, 0, false), happened(1, 10, true), happened(2, 20, false)]
  deepEqual(await keptOf(t, values), [2])
})

test('of partitions some histories are here: of those alone it answers, and waits for', async (t) => {
  const clock = systemClock()
  const log = new MemoryLog({ partitions: 2, clock })
  for (const [partition, cluster] of ['c', 'd'].entries()) {
    await appendAll(log, eventsOf([`cluster ${cluster}`, 'put cm/a']), partition)
    await using running = runTask(log, emptyStore(), undefined, partition)
    await running.caughtUp()
  }
  const index = new HistoryIndex(log, codec, clock, emptyStore())
  const here = index.open(0, emptyStore())
  const stop = new AbortController()
  const indexing = index.run(stop.signal)
  t.after(async () => {
    stop.abort()
    await indexing
  })
  while ((await index.lagEntries()) > 0n) await setImmediate()
  ok(here.isFollowing)
  const { found } = await index.names.named({ namespace: 'ns', name: 'a' })
  deepEqual(
    found.map(({ cluster }) => cluster),
    ['c', 'd'],
  )
  const [own, other] = found.map((each) => identityOf(each.cluster, each))
  ok(own !== undefined && other !== undefined)
  equal((await index.history(own)).entries[0]?.change, 'created')
  await rejects(async () => await index.history(other), { code: 'CLOSED' })
  await using taken = index.open(1, emptyStore())
  equal(taken.isFollowing, false)
  while ((await index.lagEntries()) > 0n) await setImmediate()
  equal((await index.history(other)).entries[0]?.change, 'created')
  await here[Symbol.asyncDispose]()
  await rejects(async () => await index.history(own), { code: 'CLOSED' })
})

test('what is forgotten has no name at once, and its history none once all of it was read', async () => {
  const clock = systemClock()
  const log = new MemoryLog({ partitions: 1, clock })
  await appendAll(log, eventsOf(['put cm/a']))
  {
    await using running = runTask(log, emptyStore())
    await running.caughtUp()
  }
  const [last] = await log.latest('lineage', 0)
  ok(last !== undefined)
  await log.append('lineage', 0, [{ key: last.key, value: null }])
  const [names, store] = [emptyStore(), emptyStore()]
  const index = indexOver(log, clock, { names, histories: () => store })
  const stop = new AbortController()
  const indexing = index.run(stop.signal)
  while ((await index.lagEntries()) > 0n) await setImmediate()
  stop.abort()
  await indexing
  const keys = [...(await contentOf(names)).keys(), ...(await contentOf(store)).keys()]
  deepEqual(
    keys.filter((key) => /^(entry|answer|there|gone|name|uid)\//.test(key)),
    [],
  )
})

test('histories that begin again take no name along, nor the histories of another partition', async () => {
  const clock = systemClock()
  const log = new MemoryLog({ partitions: 2, clock })
  const stores = [emptyStore(), emptyStore()] as const
  const names = emptyStore()
  for (const [partition, cluster] of ['c', 'd'].entries()) {
    await appendAll(log, eventsOf([`cluster ${cluster}`, 'put cm/a']), partition)
    await using running = runTask(log, emptyStore(), undefined, partition)
    await running.caughtUp()
  }
  const read = async (): Promise<readonly (readonly string[])[]> => {
    const index = new HistoryIndex(log, codec, clock, names)
    for (const [partition, store] of stores.entries()) index.open(partition, store)
    const stop = new AbortController()
    const indexing = index.run(stop.signal)
    while ((await index.lagEntries()) > 0n) await setImmediate()
    stop.abort()
    await indexing
    const all = [names, ...stores].map(async (each) => [...(await contentOf(each)).keys()])
    return await Promise.all(all)
  }
  const before = await read()
  let wiped = 0
  for (const each of [names, stores[1]]) {
    each.wipe = async () => {
      wiped += 1
    }
  }
  await stores[0].write([['at/history/0', Buffer.from('1')]], { changelog: 0n, position: 0n })
  await log.trim('history', 0, 2n)
  const after = await read()
  equal(wiped, 0)
  deepEqual([after[0], after[2]], [before[0], before[2]])
  ok((after[1]?.length ?? 0) < (before[1]?.length ?? 0))
})
