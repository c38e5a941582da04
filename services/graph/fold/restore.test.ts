/** A store continues from its checkpoint only where the log still has every deletion since. */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryLog } from '../../../adapters/memory/log.ts'
import { MemoryStore } from '../../../adapters/memory/store.ts'
import { POSITION_KEY } from '../../../core/graph/key.ts'
import { FOLD_VERSION } from '../../../core/model/policy.ts'
import type { Log, Page } from '../../../ports/log.ts'
import { prefixRange } from '../../../ports/store.ts'
import { systemClock } from '../../../runtime/clock.ts'
import { check } from '../../../testing/model/state-check.ts'
import { appendAll, codec, emptyStore, eventsOf, runTask } from '../../../testing/rig/task-rig.ts'
import { SettableClock } from '../../../testing/settable-clock.ts'
import { STILL_MS } from '../config.ts'
import { beginReplay, restore } from './restore.ts'

const VALUE = Uint8Array.of(1)
const OTHER = Uint8Array.of(2)
/** With which each commit ends. */
const POSITION = {
  key: POSITION_KEY,
  value: codec.encode({
    ...{ type: 'Position', partition: 0, partitions: 1, position: 0n },
    ...{ state: '', outputs: '', foldVersion: FOLD_VERSION, last: '', inForce: [] },
  }),
}

/**
 * A log that has compacted away a null value of `gone`: only `stays` is left, after the checkpoint
 * of the store.
 */
class ForgetfulLog extends MemoryLog {
  whole = 0n

  override async wholeFrom(): Promise<bigint> {
    return this.whole
  }
}

async function storeAfter(whole: bigint): Promise<{ keys: string[]; entries: number }> {
  const log = new ForgetfulLog({ partitions: 1, clock: systemClock() })
  log.whole = whole
  const store = new MemoryStore()
  await log.append('changelog', 0, [{ key: 'a/stays', value: VALUE }, POSITION])
  const changes = ['a/gone', 'a/stays'].map((key) => [key, VALUE] as const)
  await store.write([...changes, [POSITION.key, POSITION.value]], { changelog: 2n, position: 0n })
  await using task = await log.openTask(0)
  const { entries } = await restore(
    log,
    codec,
    store,
    0,
    task.fence,
    systemClock(),
    new AbortController().signal,
  )
  const { rows: left } = await store.page(prefixRange('a/', 10))
  equal(store.checkpoint()?.changelog, task.fence + 1n)
  return { keys: left.map(([key]) => key), entries }
}

test('what was deleted and forgotten while a store was away is not in it', async () => {
  deepEqual(await storeAfter(3n), { keys: ['a/stays'], entries: 2 })
})

test('a store that the log tells all since is kept', async () => {
  deepEqual(await storeAfter(2n), { keys: ['a/gone', 'a/stays'], entries: 0 })
})

test('a changelog that lost its end and grew beyond it since is refused (F39)', async () => {
  const log = new MemoryLog({ partitions: 1, clock: systemClock() })
  const store = new MemoryStore()
  const batch = (...keys: string[]) => keys.map((key) => ({ key, value: VALUE }))
  await log.append('changelog', 0, batch('a/one', 'a/two', 'a/three'))
  const changes = ['a/one', 'a/two', 'a/three'].map((key) => [key, VALUE] as const)
  await store.write(changes, { changelog: 3n, position: 0n })
  log.cutOff('changelog', 0, 1n)
  await log.append('changelog', 0, batch('a/other', 'a/more', 'a/still'))
  await using task = await log.openTask(0)
  const restored = restore(
    log,
    codec,
    store,
    0,
    task.fence,
    systemClock(),
    new AbortController().signal,
  )
  await rejects(restored, { code: 'DAMAGED', message: /before offset 3 .* lost its end/ })
  equal(store.checkpoint()?.changelog, 3n)
})

test('and it stays refused however often the process is started again, each of which leaves a fence (F39)', async () => {
  const log = new MemoryLog({ partitions: 1, clock: systemClock() })
  const store = new MemoryStore()
  const keys = Array.from({ length: 200 }, (_, i) => `a/${i}`)
  const batch = keys.map((key) => ({ key, value: VALUE }))
  await log.append('changelog', 0, batch)
  const changes = keys.map((key) => [key, VALUE] as const)
  await store.write([...changes, ['a/0', OTHER]], { changelog: 200n, position: 0n })
  log.cutOff('changelog', 0, 100n)
  for (let start = 0; start < 150; start++) {
    await using task = await log.openTask(0)
    const signal = new AbortController().signal
    const restored = restore(log, codec, store, 0, task.fence, systemClock(), signal)
    await rejects(restored, { code: 'DAMAGED' })
  }
})

/** Once there is nothing left to come, each wait is over as it begins. */
class HastyClock extends SettableClock {
  isHasty = false

  override async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (!this.isHasty) return await super.sleep(ms, signal)
    this.pass(ms)
  }
}

