/**
 * One owner is deleted on a real control plane: how fast are its dependents deleted or orphaned,
 * what does that cost the server, and how soon is a single one deleted?
 *
 * What must stay true: all contenders meet the same server in the same run, one at a time, in
 * rounds of changing order; each has shown that it works, by a small cascade, before anything is
 * measured. So the figures of one run may be compared, whatever load the machine has.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Preset } from '../core/model/policy.ts'
import { policyFor } from '../core/model/policy.ts'
import { type ControlPlane, startControlPlane } from '../testing/cluster/control-plane.ts'
import type { Contender, ContenderName } from './rig/contender.ts'
import { startContender } from './rig/contender.ts'
import type { DepartureWatch } from './rig/departure-watch.ts'
import { watchDepartures } from './rig/departure-watch.ts'
import type { Family } from './rig/family.ts'
import { createFamily, createNamespace, deleteAll, deleteMember } from './rig/family.ts'
import type { PolicyName } from './rig/policy.ts'
import { cpuSeconds } from './rig/process-usage.ts'
import type { Report } from './rig/report.ts'
import { machine, median, quantile, rounded, type Table } from './rig/report.ts'

export interface CascadeOptions extends Readonly<Record<string, number>> {
  readonly dependents: number
  readonly rounds: number
  /** Dependents of the small cascade that shows a contender at work, and warms it up. */
  readonly warm: number
  /** Latencies measured in each round, in the background. */
  readonly samples: number
}

export interface Turn {
  readonly contender: ContenderName
  readonly ms: number
  readonly perSecond: number
  /** From the owner's DELETE to the first dependent's departure. */
  readonly firstMs: number
  /**
   * From the last dependent's deletion to the owner's; none in the background, where the owner is
   * deleted first.
   */
  readonly ownerAloneMs: number
  /** By `VERB resource`, without those of the benchmark itself. */
  readonly calls: Readonly<Record<string, number>>
  readonly cpuSeconds: { readonly own: number; readonly apiserver: number }
  /**
   * The part of that from the first dependent's deletion on: without the work of a hold or a
   * decision before.
   */
  readonly goingCpuSeconds: number
  /** From the owner's deletion to the dependent's in the background; none for raw calls. */
  readonly latenciesMs: readonly number[]
}

/**
 * The presets in which Kinfold is measured; `both`: one preset after the other, and no other
 * contender.
 */
export type PresetName = Preset | 'both'

export const PRESET_NAMES: readonly PresetName[] = ['parity', 'guarded', 'both']

const ORDERS: Readonly<Record<PresetName, readonly ContenderName[]>> = {
  parity: ['raw', 'recorded', 'kinfold', 'upstream'],
  guarded: ['raw', 'recorded', 'guarded', 'upstream'],
  both: ['kinfold', 'guarded'],
}

/** After the warming up: caches settle, and deferred work is done. */
const QUIET_MS = 2_000
/** How often it is checked whether anything was deleted. */
const LOOK_MS = 10
/** Between two samples of latency: nothing of the earlier one is under way then. */
const PAUSE_MS = 150
/** After this long without a change of the counts, everything under way is counted. */
const REST_MS = 500

/**
 * Etcd waits for the disk as it does in earnest, unlike in tests: a collector's speed is that of
 * its writes.
 */
const DURABLE = ['--unsafe-no-fsync=false']

interface Field {
  readonly plane: ControlPlane
  readonly watch: DepartureWatch
  readonly options: CascadeOptions
  readonly policy: PolicyName
}

export async function benchCascade(
  options: CascadeOptions,
  policy: PolicyName = 'background',
  preset: PresetName = 'parity',
): Promise<Report> {
  const order = ORDERS[preset]
  await using plane = await startControlPlane({ etcdArgs: DURABLE })
  await createNamespace(plane)
  using watch = await watchDepartures(plane)
  const turns: Turn[] = []
  for (let round = 0; round < options.rounds; round++) {
    const start = round % order.length
    for (const name of [...order.slice(start), ...order.slice(0, start)]) {
      const turn = await takeTurn({ plane, watch, options, policy }, name, round)
      const { perSecond, cpuSeconds: cpu } = turn
      process.stderr.write(
        `${policy}, round ${round + 1}, ${name}: ${rounded(perSecond)}/s, CPU ${cpu.own.toFixed(1)} s\n`,
      )
      turns.push(turn)
      await deleteAll(plane)
    }
  }
  const tables = [speeds(turns, options, order), calls(turns, options, order)]
  if (order.includes('guarded')) tables.push(holds(turns, options, order))
  const sampled = order.filter((name) => isSampled(name, policy))
  if (sampled.length > 0 && preset !== 'both') tables.push(latencies(turns, sampled))
  return {
    bench: 'cascade',
    options: { policy, preset, ...options },
    machine: machine(),
    tables,
    measured: turns,
  }
}

