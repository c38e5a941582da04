/**
 * One owner goes on a real control plane: how fast do its dependents follow, or are let go, what does that cost the server, and how soon does a single
 * one go?
 *
 * What must stay true: all contenders meet the same server in the same run, one at a time, in rounds of changing order; each has shown that it works,
 * by a small cascade, before anything is measured. So the figures of one run may be compared, whatever else the machine does.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type ControlPlane, startControlPlane } from '../testing/cluster/control-plane.ts'
import type { Contender, ContenderName } from './contender.ts'
import { startContender } from './contender.ts'
import type { DepartureWatch } from './departure-watch.ts'
import { watchDepartures } from './departure-watch.ts'
import type { Family } from './family.ts'
import { createFamily, createNamespace, deleteAll, deleteMember } from './family.ts'
import type { PolicyName } from './policy.ts'
import { cpuSeconds } from './process-usage.ts'
import type { Report } from './report.ts'
import { machine, median, quantile, rounded, type Table } from './report.ts'

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
  /** From the last dependent's departure to the owner's; none in the background, where it goes first. */
  readonly ownerAloneMs: number
  /** By `VERB resource`, without those of the benchmark itself. */
  readonly calls: Readonly<Record<string, number>>
  readonly cpuSeconds: { readonly own: number; readonly apiserver: number }
  /** Owner gone to dependent gone in the background; none for raw calls. */
  readonly latenciesMs: readonly number[]
}

const ORDER: readonly ContenderName[] = ['raw', 'kinfold', 'upstream']
/** After the warming up: caches settle, and what was put off is done. */
const QUIET_MS = 2_000
/** Between two samples of latency: nothing of the one before is under way any more. */
const PAUSE_MS = 150

/** Etcd waits for the disk as it does in earnest, unlike in tests: a collector's speed is that of its writes. */
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
): Promise<Report> {
  await using plane = await startControlPlane({ etcdArgs: DURABLE })
  await createNamespace(plane)
  using watch = await watchDepartures(plane)
  const turns: Turn[] = []
  for (let round = 0; round < options.rounds; round++) {
    const start = round % ORDER.length
    for (const name of [...ORDER.slice(start), ...ORDER.slice(0, start)]) {
      const turn = await takeTurn({ plane, watch, options, policy }, name, round)
      const { perSecond, cpuSeconds: cpu } = turn
      process.stderr.write(
        `${policy}, round ${round + 1}, ${name}: ${rounded(perSecond)}/s, CPU ${cpu.own.toFixed(1)} s\n`,
      )
      turns.push(turn)
      await deleteAll(plane)
    }
  }
  const tables = [speeds(turns, options), calls(turns, options)]
  if (policy === 'background') tables.push(latencies(turns))
  return {
    bench: 'cascade',
    options: { policy, ...options },
    machine: machine(),
    tables,
    measured: turns,
  }
}

async function takeTurn(field: Field, name: ContenderName, round: number): Promise<Turn> {
  const { plane, watch, options, policy } = field
  const prefix = `${name}-${round}`
  // Whole before the contender starts: it learns of them as after any restart.
  const family = await createFamily(plane, `${prefix}-all`, options.dependents, policy)
  const canary = await createFamily(plane, `${prefix}-warm`, options.warm, policy)
  await using contender = await startContender(name, plane)
  await contender.begin(canary, policy)
  await watch.allDeparted(namesOf(canary))
  await delay(QUIET_MS)

  const callsBefore = await plane.requestCounts()
  const cpuBefore = cpuOf(plane, contender)
  const began = await contender.begin(family, policy)
  const ended = await watch.allDeparted(namesOf(family))
  const lastDependent = await watch.allDeparted(family.dependents.map(({ name }) => name))
  const cpu = differences(cpuBefore, cpuOf(plane, contender)) as Turn['cpuSeconds']
  const counted = differences(asRecord(callsBefore), asRecord(await plane.requestCounts()))
  const isSampled = policy === 'background' && name !== 'raw'
  const latenciesMs = isSampled ? await sampleLatencies(field, `${prefix}-one`) : []
  const ms = ended - began
  return {
    contender: name,
    ms,
    perSecond: (options.dependents / ms) * 1_000,
    ownerAloneMs: ended - lastDependent,
    calls: withoutOwn(counted),
    cpuSeconds: cpu,
    latenciesMs,
  }
}

/** The owner, too: in the background it went first, else it goes last. */
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
    latencies.push((await watch.allDeparted(dependents.map((one) => one.name))) - gone)
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

function asRecord(counts: ReadonlyMap<string, number>): Record<string, number> {
  return Object.fromEntries(counts)
}

function differences(
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
): Record<string, number> {
  const moved = Object.entries(after).map(([key, value]) => [key, value - (before[key] ?? 0)])
  return Object.fromEntries(moved.filter(([, value]) => value !== 0))
}

/** The owner's DELETE is the benchmark's; requests for no resource are metrics and probes; leases are the server's own. */
function withoutOwn(counted: Readonly<Record<string, number>>): Record<string, number> {
  const theirs = Object.entries(counted).filter(([key]) => {
    return key.includes(' ') && !key.endsWith(' leases')
  })
  const kept = Object.fromEntries(theirs)
  kept['DELETE configmaps'] = (kept['DELETE configmaps'] ?? 1) - 1
  if (kept['DELETE configmaps'] === 0) delete kept['DELETE configmaps']
  return kept
}

function of(turns: readonly Turn[], name: ContenderName): readonly Turn[] {
  return turns.filter(({ contender }) => contender === name)
}

function speeds(turns: readonly Turn[], { dependents }: CascadeOptions): Table {
  const perSecond = (name: ContenderName): number =>
    median(of(turns, name).map((turn) => turn.perSecond))
  const rows = ORDER.map((name) => {
    const each = of(turns, name)
    const perObject = (which: keyof Turn['cpuSeconds']): number =>
      rounded((median(each.map(({ cpuSeconds: cpu }) => cpu[which])) / dependents) * 1_000, 2)
    return [
      name,
      each.map((turn) => rounded(turn.perSecond)).join(' '),
      rounded(perSecond(name)),
      rounded(perSecond(name) / perSecond('raw'), 2),
      rounded(perSecond(name) / perSecond('upstream'), 2),
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

function calls(turns: readonly Turn[], { dependents }: CascadeOptions): Table {
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
    rows: ORDER.map((name) => [
      name,
      ...verbs.map((verb) => all(name, verb)),
      perObject(all(name)),
    ]),
  }
}

function latencies(turns: readonly Turn[]): Table {
  const rows = ORDER.filter((name) => name !== 'raw').map((name) => {
    const all = of(turns, name).flatMap((turn) => turn.latenciesMs)
    return [name, all.length, rounded(quantile(all, 0.5), 1), rounded(quantile(all, 0.95), 1)]
  })
  return {
    title: 'Owner gone to its one dependent gone, in milliseconds',
    columns: ['', 'samples', 'p50', 'p95'],
    rows,
  }
}
