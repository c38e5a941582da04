/**
 * Very many finished Jobs whose time to live ends within a span, or all at once, on a real control
 * plane: which calls does one cost, how long after it is due is it deleted, and does a cascade
 * beside it take longer?
 *
 * What must stay true: the Jobs are there and finished before Kinfold starts, and none is due
 * before the cascades without them are measured; those with them begin when the first is due.
 *
 * Not here: the Jobs themselves (finished-job.ts).
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { ruleDigest } from '../../core/model/rule/rule.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import { type DepartureWatch, watchDepartures } from '../rig/departure-watch.ts'
import { createFamily, createNamespace, deleteMember } from '../rig/family.ts'
import { cpuSeconds } from '../rig/process-usage.ts'
import type { Report } from '../rig/report.ts'
import { machine, quantile, rounded, type Table } from '../rig/report.ts'
import { STALLS_FILE, type StallLine } from '../rig/stall-probe.ts'
import { createJobs, finishJobs, JOBS, jobName, jobRule } from './finished-job.ts'

export interface ExpiryOptions extends Readonly<Record<string, number>> {
  readonly jobs: number
  /** Seconds within which they become due, evenly; 0: all at once. */
  readonly span: number
  /** 1: as the built-in rule deletes them; 0: in the background. */
  readonly foreground: number
  /** Of each cascade beside it. */
  readonly dependents: number
  /** Seconds between two of them. */
  readonly every: number
  /** Seconds of cascades before any Job is due. */
  readonly quiet: number
}

export interface Expiry {
  /** By `VERB jobs`, of all Jobs. */
  readonly calls: Readonly<Record<string, number>>
  /** From when a Job was due to its deletion, by this machine's clock. */
  readonly delaysMs: readonly number[]
  /** From the deletion of an owner to that of its last dependent. */
  readonly quietMs: readonly number[]
  readonly besideMs: readonly number[]
  /** From when the first was due to the last deletion. */
  readonly seconds: number
  readonly cpuSeconds: number
  readonly longestStallMs: number
}

/** Etcd waits for the disk as it does in earnest. */
const DURABLE = ['--unsafe-no-fsync=false']
const PROBE = join(import.meta.dirname, '..', 'rig', 'stall-probe.ts')
/** Between making a family and deleting its owner: nothing of it is under way then. */
const PAUSE_MS = 150
const LOOK_MS = 100
/** After this long without a change of the counts, everything under way is counted. */
const REST_MS = 500
/** Until Kinfold is ready: what it takes, and what each Job may take on a busy machine. */
const START_MS = 20_000
const START_JOB_MS = 2
/** To finish a Job takes about as long as to create it; so many times that is left. */
const FINISHING = 2

export async function benchExpiry(options: ExpiryOptions): Promise<Report> {
  const expiry = await measured(options)
  return {
    bench: 'rules',
    options,
    machine: machine(),
    tables: [callsOf(expiry, options), timesOf(expiry, options)],
    measured: expiry,
  }
}

async function measured(options: ExpiryOptions): Promise<Expiry> {
  const { jobs, quiet } = options
  await using plane = await startControlPlane({ etcdArgs: DURABLE })
  await createNamespace(plane)
  const began = Date.now()
  await createJobs(plane, jobs)
  const createdMs = Date.now() - began
  say(`created ${jobs} Jobs in ${rounded(createdMs / 1_000)} s`)
  const leadMs = FINISHING * createdMs + START_MS + START_JOB_MS * jobs + quiet * 1_000
  const firstMs = Math.ceil((Date.now() + leadMs) / 1_000) * 1_000
  const due = dueTimes(options, firstMs)
  await finishJobs(plane, due)
  say(`finished; the first is due in ${rounded((firstMs - Date.now()) / 1_000)} s`)
  using left = await watchDepartures(plane, JOBS)
  using gone = await watchDepartures(plane)
  await using kinfold = await startWithRule(plane, options.foreground > 0)
  if (Date.now() + quiet * 1_000 > firstMs) throw new Error('Jobs are due before all is ready')
  const field = { plane, gone, options }
  const quietMs = await cascades(field, 'quiet', () => Date.now() < firstMs - options.every * 1_000)
  while (Date.now() < firstMs) await delay(LOOK_MS)
  return {
    quietMs,
    ...(await expire(field, kinfold, left, due)),
  }
}

interface Field {
  readonly plane: ControlPlane
  /** Of members of families. */
  readonly gone: DepartureWatch
  readonly options: ExpiryOptions
}

async function expire(
  field: Field,
  { process: kinfold, directory }: RuleProcess,
  left: DepartureWatch,
  due: readonly number[],
): Promise<Omit<Expiry, 'quietMs'>> {
  const callsBefore = await countsOf(field.plane)
  const cpuBefore = cpuSeconds(kinfold.pid)
  const from = Date.now()
  const besideMs = await cascades(field, 'beside', () => left.count < due.length)
  while (left.count < due.length) await delay(LOOK_MS)
  const to = Date.now()
  const used = cpuSeconds(kinfold.pid) - cpuBefore
  const calls = differences(callsBefore, await countsAtRest(field.plane))
  await kinfold.assertRunning()
  const delaysMs = await Promise.all(
    due.map(async (at, index) => {
      return performance.timeOrigin + (await left.departed(jobName(index))) - at
    }),
  )
  return {
    ...{ calls, delaysMs, besideMs },
    seconds: Math.max(...delaysMs.map((each, index) => each + (due[index] ?? 0) - from)) / 1_000,
    cpuSeconds: used,
    longestStallMs: longestStall(directory, from, to),
  }
}

