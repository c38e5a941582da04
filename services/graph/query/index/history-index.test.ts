/**
 * The index rests on the log and nothing rests on the index: what keeps it from reading must not
 * end the process that folds.
 */
import { deepEqual, equal, ok, rejects, throws } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { MemoryLog } from '../../../../adapters/memory/log.ts'
import { identityOf } from '../../../../core/graph/identity.ts'
import type { Clock } from '../../../../ports/clock.ts'
import { LogError } from '../../../../ports/log.ts'
import { prefixRange, type Store, StoreError } from '../../../../ports/store.ts'
import { systemClock } from '../../../../runtime/clock.ts'
import { indexOver } from '../../../../testing/rig/index-rig.ts'
import {
  appendAll,
  assign,
  codec,
  contentOf,
  emptyStore,
  eventsOf,
  runTask,
} from '../../../../testing/rig/task-rig.ts'
import { HistoryIndex } from './history-index.ts'
import { entriesPrefix } from './history-key.ts'

/** Keys of names and entries of an index. */
const OF_OBJECTS = /^(entry|answer|there|gone|name|uid)\//
const PLACE = { group: '', kind: 'ConfigMap', namespace: 'ns', name: 'a' }

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
  equal((await index.namesIn(0).named({ namespace: 'ns', name: 'a' })).found.length, 1)
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
  const index = indexOver(log, counting, () => store)
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
  const index = indexOver(log, clock, () => store)
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

test('of partitions some are here: of those alone it answers, and waits for', async (t) => {
  const clock = systemClock()
  const log = new MemoryLog({ partitions: 2, clock })
  for (const [partition, cluster] of ['c', 'd'].entries()) {
    await assign(log, cluster, partition)
    await appendAll(log, eventsOf([`cluster ${cluster}`, 'put cm/a']), partition)
    await using running = runTask(log, emptyStore(), undefined, partition)
    await running.caughtUp()
  }
  const index = new HistoryIndex(log, codec, clock)
  const here = index.open(0, emptyStore())
  const stop = new AbortController()
  const indexing = index.run(stop.signal)
  t.after(async () => {
    stop.abort()
    await indexing
  })
  while ((await index.lagEntries()) > 0n) await setImmediate()
  ok(here.isFollowing)
  const [own, other] = ['c', 'd'].map((cluster) => {
    return identityOf(cluster, { ...PLACE, uid: 'cm-a' })
  })
  ok(own !== undefined && other !== undefined)
  // Where a cluster is has to be looked up first.
  throws(() => index.namesOf('c'), { code: 'CLOSED' })
  await index.clusters.read()
  equal(index.namesOf('c').lastOf('c', 'cm-a')?.name, 'a')
  throws(() => index.namesOf('d'), { code: 'CLOSED' })
  equal((await index.history(own)).entries[0]?.change, 'created')
  await rejects(async () => await index.history(other), { code: 'CLOSED' })
  await using taken = index.open(1, emptyStore())
  equal(taken.isFollowing, false)
  while ((await index.lagEntries()) > 0n) await setImmediate()
  equal(index.namesOf('d').lastOf('d', 'cm-a')?.name, 'a')
  equal((await index.history(other)).entries[0]?.change, 'created')
  await here[Symbol.asyncDispose]()
  throws(() => index.namesOf('c'), { code: 'CLOSED' })
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
  const store = emptyStore()
  const index = indexOver(log, clock, () => store)
  const stop = new AbortController()
  const indexing = index.run(stop.signal)
  while ((await index.lagEntries()) > 0n) await setImmediate()
  stop.abort()
  await indexing
  deepEqual(
    [...(await contentOf(store)).keys()].filter((key) => OF_OBJECTS.test(key)),
    [],
  )
})

/** Runs the index of these stores until it has read all. */
async function readInto(
  log: MemoryLog,
  stores: readonly Store[],
  begun: (index: HistoryIndex) => void = () => undefined,
): Promise<void> {
  const index = new HistoryIndex(log, codec, systemClock())
  begun(index)
  for (const [partition, store] of stores.entries()) index.open(partition, store)
  const stop = new AbortController()
  const indexing = index.run(stop.signal)
  while ((await index.lagEntries()) > 0n) await setImmediate()
  stop.abort()
  await indexing
}

