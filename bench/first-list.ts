/**
 * The way in: a cluster of very many objects is listed for the first time, and after a restart.
 * How long until Kinfold is ready, and how much CPU does an object cost, by part?
 *
 * What must stay true: the API server is the playground's own, in a process of its own, and has its
 * objects before Kinfold starts; what a start takes without any object is measured, too, and taken
 * off. With `--against`, another checkout does the same by turns.
 *
 * Not here: how a profile is split (profile/parts.ts).
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { eventually } from '../testing/eventually.ts'
import { KinfoldProcess } from '../testing/process/kinfold-process.ts'
import { type Crowd, startCrowd } from './fanout.ts'
import { partsOf } from './profile/parts.ts'
import { cpuSeconds, memoryOf } from './rig/process-usage.ts'
import { machine, median, type Report, rounded, type Table } from './rig/report.ts'

export interface FirstListOptions extends Readonly<Record<string, number>> {
  readonly objects: number
  /** Dependents of each owner. */
  readonly family: number
  readonly rounds: number
  /** 1: a last round under V8's profiler. */
  readonly profile: number
}

const OWN = fileURLToPath(new URL('..', import.meta.url))
/** `kinfold up` replaces itself with a process that has these, and a profiler ends there. */
const LEAN = ['--max-semi-space-size=8', '--heap-growing-percent=50']

interface Start {
  readonly readyMs: number
  /** Until all is folded, which a process need not be to be ready. */
  readonly cpuSeconds: number
  readonly peakMb: number
}

/** A start with an empty directory, and one with what that left. */
interface Round {
  readonly first: Start
  readonly again: Start
}

export async function benchFirstList(options: FirstListOptions, against: string): Promise<Report> {
  const { objects, family, rounds } = options
  const roots = against === '' ? [OWN] : [against, OWN]
  const names = against === '' ? ['this checkout'] : ['against', 'this checkout']
  await using crowd = await startCrowd(objects, { families: Math.ceil(objects / (family + 1)) })
  await using nobody = await startCrowd(0, { families: 1 })
  await compiled(roots, nobody)
  const idle = await byTurns(roots, nobody, rounds)
  const full = await byTurns(roots, crowd, rounds)
  const profiled = options.profile === 0 ? [] : [await profileOf(crowd)]
  const rows = names.flatMap((name, at) => rowsOf(name, full[at] ?? [], idle[at] ?? [], objects))
  return {
    bench: 'first-list',
    options,
    machine: machine(),
    tables: [
      {
        title:
          'Medians: time until ready, CPU until all is folded, of an object without what a start takes',
        columns: ['', 'ready s', 'CPU s', 'a start: CPU s', 'CPU µs an object', 'peak MB'],
        rows,
      },
      ...profiled.flatMap((each) => partTables(each, objects)),
    ],
    measured: { idle, full },
  }
}

/** So that no start that is measured compiles the program. */
async function compiled(roots: readonly string[], nobody: Crowd): Promise<void> {
  process.env['NODE_COMPILE_CACHE'] ??= join(tmpdir(), 'kinfold-bench-compiled')
  for (const root of roots) await roundOf(root, nobody)
}

/** Of each checkout its rounds; who begins changes with each. */
async function byTurns(
  roots: readonly string[],
  crowd: Crowd,
  rounds: number,
): Promise<readonly (readonly Round[])[]> {
  const all = roots.map((): Round[] => [])
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? roots.keys() : [...roots.keys()].reverse()
    for (const at of order) all[at]!.push(await roundOf(roots[at]!, crowd))
  }
  return all
}

async function roundOf(root: string, crowd: Crowd): Promise<Round> {
  const directory = mkdtempSync(join(tmpdir(), 'kinfold-first-list-'))
  try {
    const first = await start(root, crowd, directory)
    const again = await start(root, crowd, directory)
    return { first, again }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

async function start(
  root: string,
  { kubeconfig }: Crowd,
  directory: string,
  nodeArgs: readonly string[] = [],
): Promise<Start> {
  const began = performance.now()
  const kinfold = await KinfoldProcess.start({
    ...{ kubeconfig, root, nodeArgs },
    data: join(directory, 'data'),
    flags: ['--mode', 'enforce', '--preset', 'parity', '--log-level', 'warn'],
  })
  const readyMs = performance.now() - began
  await eventually('all is folded', async () => {
    const lag = await kinfold.metric('kinfold_ingest_lag_messages')
    return lag === 0 || `${lag} events are left`
  })
  const used = { cpuSeconds: cpuSeconds(kinfold.pid), peakMb: memoryOf(kinfold.pid).peakMb }
  await kinfold.stop()
  return { readyMs, ...used }
}

interface Parts {
  readonly first: ReadonlyMap<string, number>
  readonly again: ReadonlyMap<string, number>
}

async function profileOf(crowd: Crowd): Promise<Parts> {
  const directory = mkdtempSync(join(tmpdir(), 'kinfold-first-list-'))
  const profiled = async (name: string): Promise<ReadonlyMap<string, number>> => {
    const to = join(directory, name)
    await start(OWN, crowd, directory, [...LEAN, '--cpu-prof', `--cpu-prof-dir=${to}`])
    return partsOf(to)
  }
  try {
    return { first: await profiled('first'), again: await profiled('again') }
  } finally {
    if (process.env['KINFOLD_BENCH_KEEP'] === undefined) {
      rmSync(directory, { recursive: true, force: true })
    } else process.stderr.write(`profiles are in ${directory}\n`)
  }
}

function rowsOf(
  name: string,
  full: readonly Round[],
  idle: readonly Round[],
  objects: number,
): (string | number)[][] {
  return (['first', 'again'] as const).map((which) => {
    const of = (rounds: readonly Round[], what: keyof Start): number =>
      median(rounds.map((round) => round[which][what]))
    const cpu = of(full, 'cpuSeconds')
    const base = of(idle, 'cpuSeconds')
    return [
      which === 'first' ? name : `${name}, restarted`,
      rounded(of(full, 'readyMs') / 1_000, 1),
      rounded(cpu, 1),
      rounded(base, 1),
      rounded(((cpu - base) / objects) * 1e6),
      rounded(of(full, 'peakMb')),
    ]
  })
}

function partTables({ first, again }: Parts, objects: number): Table[] {
  const parts = [...new Set([...first.keys(), ...again.keys()])]
  const of = (sums: ReadonlyMap<string, number>, part: string): number =>
    rounded((sums.get(part) ?? 0) / objects, 1)
  return [
    {
      title:
        'Main thread of this checkout by part: wall time to its end, a start and waits for the disk included',
      columns: ['', 'first: µs an object', 'restarted: µs an object'],
      rows: parts.map((part) => [part, of(first, part), of(again, part)]),
    },
  ]
}
