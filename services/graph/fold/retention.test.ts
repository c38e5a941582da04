/**
 * Snapshots are taken when they are due, and events before them are trimmed by age and by number,
 * never sooner.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { ManualClock } from '../../../adapters/memory/clock.ts'
import { MemoryLog } from '../../../adapters/memory/log.ts'
import { openSqliteLog } from '../../../adapters/sqlite/log.ts'
import type { Event } from '../../../core/model/event.ts'
import { EMPTY_SET } from '../../../core/model/hash.ts'
import type { Clock } from '../../../ports/clock.ts'
import { type Log, LogError, type Produced, type Topic } from '../../../ports/log.ts'
import { systemClock } from '../../../runtime/clock.ts'
import { appendAll, codec, emptyStore, eventsOf, runTask } from '../../../testing/rig/task-rig.ts'
import { auditPartition } from '../audit/audit.ts'
import { END_OF_STATE } from './former/former-key.ts'
import { reachOf } from './former/former-rows.ts'
import { DEFAULT_RETENTION, keepTrimmed, type RetentionConfig, snapshots } from './retention.ts'
import { Task } from './task.ts'

const DAY_MS = 24 * 3_600_000
const ENOUGH = 1_000_000
const KEEP_ALL: RetentionConfig = {
  ...DEFAULT_RETENTION,
  keepEvents: ENOUGH,
  snapshotEvents: ENOUGH,
}

/** A log whose time a test moves, a task that folds it, and its retention, a round at a time. */
class Rig {
  readonly log: Log
  readonly #time: { nowMs: number }
  readonly #rounds: ManualClock = new ManualClock()
  readonly #running: ReturnType<typeof runTask>
  readonly #stop = new AbortController()
  readonly #trimming: Promise<void>
  readonly #retention: RetentionConfig

  /** Of the fold. */
  readonly store = emptyStore()

  constructor(log: Log, time: { nowMs: number }, retention: RetentionConfig) {
    this.log = log
    this.#time = time
    this.#retention = retention
    this.#running = runTask(log, this.store)
    const { task } = this.#running
    const clock: Clock = {
      now: () => time.nowMs,
      monotonicMs: () => this.#rounds.monotonicMs(),
      sleep: (ms, signal) => this.#rounds.sleep(ms, signal),
    }
    this.#trimming = keepTrimmed({ log, codec, clock, task, retention }, this.#stop.signal)
  }

  pass(days: number): void {
    this.#time.nowMs += days * DAY_MS
  }

  async tell(events: readonly Event[]): Promise<void> {
    await appendAll(this.log, events)
    await this.#running.caughtUp()
  }

  /** Lets retention check once, and waits until it has. */
  async round(): Promise<void> {
    await this.begin()
    await this.settled()
  }

