/**
 * A log folded again offline, as `kinfold audit replay` does: events a second, under the policy of the log and under another one.
 *
 * What must stay true: a real task wrote the log, all its topics included, into SQLite; what is measured is the code of the command, from the open file on.
 *
 * Not here: the fold beside its writes (folding.ts).
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { avroCodec } from '../adapters/avro/codec.ts'
import { MemoryStore } from '../adapters/memory/store.ts'
import { openSqliteLog } from '../adapters/sqlite/log.ts'
import { type Policy, policyFor } from '../core/model/policy.ts'
import type { Produced } from '../ports/log.ts'
import { systemClock } from '../runtime/clock.ts'
import { replayPartition } from '../services/graph/audit/replay.ts'
import { giveOrder } from '../services/graph/fold/order.ts'
import { Task } from '../services/graph/fold/task.ts'
import { beginning, CLUSTER, Ownership, POLICY, pulse } from './ownership.ts'
import type { Report } from './report.ts'
import { machine, median, rounded } from './report.ts'

export interface ReplayOptions extends Readonly<Record<string, number>> {
  readonly events: number
  /** Objects that exist at once. */
  readonly living: number
  readonly rounds: number
}

interface Replayed {
  readonly policy: 'parity' | 'guarded'
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
    await writeLog(options, directory)
    const all: Replayed[] = []
    for (let round = 0; round < options.rounds; round++) {
      for (const policy of ['parity', 'guarded'] as const) all.push(await replay(directory, policy))
    }
    const rows = (['parity', 'guarded'] as const).map((policy) => {
      const each = all.filter((one) => one.policy === policy)
      const speeds = each.map(({ events, seconds }) => events / seconds)
      return [
        policy,
        speeds.map((speed) => rounded(speed)).join(' '),
        rounded(median(speeds)),
        rounded(median(each.map(({ cpuSeconds, events }) => (cpuSeconds / events) * 1e6)), 1),
        each[0]?.differences ?? 0,
      ]
    })
    const columns = ['policy', 'rounds', 'median', 'CPU µs an event', 'differences']
    const title = 'Replayed events a second, of a log that was written under parity'
    return {
      ...{ bench: 'replay', options, machine: machine() },
      ...{ tables: [{ title, columns, rows }], measured: all },
    }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

async function replay(directory: string, preset: Replayed['policy']): Promise<Replayed> {
  await using log = await openSqliteLog({ directory, clock, readOnly: true })
  await using store = new MemoryStore()
  const policyFrom = ({ rememberMs }: Policy): Policy => ({
    ...policyFor('enforce', preset),
    rememberMs,
  })
  const span = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, policyFrom }
  const [began, before] = [performance.now(), process.cpuUsage()]
  const parts = { log, codec, store, partition: 0, ...span }
  const { events, differences } = await replayPartition(parts, new AbortController().signal)
  const { user, system } = process.cpuUsage(before)
  const seconds = (performance.now() - began) / 1_000
  return { policy: preset, events, seconds, cpuSeconds: (user + system) / 1e6, differences }
}

async function writeLog({ events, living }: ReplayOptions, directory: string): Promise<void> {
  await using log = await openSqliteLog({ directory, partitions: 1, clock })
  const told = new Ownership(0, 1, living)
  await giveOrder(log, codec, POLICY, [0])
  const begin = beginning().map((event) => ({ key: CLUSTER, value: codec.encode(event) }))
  await log.append('events', 0, begin)
  for (let made = 0; made < events; made += APPENDED_AT_ONCE) {
    const count = Math.min(APPENDED_AT_ONCE, events - made)
    const records = Array.from({ length: count }, (_, index): Produced => {
      const isPulse = (made + index) % PULSE_EVERY === 0
      const { home, event } = isPulse ? { home: CLUSTER, event: pulse() } : told.next()
      return { key: home, value: codec.encode(event) }
    })
    await log.append('events', 0, records)
  }
  const { end } = await log.bounds('events', 0)
  const [ended, done] = [new AbortController(), Promise.withResolvers<void>()]
  const committed = (_records: number, position: bigint): void => {
    if (position >= end - 1n) done.resolve()
  }
  await using store = new MemoryStore()
  const task = new Task({ log, codec, clock, store, partition: 0, observe: { committed } })
  const running = task.run(ended.signal)
  await done.promise
  ended.abort()
  await running
}