async function takeTurn(field: Field, name: ContenderName, round: number): Promise<Turn> {
  const { plane, watch, options, policy } = field
  const prefix = `${name}-${round}`
  // Complete before the contender starts: it lists them as after any restart.
  const family = await createFamily(plane, `${prefix}-all`, options.dependents, policy)
  const canary = await createFamily(plane, `${prefix}-warm`, options.warm, policy)
  await using contender = await startContender(name, plane)
  await contender.begin(canary, policy)
  await watch.allDeparted(namesOf(canary))
  await delay(QUIET_MS)

  const callsBefore = ofOthers(await countsAtRest(plane))
  const cpuBefore = cpuOf(plane, contender)
  const goneBefore = watch.count
  const began = await contender.begin(family, policy)
  const cpuWhenGoing = await cpuAtFirst(field, contender, goneBefore)
  const { last: ended } = await watch.allDeparted(namesOf(family))
  const { first, last } = await watch.allDeparted(family.dependents.map(({ name }) => name))
  const cpuAfter = cpuOf(plane, contender)
  const cpu = differences(cpuBefore, cpuAfter) as Turn['cpuSeconds']
  const counted = differences(callsBefore, ofOthers(await countsAtRest(plane)))
  const latenciesMs = isSampled(name, policy) ? await sampleLatencies(field, `${prefix}-one`) : []
  const ms = ended - began
  return {
    contender: name,
    ms,
    perSecond: (options.dependents / ms) * 1_000,
    firstMs: first - began,
    ownerAloneMs: ended - last,
    calls: withoutOwn(counted),
    cpuSeconds: cpu,
    goingCpuSeconds: cpuAfter.own - cpuWhenGoing.own,
    latenciesMs,
  }
}

/** The watch may deliver a change before the server has counted the request that made it. */
async function countsAtRest(plane: ControlPlane): Promise<ReadonlyMap<string, number>> {
  let counts = await plane.requestCounts()
  for (;;) {
    await delay(REST_MS)
    const later = await plane.requestCounts()
    if (isDeepStrictEqual(ofOthers(counts), ofOthers(later))) return later
    counts = later
  }
}

/**
 * When the first dependent was deleted; the owner is deleted first in the background, and otherwise
 * it is the second dependent.
 */
async function cpuAtFirst(
  { plane, watch }: Field,
  contender: Contender,
  goneBefore: number,
): Promise<Turn['cpuSeconds']> {
  while (watch.count < goneBefore + 2) await delay(LOOK_MS)
  return cpuOf(plane, contender)
}

/**
 * A contender that deletes by its own list has none, and a deletion held for half a minute is no
 * matter of milliseconds.
 */
function isSampled(name: ContenderName, policy: PolicyName): boolean {
  return policy === 'background' && (name === 'kinfold' || name === 'upstream')
}

/** The owner, too: in the background it was deleted first, otherwise it is deleted last. */
function namesOf({ owner, dependents }: Family): readonly string[] {
  return [...dependents, owner].map(({ name }) => name)
}

async function sampleLatencies(
  { plane, watch, options }: Field,
  prefix: string,
): Promise<number[]> {
  const latencies: number[] = []
  await delay(QUIET_MS)
  for (let sample = 0; sample < options.samples; sample++) {
    const { owner, dependents } = await createFamily(plane, `${prefix}-${sample}`, 1)
    await delay(PAUSE_MS)
    await deleteMember(plane, owner)
    const gone = await watch.departed(owner.name)
    const { last } = await watch.allDeparted(dependents.map((one) => one.name))
    latencies.push(last - gone)
    await delay(PAUSE_MS)
  }
  return latencies
}

function cpuOf(plane: ControlPlane, contender: Contender): Turn['cpuSeconds'] {
  return {
    own: cpuSeconds(contender.pid),
    apiserver: cpuSeconds(plane.apiserver.pid),
  }
}

function differences(
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
): Record<string, number> {
  const moved = Object.entries(after).map(([key, value]) => [key, value - (before[key] ?? 0)])
  return Object.fromEntries(moved.filter(([, value]) => value !== 0))
}

/** Requests for no resource are metrics and probes; leases are the server's own. */
function ofOthers(counts: ReadonlyMap<string, number>): Record<string, number> {
  const theirs = [...counts].filter(([key]) => key.includes(' ') && !key.endsWith(' leases'))
  return Object.fromEntries(theirs)
}