test('wherever a changelog lost its end, an empty store becomes one that was, or is refused (F39)', async () => {
  const clock = new HastyClock()
  const log = new MemoryLog({ partitions: 1, clock })
  const owned = Array.from({ length: 6 }, (_, i) => `put cm/a${i + 1} <- cm/a${i}`)
  for (const event of eventsOf(['put cm/a0', ...owned])) {
    await appendAll(log, [event])
    await using running = runTask(log, emptyStore())
    await running.caughtUp()
  }
  clock.isHasty = true
  const { end } = await log.bounds('changelog', 0)
  const outcomes = { whole: 0, refused: 0 }
  for (let from = end; from > 0n; from--) {
    log.cutOff('changelog', 0, from)
    await using task = await log.openTask(0)
    const store = new MemoryStore()
    const signal = new AbortController().signal
    try {
      await restore(log, codec, store, 0, task.fence, clock, signal)
    } catch (error) {
      match(`${error}`, /changelog ends in the middle of a commit/)
      outcomes.refused += 1
      continue
    }
    outcomes.whole += 1
    const { rows: entries } = await store.page({ gte: ' ', lt: '~', limit: 1_000 })
    deepEqual(
      check(new Map(entries.map(([key, value]) => [key, codec.decode(value) as never]))),
      [],
    )
  }
  ok(outcomes.whole > 5 && outcomes.refused > 5, JSON.stringify(outcomes))
})

/**
 * A leader that took over a moment ago and does not know yet the offset up to which all replicas
 * have the log.
 */
class LateLog extends MemoryLog {
  isLate = true

  override async read(
    ...[topic, partition, from, ...rest]: Parameters<Log['read']>
  ): Promise<Page> {
    if (this.isLate && topic === 'changelog') return { entries: [], next: from }
    return await super.read(topic, partition, from, ...rest)
  }
}

test('a changelog that does not show its end for a moment is no damaged one', async () => {
  const log = new LateLog({ partitions: 1, clock: systemClock() })
  await log.append('changelog', 0, [{ key: 'a/stays', value: VALUE }, POSITION])
  const store = new MemoryStore()
  const changes = [['a/stays', VALUE] as const, [POSITION.key, POSITION.value] as const]
  await store.write(changes, { changelog: 2n, position: 0n })
  await using task = await log.openTask(0)
  const signal = new AbortController().signal
  const again = () => restore(log, codec, store, 0, task.fence, systemClock(), signal)
  await rejects(again(), { code: 'UNAVAILABLE', message: /does not show now/ })
  log.isLate = false
  equal((await again()).entries, 0)
})

test('a changelog that another owner wrote to meanwhile is left to that one, however it ends before', async () => {
  const log = new MemoryLog({ partitions: 1, clock: systemClock() })
  // Its position was compacted away, for there is a later one.
  await log.append('changelog', 0, [{ key: 'a/stays', value: VALUE }])
  await using first = await log.openTask(0)
  const signal = new AbortController().signal
  const restored = () =>
    restore(log, codec, new MemoryStore(), 0, first.fence, systemClock(), signal)
  await rejects(restored(), { code: 'DAMAGED' })
  await using _second = await log.openTask(0)
  await rejects(restored(), { code: 'FENCED' })
})

test('events that were lost and given again since are not skipped (F39)', async () => {
  const log = new MemoryLog({ partitions: 1, clock: systemClock() })
  const store = emptyStore()
  const lines = Array.from({ length: 16 }, (_, i) => `put cm/a${i}`)
  const events = eventsOf(lines)
  const half = events.length - 6
  await appendAll(log, events.slice(0, half))
  {
    await using running = runTask(log, store)
    await running.caughtUp()
  }
  const { end } = await log.bounds('events', 0)
  log.cutOff('events', 0, end - 5n)
  // Watchers are other processes, and continue.
  await appendAll(log, events.slice(half))
  const again = runTask(log, store)
  await rejects(again.caughtUp(), {
    code: 'DAMAGED',
    message: /events says otherwise before offset \d+ .* lost its end/,
  })
})

test('who stood still for longer than null values are kept begins again', async () => {
  const log = new MemoryLog({ partitions: 1, clock: systemClock() })
  const store = new MemoryStore()
  await log.append('changelog', 0, [{ key: 'a/gone', value: VALUE }])
  let nowMs = Date.UTC(2026, 0, 1)
  const clock = { ...systemClock(), now: () => nowMs }
  const signal = new AbortController().signal
  const replay = await beginReplay(log, codec, store, 0, 9n, clock, signal)
  equal(await replay.page(9n, signal), 1)
  await log.append('changelog', 0, [{ key: 'a/stays', value: VALUE }])
  nowMs += STILL_MS + 1
  await rejects(replay.page(9n, signal), { code: 'UNAVAILABLE', message: /stood still/ })
  equal(store.checkpoint()?.changelog, 1n)
})
