/** No producer gives an order by writing to `events`; and folding again has the same result. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryLog } from '../../../adapters/memory/log.ts'
import { directivesOf, policyOf } from '../../../core/graph/graph.ts'
import type { Directive } from '../../../core/model/event.ts'
import { EMPTY_SET } from '../../../core/model/hash.ts'
import { policyFor } from '../../../core/model/policy.ts'
import { systemClock } from '../../../runtime/clock.ts'
import { codec, emptyStore, runTask, taskStore } from '../../../testing/rig/task-rig.ts'
import { auditPartition } from '../audit/audit.ts'
import { readerOf } from '../query/view/view.ts'
import { giveOrder, type Order } from './order.ts'

const PAUSE: Directive = {
  ...{ type: 'Directive', verb: 'pause', cluster: 'c', subject: '', digest: null },
  ...{ listed: EMPTY_SET, who: 'ann', isProven: false, why: 'the disk is full' },
}
const RESUME: Directive = { ...PAUSE, verb: 'resume' }
const POLICY: Order = {
  ...{ type: 'PolicyChanged', policy: policyFor('enforce', 'guarded') },
  ...{ who: 'ann', why: '' },
}
const LAX: Order = { ...POLICY, policy: policyFor('enforce', 'parity') }

interface Folded {
  readonly log: MemoryLog
  forge(value: Uint8Array): Promise<void>
  /** Who paused, the preset, and why records were refused. */
  state(): Promise<readonly unknown[]>
}

/** A log of two partitions of which the first one is folded, and paused by a person. */
async function folded(
  use: (folded: Folded) => Promise<void>,
  audited: 'identical' | 'different' = 'identical',
): Promise<void> {
  const log = new MemoryLog({ partitions: 2, clock: systemClock() })
  await giveOrder(log, codec, POLICY, [0])
  await giveOrder(log, codec, PAUSE, [0, 1])
  const store = taskStore()
  {
    await using running = runTask(log, store)
    await use({
      log,
      forge: async (value) => void (await log.append('events', 0, [{ key: 'c', value }])),
      async state() {
        await running.caughtUp()
        const reader = readerOf(store, codec)
        const { entries } = await log.read('dead-letter', 0, 0n, { limit: 10, waitMs: 0 })
        const reasons = entries.map((entry) => {
          const record = codec.decode(entry.value ?? new Uint8Array())
          return record.type === 'DeadLetter' ? record.reason : ''
        })
        const pauses = directivesOf(reader).pauses.map(({ who }) => who)
        return [pauses, policyOf(reader).policy.preset, reasons]
      },
    })
  }
  const parts = { log, codec, store: emptyStore(), partition: 0 }
  equal((await auditPartition(parts, new AbortController().signal)).type, audited)
}

/** The reference to `orders` in the last record of `events`. */
async function lastGiven(log: MemoryLog): Promise<Uint8Array> {
  const { entries } = await log.read('events', 0, 0n, { limit: 100, waitMs: 0 })
  return entries.at(-1)?.value ?? new Uint8Array()
}

test('an order that stands in events counts for nothing', async () => {
  await folded(async ({ forge, state }) => {
    await forge(codec.encode(RESUME))
    await forge(codec.encode(LAX))
    const reasons = ['a Directive counts in orders only', 'a PolicyChanged counts in orders only']
    deepEqual(await state(), [['ann'], 'guarded', reasons])
  })
})

test('an order comes into force once, however often events say so', async () => {
  await folded(async ({ log, forge, state }) => {
    await giveOrder(log, codec, RESUME, [0, 1])
    const again = await lastGiven(log)
    await giveOrder(log, codec, PAUSE, [0, 1])
    await forge(again)
    deepEqual(await state(), [['ann'], 'guarded', ['that order was in force before']])
  })
})

test('an order comes into force in the partitions that it was given to', async () => {
  await folded(async ({ log, forge, state }) => {
    await giveOrder(log, codec, LAX, [1])
    const { entries } = await log.read('events', 1, 0n, { limit: 100, waitMs: 0 })
    await forge(entries.at(-1)?.value ?? new Uint8Array())
    const reasons = ['that order was given to other partitions']
    deepEqual(await state(), [['ann'], 'guarded', reasons])
  })
})

test('what events say of another order than stands there counts for nothing', async () => {
  await folded(async ({ log, forge, state }) => {
    await giveOrder(log, codec, RESUME, [1])
    const { end } = await log.bounds('orders', 0)
    const digest = '00'.repeat(32)
    await forge(codec.encode({ type: 'OrderGiven', offset: end - 1n, digest }))
    const [, , reasons] = await state()
    match(String(reasons), /orders has no such order at that offset/)
  })
})