/** The owner's DELETE is the benchmark's. */
function withoutOwn(counted: Readonly<Record<string, number>>): Record<string, number> {
  const kept = { ...counted }
  kept['DELETE configmaps'] = (kept['DELETE configmaps'] ?? 1) - 1
  if (kept['DELETE configmaps'] === 0) delete kept['DELETE configmaps']
  return kept
}

function of(turns: readonly Turn[], name: ContenderName): readonly Turn[] {
  return turns.filter(({ contender }) => contender === name)
}

function speeds(
  turns: readonly Turn[],
  { dependents }: CascadeOptions,
  order: readonly ContenderName[],
): Table {
  const perSecond = (name: ContenderName): number =>
    median(of(turns, name).map((turn) => turn.perSecond))
  const ratio = (name: ContenderName, other: ContenderName): number | string =>
    order.includes(other) ? rounded(perSecond(name) / perSecond(other), 2) : ''
  const rows = order.map((name) => {
    const each = of(turns, name)
    const perObject = (which: keyof Turn['cpuSeconds']): number =>
      rounded((median(each.map(({ cpuSeconds: cpu }) => cpu[which])) / dependents) * 1_000, 2)
    return [
      name,
      each.map((turn) => rounded(turn.perSecond)).join(' '),
      rounded(perSecond(name)),
      ratio(name, 'raw'),
      ratio(name, 'upstream'),
      perObject('own'),
      perObject('apiserver'),
      rounded(median(each.map(({ ownerAloneMs }) => ownerAloneMs))),
    ]
  })
  return {
    title: 'Objects per second, and CPU in milliseconds per object',
    columns: ['', 'rounds', 'median', '/ raw', '/ upstream', 'own', 'apiserver', 'owner alone ms'],
    rows,
  }
}

/**
 * The time that the hold adds: from the owner's deletion until all are deleted, and the rest of
 * that without the time for which the policy holds them.
 */
function holds(
  turns: readonly Turn[],
  { dependents }: CascadeOptions,
  order: readonly ContenderName[],
): Table {
  const { holds: held } = policyFor('enforce', 'guarded')
  const seconds = (ms: number): number => rounded(ms / 1_000, 1)
  const holdMsOf = (name: ContenderName): number => (name === 'guarded' ? held.deletedMs : 0)
  const beyond = (name: ContenderName): number =>
    median(of(turns, name).map(({ ms }) => ms - holdMsOf(name)))
  const spread = (name: ContenderName): number =>
    median(of(turns, name).map(({ ms, firstMs, ownerAloneMs }) => ms - firstMs - ownerAloneMs))
  const rows = order.map((name) => {
    const each = of(turns, name)
    return [
      name,
      each.map(({ ms }) => seconds(ms)).join(' '),
      seconds(median(each.map(({ ms }) => ms))),
      seconds(median(each.map(({ firstMs }) => firstMs))),
      seconds(spread(name)),
      seconds(beyond(name)),
      rounded((median(each.map((turn) => turn.goingCpuSeconds)) / dependents) * 1_000, 2),
      order.includes('kinfold') ? rounded(spread(name) / spread('kinfold'), 2) : '',
    ]
  })
  return {
    title: `Seconds from the owner's departure; what is held for ${held.deletedMs / 1_000} s begins to go up to 5 s later`,
    columns: [
      '',
      'rounds',
      'all gone',
      'first gone',
      'first to last',
      'beyond hold',
      'CPU ms',
      '/ parity',
    ],
    rows,
  }
}

function calls(
  turns: readonly Turn[],
  { dependents }: CascadeOptions,
  order: readonly ContenderName[],
): Table {
  const verbs = [...new Set(turns.flatMap((turn) => Object.keys(turn.calls)))].sort()
  const all = (name: ContenderName, verb?: string): number =>
    median(
      of(turns, name).map((turn) =>
        Object.entries(turn.calls).reduce(
          (sum, [key, count]) => (verb === undefined || verb === key ? sum + count : sum),
          0,
        ),
      ),
    )
  const perObject = (count: number): number => rounded(count / dependents, 4)
  return {
    title: 'API calls in one cascade, and all of them per object',
    columns: ['', ...verbs, 'per object'],
    rows: order.map((name) => [
      name,
      ...verbs.map((verb) => all(name, verb)),
      perObject(all(name)),
    ]),
  }
}

function latencies(turns: readonly Turn[], order: readonly ContenderName[]): Table {
  const rows = order.map((name) => {
    const all = of(turns, name).flatMap((turn) => turn.latenciesMs)
    return [name, all.length, rounded(quantile(all, 0.5), 1), rounded(quantile(all, 0.95), 1)]
  })
  return {
    title: 'Owner gone to its one dependent gone, in milliseconds',
    columns: ['', 'samples', 'p50', 'p95'],
    rows,
  }
}