async function keysIn(stores: readonly Store[]): Promise<readonly (readonly string[])[]> {
  return await Promise.all(stores.map(async (each) => [...(await contentOf(each)).keys()]))
}

test('a partition that begins again has all its names again, and takes no other one along', async () => {
  const clock = systemClock()
  const log = new MemoryLog({ partitions: 2, clock })
  const stores = [emptyStore(), emptyStore()] as const
  for (const [partition, cluster] of ['c', 'd'].entries()) {
    await appendAll(log, eventsOf([`cluster ${cluster}`, 'put cm/a']), partition)
    await using running = runTask(log, emptyStore(), undefined, partition)
    await running.caughtUp()
  }
  await readInto(log, stores)
  const before = await keysIn(stores)
  let wiped = 0
  stores[1].wipe = async () => {
    wiped += 1
  }
  await stores[0].write([['at/history/0', Buffer.from('1')]], { changelog: 0n, position: 0n })
  await log.trim('history', 0, 2n)
  let index: HistoryIndex | undefined
  const wipe = stores[0].wipe.bind(stores[0])
  stores[0].wipe = async () => {
    // A question asks how far it has come just then.
    await index?.lagEntries()
    await wipe()
  }
  await readInto(log, stores, (begun) => {
    index = begun
  })
  const after = await keysIn(stores)
  equal(wiped, 0)
  deepEqual(after[1], before[1])
  ok((after[0]?.length ?? 0) < (before[0]?.length ?? 0))
  const names = (keys: readonly string[] = []): readonly string[] =>
    keys.filter((key) => /^(there|gone|name|uid)\//.test(key))
  deepEqual(names(after[0]), names(before[0]))
})

test('a partition that cannot be read, and a store that is damaged, keep no other one from its names', async (t) => {
  const clock = systemClock()
  class PartAwayLog extends MemoryLog {
    override async read(...asked: Parameters<MemoryLog['read']>): ReturnType<MemoryLog['read']> {
      if (asked[0] !== 'history' || asked[1] !== 0) return await super.read(...asked)
      throw new LogError('UNAVAILABLE', 'the partition has no leader')
    }
  }
  const log = new PartAwayLog({ partitions: 3, clock })
  for (const [partition, cluster] of ['c', 'd', 'e'].entries()) {
    await appendAll(log, eventsOf([`cluster ${cluster}`, 'put cm/a']), partition)
    await using running = runTask(log, emptyStore(), undefined, partition)
    await running.caughtUp()
  }
  const stores = [emptyStore(), emptyStore(), emptyStore()] as const
  const wiped: number[] = []
  let isDamaged = true
  for (const [partition, store] of stores.entries()) {
    const wipe = store.wipe.bind(store)
    store.wipe = async () => {
      wiped.push(partition)
      isDamaged = false
      await wipe()
    }
  }
  const [, damaged] = stores
  const get = damaged.get.bind(damaged)
  damaged.get = (key) => {
    if (isDamaged) throw new StoreError('DAMAGED', 'a block cannot be read')
    return get(key)
  }
  const index = new HistoryIndex(log, codec, clock)
  for (const [partition, store] of stores.entries()) index.open(partition, store)
  const stop = new AbortController()
  const indexing = index.run(stop.signal)
  t.after(async () => {
    stop.abort()
    await indexing
  })
  while (!(index.isFollowing(1) && index.isFollowing(2))) await setImmediate()
  equal(index.isFollowing(0), false)
  equal(index.namesIn(1).lastOf('d', 'cm-a')?.name, 'a')
  equal(index.namesIn(2).lastOf('e', 'cm-a')?.name, 'a')
  deepEqual(wiped, [1])
})

test('histories that were indexed before names were beside them get the names of all of lineage', async () => {
  const clock = systemClock()
  const log = new MemoryLog({ partitions: 1, clock })
  await appendAll(log, eventsOf(['put cm/a', 'put cm/b']))
  {
    await using running = runTask(log, emptyStore())
    await running.caughtUp()
  }
  const store = emptyStore()
  await readInto(log, [store])
  const [whole] = await keysIn([store])
  const names = (whole ?? []).filter((key) => /^(there|name|uid|at\/names)\//.test(key))
  ok(names.length > 4)
  await store.write(
    names.map((key) => [key, null]),
    { changelog: 0n, position: 0n },
  )
  await readInto(log, [store])
  deepEqual(await keysIn([store]), [whole])
})
