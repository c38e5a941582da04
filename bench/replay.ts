/**
 * A log folded again offline, as `kinfold audit replay` and `kinfold audit verify` do: events a
 * second of all partitions, under the policy of the log, under another one, and compared with what
 * is on the log.
 *
 * What must stay true: real tasks wrote the log, all its topics included, into SQLite; what is
 * measured is the code of the command, its threads included, from the checked file on.
 *
 * Not here: the fold beside its writes (folding.ts).
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { avroCodec } from '../adapters/avro/codec.ts'
import { MemoryStore } from '../adapters/memory/store.ts'
import { openSqliteLog, type SqliteLog } from '../adapters/sqlite/log.ts'
import { refoldPartitions } from '../cli/offline/refold-thread.ts'
import { policyFor } from '../core/model/policy.ts'
import type { Produced } from '../ports/log.ts'
import { systemClock } from '../runtime/clock.ts'
import { giveOrder } from '../services/graph/fold/order.ts'
import { Task } from '../services/graph/fold/task.ts'
import { beginning, CLUSTER, Ownership, POLICY, pulse } from './rig/ownership.ts'
import type { Report } from './rig/report.ts'
import { machine, median, rounded } from './rig/report.ts'

export interface ReplayOptions extends Readonly<Record<string, number>> {
  readonly events: number
  /** Objects that exist at once. */
  readonly living: number
  readonly rounds: number
  /** `events` and `living` are of all. */
  readonly partitions: number
}

const WAYS = ['parity', 'guarded', 'verify'] as const

interface Replayed {
  /** Replayed under that policy, or verified. */
  readonly way: (typeof WAYS)[number]
  readonly events: number
  readonly seconds: number
  readonly cpuSeconds: number
  readonly differences: number
}

const codec = avroCodec()
const clock = systemClock()
/** Of a whole cluster's pulse. */
const PULSE_EVERY = 4_000
const APPENDED_AT_ONCE = 1_000

export async function benchReplay(options: ReplayOptions): Promise<Report> {
  const directory = await mkdtemp(join(tmpdir(), 'kinfold-replay-'))
  try {
    await writeLog(options, join(directory, 'log'))
    const all: Replayed[] = []
    for (let round = 0; round < options.rounds; round++) {
      for (const way of WAYS) all.push(await replay(directory, options.partitions, way))
    }
    const rows = WAYS.map((way) => {
      const each = all.filter((one) => one.way === way)
      const speeds = each.map(({ events, seconds }) => events / seconds)
      return [
        way,
        speeds.map((speed) => rounded(speed)).join(' '),
        rounded(median(speeds)),
        rounded(median(each.map(({ cpuSeconds, events }) => (cpuSeconds / events) * 1e6)), 1),
        each[0]?.differences ?? 0,
      ]
    })
    const columns = ['policy, or verified', 'rounds', 'median', 'CPU µs an event', 'differences']
    const title = 'Replayed events a second, of a log that was written under parity'
    return {
      ...{ bench: 'replay', options, machine: machine() },
      ...{ tables: [{ title, columns, rows }], measured: all },
    }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

async function replay(data: string, partitions: number, way: Replayed['way']): Promise<Replayed> {
  const [began, before] = [performance.now(), process.cpuUsage()]
  const counted = way === 'verify' ? verified : replayed
  const { events, differences } = await counted({ data, partitions, way })
  const { user, system } = process.cpuUsage(before)
  const seconds = (performance.now() - began) / 1_000
  return { way, seconds, cpuSeconds: (user + system) / 1e6, events, differences }
}

interface Refolded {
  readonly data: string
  readonly partitions: number
  readonly way: Replayed['way']
}

type Counted = Pick<Replayed, 'events' | 'differences'>

async function replayed({ data, partitions, way }: Refolded): Promise<Counted> {
  const policy = policyFor('enforce', way === 'guarded' ? way : 'parity')
  const refolding = { type: 'replay', fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, policy } as const
  const { signal } = new AbortController()
  const results = await refoldPartitions({ flags: { data }, refolding, partitions }, signal)
  const sum = (of: keyof Counted): number => results.reduce((total, each) => total + each[of], 0)
  return { events: sum('events'), differences: sum('differences') }
}

async function verified({ data, partitions }: Refolded): Promise<Counted> {
  const { signal } = new AbortController()
  const about = { flags: { data }, refolding: { type: 'verify' }, partitions } as const
  const results = await refoldPartitions(about, signal)
  const identical = results.filter((each) => each.type === 'identical')
  const events = identical.reduce((total, each) => total + each.events, 0)
  return { events, differences: results.length - identical.length }
}

async function writeLog(options: ReplayOptions, directory: string): Promise<void> {
  const { partitions } = options
  await using log = await openSqliteLog({ directory, partitions, clock })
  const all = Array.from({ length: partitions }, (_, partition) => partition)
  await giveOrder(log, codec, POLICY, all)
  for (const partition of all) await writeEvents(options, log, partition)
  for (const partition of all) await foldAll(log, partition)
}

async function writeEvents(
  { events, living, partitions }: ReplayOptions,
  log: SqliteLog,
  partition: number,
): Promise<void> {
  const told = new Ownership(partition, partitions, living / partitions)
  const begin = beginning().map((event) => ({ key: CLUSTER, value: codec.encode(event) }))
  await log.append('events', partition, begin)
  const all = Math.ceil(events / partitions)
  for (let made = 0; made < all; made += APPENDED_AT_ONCE) {
    const count = Math.min(APPENDED_AT_ONCE, all - made)
    const records = Array.from({ length: count }, (_, index): Produced => {
      const isPulse = (made + index) % PULSE_EVERY === 0
      const { home, event } = isPulse ? { home: CLUSTER, event: pulse() } : told.next()
      return { key: home, value: codec.encode(event) }
    })
    await log.append('events', partition, records)
  }
}

async function foldAll(log: SqliteLog, partition: number): Promise<void> {
  const [ended, done] = [new AbortController(), Promise.withResolvers<void>()]
  // Its own records included: what they have left to do would be a difference.
  const committed = async (position: bigint): Promise<void> => {
    if (position >= (await log.bounds('events', partition)).end - 1n) done.resolve()
  }
  const observe = { committed: (_records: number, position: bigint) => void committed(position) }
  await using store = new MemoryStore()
  const task = new Task({ log, codec, clock, store, partition, observe })
  const running = task.run(ended.signal)
  await done.promise
  ended.abort()
  await running
}