test('an order at the offset of one that was lost with the end of orders comes into force, and that one no more (F39)', async () => {
  await folded(async ({ log, forge, state }) => {
    await giveOrder(log, codec, RESUME, [0, 1])
    const lost = await lastGiven(log)
    await giveOrder(log, codec, PAUSE, [0, 1])
    deepEqual(await state(), [['ann'], 'guarded', []])
    log.cutOff('orders', 0, 1n)
    await giveOrder(log, codec, { ...RESUME, why: 'again' }, [0, 1])
    await giveOrder(log, codec, { ...PAUSE, who: 'eve' }, [0, 1])
    const again = await lastGiven(log)
    deepEqual(await state(), [['eve'], 'guarded', []])
    await forge(lost)
    await forge(again)
    const reasons = ['orders has no such order at that offset', 'that order was in force before']
    deepEqual(await state(), [['eve'], 'guarded', reasons])
    // A lost order cannot be folded again.
  }, 'different')
})

test('after many orders, those that are given since the end of orders was lost come into force (F39)', async () => {
  const log = new MemoryLog({ partitions: 1, clock: systemClock() })
  const store = taskStore()
  await using running = runTask(log, store)
  for (let given = 0; given < 40; given++) await giveOrder(log, codec, PAUSE, [0])
  await running.caughtUp()
  log.cutOff('orders', 0, 0n)
  await giveOrder(log, codec, RESUME, [0])
  await running.caughtUp()
  deepEqual(directivesOf(readerOf(store, codec)).pauses, [])
})

test('orders of several processes come into force in any sequence, and all of them', async () => {
  await folded(async ({ log, forge, state }) => {
    const given: Uint8Array[] = []
    const late: Pick<MemoryLog, 'append' | 'bounds'> = {
      bounds: (topic, partition) => log.bounds(topic, partition),
      append: async (topic, partition, records) => {
        if (topic !== 'events') return await log.append(topic, partition, records)
        given.unshift(...records.map(({ value }) => value ?? new Uint8Array()))
        return 0n
      },
    }
    await giveOrder(late, codec, RESUME, [0])
    await giveOrder(late, codec, { ...PAUSE, who: 'eve' }, [0])
    for (const value of given) await forge(value)
    // The pause came first: the resume ends it, as well as the one before.
    deepEqual(await state(), [[], 'guarded', []])
  })
})

test('the first orders of a partition come into force in any sequence', async () => {
  const log = new MemoryLog({ partitions: 1, clock: systemClock() })
  const given: Uint8Array[] = []
  const late: Pick<MemoryLog, 'append' | 'bounds'> = {
    bounds: (topic, partition) => log.bounds(topic, partition),
    append: async (topic, partition, records) => {
      if (topic !== 'events') return await log.append(topic, partition, records)
      given.unshift(...records.map(({ value }) => value ?? new Uint8Array()))
      return 0n
    },
  }
  await giveOrder(late, codec, POLICY, [0])
  await giveOrder(late, codec, PAUSE, [0])
  for (const value of given) await log.append('events', 0, [{ key: 'c', value }])
  const store = taskStore()
  await using running = runTask(log, store)
  await running.caughtUp()
  const reader = readerOf(store, codec)
  deepEqual(
    [policyOf(reader).policy.preset, directivesOf(reader).pauses.map(({ who }) => who)],
    ['guarded', ['ann']],
  )
})

test('an order that a broker gives no entry for is asked for again', async () => {
  await folded(async ({ log, state }) => {
    await state()
    const read = log.read.bind(log)
    let empty = 2
    log.read = async (topic, partition, from, ...rest) => {
      if (topic === 'orders' && empty-- > 0) return { entries: [], next: from }
      return await read(topic, partition, from, ...rest)
    }
    await giveOrder(log, codec, RESUME, [0, 1])
    deepEqual(await state(), [[], 'guarded', []])
  })
})

test('an order that the brokers do not show yet is waited for', async () => {
  await folded(async ({ log, state }) => {
    await state()
    const bounds = log.bounds.bind(log)
    let looks = 0
    log.bounds = async (topic, partition) => {
      const { start, end } = await bounds(topic, partition)
      const isOld = topic === 'orders' && looks++ < 3
      return { start, end: isOld ? end - 1n : end }
    }
    await giveOrder({ append: log.append.bind(log), bounds }, codec, RESUME, [0, 1])
    deepEqual(await state(), [[], 'guarded', []])
    equal(looks, 4)
  })
})

test('an order that never comes is waited for no longer than is said', async () => {
  const log = new MemoryLog({ partitions: 1, clock: systemClock() })
  const { monotonicMs, ...rest } = systemClock()
  const fast = { ...rest, monotonicMs: () => monotonicMs() * 1_000 }
  const digest = '00'.repeat(32)
  // One of them is waited for.
  for (const offset of [7n, 8n, 9n]) {
    const value = codec.encode({ type: 'OrderGiven', offset, digest })
    await log.append('events', 0, [{ key: 'c', value }])
  }
  await giveOrder(log, codec, PAUSE, [0])
  const store = taskStore()
  await using running = runTask(log, store, undefined, 0, fast)
  await running.caughtUp()
  deepEqual(
    directivesOf(readerOf(store, codec)).pauses.map(({ who }) => who),
    ['ann'],
  )
})