  async settled(): Promise<void> {
    let hasFailed = false
    this.#trimming.catch(() => {
      hasFailed = true
    })
    while (this.#rounds.sleeping === 0 && !hasFailed) await setImmediate()
    if (hasFailed) await this.#trimming
  }

  /** Begins one, and does not wait. */
  async begin(): Promise<void> {
    await this.#rounds.advance(this.#retention.everyMs)
  }

  async held(topic: Topic): Promise<string> {
    const { start, end } = await this.log.bounds(topic, 0)
    return `${start}..${end}`
  }

  async count(topic: Topic): Promise<number> {
    const { start } = await this.log.bounds(topic, 0)
    return (await this.log.read(topic, 0, start, { limit: 1_000, waitMs: 0 })).entries.length
  }

  async snapshots(): Promise<bigint[]> {
    return (await snapshots(this.log, codec, 0)).map(({ position }) => position)
  }

  async audit(): Promise<string> {
    const parts = { log: this.log, codec, store: emptyStore(), partition: 0 }
    return (await auditPartition(parts, this.#stop.signal)).type
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await Promise.all([this.#running[Symbol.asyncDispose](), this.#trimming])
  }
}

/** Takes its time for snapshots. */
class SlowLog extends MemoryLog {
  readonly #asked = Promise.withResolvers<void>()
  readonly #open = Promise.withResolvers<void>()
  readonly isAsked: Promise<void> = this.#asked.promise

  goOn(): void {
    this.#open.resolve()
  }

  override async append(
    topic: Topic,
    partition: number,
    records: readonly Produced[],
  ): Promise<bigint> {
    if (topic === 'snapshots') {
      this.#asked.resolve()
      await this.#open.promise
    }
    return await super.append(topic, partition, records)
  }
}

type Open = (t: TestContext, retention?: Partial<RetentionConfig>) => Promise<Rig>

/**
 * A task waits for events up to a second before it gives a moment: here that is short. Days that
 * pass do so on both clocks.
 */
function clockAt(time: { readonly nowMs: number }): Clock {
  const { monotonicMs, sleep } = systemClock()
  const beganMs = time.nowMs
  return {
    now: () => time.nowMs,
    monotonicMs: () => monotonicMs() * SPEED + time.nowMs - beganMs,
    sleep: (ms, signal) => sleep(ms / SPEED, signal),
  }
}

const SPEED = 50

function rigOn(open: (t: TestContext, clock: Clock) => Promise<Log>): Open {
  return async (t, retention) => {
    const time = { nowMs: 1_700_000_000_000 }
    const log = await open(t, clockAt(time))
    const rig = new Rig(log, time, { ...KEEP_ALL, ...retention })
    t.after(async () => {
      await rig.stop()
      await log[Symbol.asyncDispose]()
    })
    return rig
  }
}

const memory = rigOn(async (_, clock) => new MemoryLog({ partitions: 1, clock }))
const sqlite = rigOn(async (t, clock) => {
  const directory = mkdtempSync(join(tmpdir(), 'kinfold-retention-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return await openSqliteLog({ directory, partitions: 1, clock })
})

/** Events that change nothing. */
function idle(count: number): Event[] {
  const about = { cluster: '', subject: '', digest: null, listed: EMPTY_SET, isProven: false }
  const rest = { verb: 'none', ...about, who: 'test', why: '' }
  return Array.from({ length: count }, () => ({ type: 'Directive', ...rest }))
}

for (const [engine, open] of [
  ['memory', memory],
  ['SQLite', sqlite],
] as const) {
  test(`${engine}: 30 days of events are kept, and what is older goes behind a snapshot`, async (t) => {
    const rig = await open(t)
    await rig.tell(idle(10))
    rig.pass(29)
    await rig.tell(idle(5))
    await rig.round()
    deepEqual([await rig.held('events'), await rig.snapshots()], ['0..15', []])
    rig.pass(2)
    await rig.round()
    deepEqual([await rig.held('events'), await rig.snapshots()], ['10..15', [15n]])
    equal(await rig.audit(), 'identical')
  })

  test(`${engine}: at least the last snapshot is kept, and all events behind it`, async (t) => {
    const rig = await open(t)
    await rig.tell(eventsOf(['put deploy/web', 'put rs/a <- deploy/web', 'delete deploy/web']))
    rig.pass(31)
    await rig.round()
    const [at] = await rig.snapshots()
    await rig.tell(idle(3))
    rig.pass(1_000)
    // The three are older than 30 days as well, so another snapshot removes them.
    await rig.round()
    await rig.round()
    deepEqual(await rig.snapshots(), [at, (at ?? 0n) + 3n])
    equal(await rig.held('events'), `${(at ?? 0n) + 3n}..${(at ?? 0n) + 3n}`)
    equal(await rig.audit(), 'identical')
    await rig.tell(idle(1))
    equal(await rig.audit(), 'identical')
  })

  test(`${engine}: no more events are kept than asked for, whatever their age`, async (t) => {
    const rig = await open(t, { keepEvents: 20 })
    await rig.tell(idle(20))
    await rig.round()
    equal(await rig.held('events'), '0..20')
    await rig.tell(idle(30))
    await rig.round()
    deepEqual([await rig.held('events'), await rig.snapshots()], ['30..50', [50n]])
    await rig.tell(idle(10))
    await rig.round()
    deepEqual([await rig.held('events'), await rig.snapshots()], ['40..60', [50n]])
    await rig.tell(idle(15))
    await rig.round()
    deepEqual([await rig.held('events'), await rig.snapshots()], ['55..75', [50n, 75n]])
    equal(await rig.audit(), 'identical')
  })

  test(`${engine}: what facts were is kept for as long as asked for, beside events of any age`, async (t) => {
    const rig = await open(t, { keepPastMs: 2 * DAY_MS })
    await rig.tell(eventsOf(['put cm/a', 'put cm/b', 'delete cm/a']))
    const { end } = await rig.log.bounds('events', 0)
    rig.pass(3)
    await rig.tell(eventsOf(['put cm/c']))
    await rig.round()
    while ((reachOf(rig.store, codec)?.begin ?? 0) < Number(end)) await rig.tell(idle(1))
    equal(reachOf(rig.store, codec)?.begin, Number(end))
    equal((await rig.log.bounds('events', 0)).start, 0n)
    ok((await rig.log.bounds('former', 0)).start > 0n)
  })

  test(`${engine}: what was archived stays as long as asked for, whatever goes beside it`, async (t) => {
    const rig = await open(t, { archiveKeepMs: 10 * DAY_MS })
    const put = async (key: string): Promise<bigint> =>
      await rig.log.append('archive', 0, [{ key, value: new Uint8Array(1) }])
    await rig.tell(idle(5))
    await put('a/1')
    rig.pass(6)
    await put('a/2')
    await rig.round()
    equal(await rig.held('archive'), '0..2')
    rig.pass(5)
    await rig.round()
    equal(await rig.held('archive'), '1..2')
    rig.pass(25)
    await rig.tell(idle(1))
    await rig.round()
    equal(await rig.held('archive'), '2..2')
  })

  test(`${engine}: a snapshot is taken after so many events, and the last three are kept`, async (t) => {
    const rig = await open(t, { snapshotEvents: 10 })
    for (let round = 0; round < 5; round++) {
      await rig.tell(idle(10))
      await rig.round()
    }
    deepEqual([await rig.held('events'), await rig.snapshots()], ['0..50', [30n, 40n, 50n]])
    ok(!(await rig.held('snapshots')).startsWith('0..'))
  })

  test(`${engine}: commands and history go with the events that they tell of`, async (t) => {
    const rig = await open(t)
    const [before, after] = [
      eventsOf(['put deploy/web', 'put rs/a <- deploy/web', 'delete deploy/web']),
      eventsOf(['put deploy/w2', 'put rs/b <- deploy/w2', 'delete deploy/w2']).slice(-3),
    ]
    await rig.tell(before)
    equal(await rig.count('commands'), 1)
    const told = await rig.count('history')
    ok(told > 0)
    rig.pass(31)
    await rig.tell(after)
    const both = await rig.count('history')
    await rig.round()
    equal(await rig.count('commands'), 1)
    equal(await rig.count('history'), both - told)
    equal(await rig.audit(), 'identical')
  })
}

test('folding goes on while a snapshot is written, which holds what was there when it began', async (t) => {
  const time = { nowMs: 1_700_000_000_000 }
  const log = new SlowLog({ partitions: 1, clock: clockAt(time) })
  const rig = new Rig(log, time, { ...KEEP_ALL, keepEvents: 2, snapshotEvents: 5 })
  t.after(() => rig.stop())
  await rig.tell(eventsOf(['put deploy/web', 'put rs/a <- deploy/web']))
  const { end } = await log.bounds('events', 0)
  await rig.begin()
  await log.isAsked
  await rig.tell(
    eventsOf(['put deploy/web', 'put rs/a <- deploy/web', 'delete deploy/web']).slice(-1),
  )
  equal(await rig.count('commands'), 1)
  log.goOn()
  await rig.settled()
  deepEqual(await rig.snapshots(), [end])
  equal(await rig.audit(), 'identical')
})

test('a snapshot that the log would not take is taken in the next round', async (t) => {
  const time = { nowMs: 1_700_000_000_000 }
  const log = new MemoryLog({ partitions: 1, clock: clockAt(time) })
  const rig = new Rig(log, time, { ...KEEP_ALL, snapshotEvents: 5 })
  t.after(() => rig.stop())
  await rig.tell(idle(5))
  log.refuseNextAppend()
  await rig.round()
  deepEqual(await rig.snapshots(), [])
  await rig.round()
  deepEqual(await rig.snapshots(), [5n])
})

test('what an owner elsewhere trims while it is looked at is looked at again in the next round', async () => {
  class TrimmedLog extends MemoryLog {
    isTrimmed = false

    override async read(...asked: Parameters<MemoryLog['read']>): ReturnType<MemoryLog['read']> {
      const [topic, , , { waitMs }] = asked
      if (!this.isTrimmed || topic !== 'events' || waitMs > 0) return await super.read(...asked)
      this.isTrimmed = false
      throw new LogError('OUT_OF_RANGE', 'it was trimmed just now')
    }
  }
  const time = { nowMs: Date.now() }
  const clock: Clock = { ...systemClock(), now: () => time.nowMs }
  const log = new TrimmedLog({ partitions: 1, clock })
  const rig = new Rig(log, time, KEEP_ALL)
  try {
    await rig.tell(eventsOf(['put cm/a']))
    log.isTrimmed = true
    await rig.round()
    ok(!log.isTrimmed, 'nothing was read')
    await rig.round()
  } finally {
    await rig.stop()
  }
})

test('chunks that a former owner writes between those of a snapshot belong to its own', async () => {
  const log = new MemoryLog({ partitions: 1, clock: systemClock() })
  const chunk = (position: bigint, number: number, last: boolean): Produced => {
    const about = { type: 'Snapshot', partition: 0, position, state: 's', outputs: 'o' } as const
    const value = codec.encode({ ...about, chunk: number, last, keys: [], values: [] })
    return { key: `0/${position}`, value }
  }
  const chunks = [
    chunk(15n, 0, false),
    chunk(20n, 0, false),
    chunk(15n, 1, true),
    chunk(20n, 1, true),
  ]
  await log.append('snapshots', 0, chunks)
  const found = await snapshots(log, codec, 0)
  deepEqual(
    found.map(({ position, offset }) => [position, offset]),
    [
      [15n, 0n],
      [20n, 1n],
    ],
  )
})

test('where nothing of the past is kept, nothing is written of it, and what there was is removed', async () => {
  const log = new MemoryLog({ partitions: 1, clock: systemClock() })
  const store = emptyStore()
  const rows = async (): Promise<number> =>
    (await store.page({ gte: END_OF_STATE, lt: '~', limit: 100_000 })).rows.length
  await appendAll(log, eventsOf(['put cm/a', 'put cm/b', 'delete cm/a']))
  {
    await using first = runTask(log, store)
    await first.caughtUp()
  }
  const written = await log.bounds('former', 0)
  ok((await rows()) > 0 && written.end > 0n)
  await appendAll(log, eventsOf(['put cm/c', 'delete cm/b']))
  {
    await using forgetful = runTask(log, store, { isRemembering: false })
    await forgetful.caughtUp()
    while ((await rows()) > 0) await setImmediate()
  }
  deepEqual(await log.bounds('former', 0), written)
  const { end } = await log.bounds('events', 0)
  await appendAll(log, eventsOf(['delete cm/c']))
  await using last = runTask(log, store)
  await last.caughtUp()
  equal(reachOf(store, codec)?.begin, Number(end))
})

test('where nothing of the past is kept, no moment is asked from the first answer on', async () => {
  const log = new MemoryLog({ partitions: 1, clock: systemClock() })
  const store = emptyStore()
  await appendAll(log, eventsOf(['put cm/a']))
  {
    await using first = runTask(log, store)
    await first.caughtUp()
  }
  ok(reachOf(store, codec) !== undefined)
  const stop = new AbortController()
  let reach: ReturnType<typeof reachOf>
  const restored = async (): Promise<void> => {
    reach = reachOf(store, codec)
    stop.abort()
  }
  const parts = { log, codec, store, partition: 0, clock: systemClock() }
  await new Task({ ...parts, isRemembering: false, restored }).run(stop.signal)
  equal(reach, undefined)
})