function dueTimes({ jobs, span }: ExpiryOptions, firstMs: number): readonly number[] {
  return Array.from({ length: jobs }, (_, index) => {
    return firstMs + Math.floor((index * span) / jobs) * 1_000
  })
}

interface RuleProcess extends AsyncDisposable {
  readonly process: KinfoldProcess
  readonly directory: string
}

/** Ready, and an order enforces the rule. */
async function startWithRule(plane: ControlPlane, isForeground: boolean): Promise<RuleProcess> {
  const directory = mkdtempSync(join(tmpdir(), 'kinfold-bench-'))
  const removed = (): void => {
    if (process.env['KINFOLD_BENCH_KEEP'] !== undefined) say(`its data are in ${directory}`)
    else rmSync(directory, { recursive: true, force: true })
  }
  try {
    const { rule, yaml } = jobRule(isForeground)
    const config = join(directory, 'kinfold.yaml')
    writeFileSync(config, yaml)
    const acting = ['--mode', 'enforce', '--preset', 'parity', '--log-level', 'warn']
    const started = await KinfoldProcess.spawn({
      kubeconfig: plane.kubeconfig,
      data: join(directory, 'data'),
      flags: [...acting, '--config', config],
      nodeArgs: ['--import', PROBE, ...NODE_ARGS],
    })
    await ready(started)
    await started.order('enforce-rule', 'bench', { subject: rule.name, digest: ruleDigest(rule) })
    return {
      ...{ process: started, directory },
      async [Symbol.asyncDispose]() {
        await started.stop()
        removed()
      },
    }
  } catch (error) {
    removed()
    throw error
  }
}

/** However long it takes to list the Jobs. */
async function ready(kinfold: KinfoldProcess): Promise<void> {
  for (let isReady = false; !isReady; await delay(LOOK_MS)) {
    await kinfold.assertRunning()
    // Its endpoint is not there at first, or has no time to answer.
    isReady = await kinfold.isReady().catch(() => false)
  }
}

/** For Node itself, such as a profiler's. */
const NODE_ARGS = (process.env['KINFOLD_BENCH_NODE_ARGS'] ?? '').split(' ').filter(Boolean)

/** One after the other, and at least one; what each took. */
async function cascades(
  { plane, gone, options }: Field,
  name: string,
  isOn: () => boolean,
): Promise<readonly number[]> {
  const took: number[] = []
  do {
    const began = Date.now()
    const family = await createFamily(plane, `${name}-${took.length}`, options.dependents)
    await delay(PAUSE_MS)
    await deleteMember(plane, family.owner)
    const from = await gone.departed(family.owner.name)
    const { last } = await gone.allDeparted(family.dependents.map((each) => each.name))
    took.push(last - from)
    while (isOn() && Date.now() < began + options.every * 1_000) await delay(LOOK_MS)
  } while (isOn())
  return took
}

async function countsOf(plane: ControlPlane): Promise<Readonly<Record<string, number>>> {
  const counts = await plane.requestCounts()
  return Object.fromEntries([...counts].filter(([call]) => call.endsWith(' jobs')))
}

/** The watch may deliver a change before the server has counted the request that made it. */
async function countsAtRest(plane: ControlPlane): Promise<Readonly<Record<string, number>>> {
  for (let counts = await countsOf(plane); ; ) {
    await delay(REST_MS)
    const later = await countsOf(plane)
    if (isDeepStrictEqual(counts, later)) return later
    counts = later
  }
}

function differences(
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> {
  const moved = Object.entries(after).map(([key, value]) => [key, value - (before[key] ?? 0)])
  return Object.fromEntries(moved.filter(([, value]) => value !== 0))
}

function longestStall(directory: string, from: number, to: number): number {
  const lines = readFileSync(join(directory, STALLS_FILE), 'utf8').trimEnd().split('\n')
  const within = lines
    .map((line) => JSON.parse(line) as StallLine)
    .filter(({ atMs }) => atMs >= from && atMs <= to)
  return Math.max(0, ...within.map(({ longestMs }) => longestMs))
}

function callsOf({ calls, seconds, cpuSeconds: cpu }: Expiry, { jobs }: ExpiryOptions): Table {
  const all = Object.values(calls).reduce((sum, count) => sum + count, 0)
  const each = Object.entries(calls).map(([call, count]) => [call, count, rounded(count / jobs, 3)])
  return {
    title: `Calls about Jobs from when the first was due: ${rounded(seconds, 1)} s until the last was deleted, ${rounded((cpu / jobs) * 1_000, 2)} ms of CPU a Job, cascades included`,
    columns: ['', 'all', 'of each'],
    rows: [...each, ['together', all, rounded(all / jobs, 3)]],
  }
}

function timesOf(
  { delaysMs, quietMs, besideMs, longestStallMs }: Expiry,
  { dependents }: ExpiryOptions,
): Table {
  const row = (name: string, all: readonly number[]): (string | number)[] => {
    return [name, all.length, ...[0.5, 0.99, 1].map((share) => rounded(quantile(all, share)))]
  }
  return {
    title: `Milliseconds; the event loop was held up for ${rounded(longestStallMs)} at most`,
    columns: ['', 'of', 'p50', 'p99', 'longest'],
    rows: [
      row('a Job, from when it was due to its deletion', delaysMs),
      row(`a cascade of ${dependents} without Jobs that are due`, quietMs),
      row('a cascade beside them', besideMs),
    ],
  }
}

function say(text: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`)
}
