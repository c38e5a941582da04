/**
 * A data directory that was copied and runs twice: the second deletes nothing, and both say so
 * (T18).
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { openCluster } from '../../adapters/kubernetes/cluster.ts'
import { ApiServer } from '../../adapters/memory/api-server.ts'
import { ManualClock } from '../../adapters/memory/clock.ts'
import { memoryExchange } from '../../adapters/memory/exchange.ts'
import { MemoryLog } from '../../adapters/memory/log.ts'
import type { Cluster } from '../../ports/cluster.ts'
import { ExchangeError } from '../../ports/exchange.ts'
import { systemRandom } from '../../runtime/random.ts'
import { CopiedData, strangerIn } from './copied-data.ts'
import { type DataStart, recordStart } from './data-start.ts'

const SIGNAL = new AbortController().signal
const LOOK_MS = 15_000

class World {
  readonly clock = new ManualClock()
  readonly server = new ApiServer({ clock: this.clock, random: systemRandom(), name: 'north' })
  readonly lines: string[] = []
  /** Refuses, or does not answer. */
  fault: 'none' | 'forbidden' | 'cut' = 'none'

  process(own: DataStart): CopiedData {
    const { clock } = this
    const logger = { log: (_: string, message: string) => void this.lines.push(message) }
    return new CopiedData({ own, clusters: [{ id: 'c', cluster: this.cluster() }], clock, logger })
  }

  cluster(): Cluster {
    const wire = memoryExchange(this.server)
    const exchange: typeof wire = {
      request: async (request, signal) => {
        if (this.fault === 'cut') throw new ExchangeError('CUT', 'it was cut')
        if (this.fault === 'forbidden') return { status: 403, headers: {}, body: nothing() }
        return await wire.request(request, signal)
      },
      [Symbol.asyncDispose]: () => wire[Symbol.asyncDispose](),
    }
    return openCluster({ name: 'north', exchange, clock: this.clock })
  }

  async pass(ms: number, all: readonly CopiedData[]): Promise<void> {
    for (let passed = 0; passed < ms; passed += LOOK_MS) {
      await this.clock.advance(LOOK_MS)
      for (const each of all) await each.look(SIGNAL)
    }
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** A log with its record of starts, as often as it is copied. */
async function copies(count: number): Promise<readonly (() => Promise<DataStart>)[]> {
  const clock = new ManualClock()
  const logs = Array.from({ length: count }, () => new MemoryLog({ partitions: 1, clock }))
  const [first, ...others] = logs as [MemoryLog, ...MemoryLog[]]
  await recordStart(first, systemRandom())
  const saved = await first.loadPosition('data-start', 'orders', 0)
  for (const log of others) await log.savePosition('data-start', 'orders', 0, saved!)
  return logs.map((log) => async () => await recordStart(log, systemRandom()))
}

function textOf(copied: CopiedData): string {
  return copied
    .checks()
    .map((each) => ('reason' in each ? each.reason : ''))
    .join()
}

test('the second on a copy deletes nothing, and both say so, until the first ends', async () => {
  const world = new World()
  const [original, copy] = await copies(2)
  const ofFirst = await original!()
  const first = world.process(ofFirst)
  match(first.barring('c'), /not known yet/)
  await first.look(SIGNAL)
  equal(first.barring('c'), '')
  deepEqual(first.checks(), [])

  const ofSecond = await copy!()
  const second = world.process(ofSecond)
  await second.look(SIGNAL)
  match(second.barring('c'), /another process runs on a copy/)
  match(textOf(second), /this one deletes nothing; end one of them/)
  await world.pass(LOOK_MS, [first, second])
  equal(first.barring('c'), '')
  match(textOf(first), /it deletes nothing while this one runs/)
  deepEqual(
    [first.found(), second.found()],
    [[{ name: 'north', isFound: true }], [{ name: 'north', isFound: true }]],
  )
  deepEqual(world.lines, Array(2).fill('the data directory was copied and runs twice'))
  const { entries } = await world.cluster().readStarts(SIGNAL)
  match(strangerIn(entries, ofFirst) ?? '', /^2-/, 'doctor asks by the record of the first')
  match(strangerIn(entries, ofSecond) ?? '', /^2-/, 'and by that of the second')
  await world.pass(10 * 60_000, [first, second])
  match(second.barring('c'), /another process runs on a copy/)

  await world.pass(45_000, [second])
  match(second.barring('c'), /another process/, 'the first may only be slow')
  await world.pass(30_000, [second])
  equal(second.barring('c'), '', 'it has ended')
  await first.look(SIGNAL)
  match(first.barring('c'), /another process/, 'and would be the second now')
})

test('a start of the same directory is no copy, however the one before ended', async () => {
  const world = new World()
  const [original] = await copies(1)
  for (let start = 0; start < 5; start++) {
    const copied = world.process(await original!())
    await copied.look(SIGNAL)
    equal(copied.barring('c'), '')
    deepEqual(copied.checks(), [])
  }
})

test('a copy that was made while the original ran takes its place, and both say so at their next look', async () => {
  const world = new World()
  const clock = new ManualClock()
  const [log, copied] = [0, 1].map(() => new MemoryLog({ partitions: 1, clock })) as [
    MemoryLog,
    MemoryLog,
  ]
  const original = world.process(await recordStart(log, systemRandom()))
  await original.look(SIGNAL)
  const saved = await log.loadPosition('data-start', 'orders', 0)
  await copied.savePosition('data-start', 'orders', 0, saved!)
  const copy = world.process(await recordStart(copied, systemRandom()))
  await copy.look(SIGNAL)
  equal(copy.barring('c'), '', 'it cannot know that the start in its record runs')
  await original.look(SIGNAL)
  match(original.barring('c'), /another process/)
  match(textOf(original), /this one deletes nothing; end one of them/)
  await copy.look(SIGNAL)
  match(textOf(copy), /it deletes nothing while this one runs/)
  await world.pass(10 * 60_000, [original, copy])
  deepEqual([original.barring('c') === '', copy.barring('c')], [false, ''])
})

test('a backup that is started where the original is lost deletes after a minute', async () => {
  const world = new World()
  const [original, backup] = await copies(2)
  await world.process(await original!()).look(SIGNAL)
  const restored = world.process(await backup!())
  await restored.look(SIGNAL)
  match(restored.barring('c'), /another process/)
  await world.pass(75_000, [restored])
  equal(restored.barring('c'), '')
  deepEqual(restored.checks(), [])
})

test('two directories in one cluster are none of each other’s business', async () => {
  const world = new World()
  const [[one], [other]] = [await copies(1), await copies(1)]
  const all = [world.process(await one!()), world.process(await other!())]
  await world.pass(60_000, all)
  for (const each of all) deepEqual([each.barring('c'), each.checks()], ['', []])
})

test('what cannot be renewed is not first any more, before another may take over', async () => {
  const world = new World()
  const [original, copy] = await copies(2)
  const first = world.process(await original!())
  const second = world.process(await copy!())
  await world.pass(LOOK_MS, [first, second])
  world.fault = 'cut'
  await world.pass(30_000, [first, second])
  equal(first.barring('c'), '')
  await world.pass(15_000, [first, second])
  match(first.barring('c'), /not known yet/)
  world.fault = 'none'
  await second.look(SIGNAL)
  await first.look(SIGNAL)
  equal([first, second].filter((each) => each.barring('c') === '').length, 1)
})

test('where our account may not write it, that is a warning and bars nothing', async () => {
  const world = new World()
  const [original] = await copies(1)
  const copied = world.process(await original!())
  world.fault = 'forbidden'
  await copied.look(SIGNAL)
  equal(copied.barring('c'), '')
  match(textOf(copied), /grant get, create and update on leases/)
})
