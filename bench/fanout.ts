/**
 * One owner of very many: does Kinfold's event loop stay free, its memory flat, and its time in
 * proportion?
 *
 * What must stay true: the API server is the playground's own, in a process of its own and reached
 * over HTTP like any other, so that it can hold more objects than a real one on this machine could
 * create in reasonable time.
 */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Preset } from '../core/model/policy.ts'
import { startKinfold } from './rig/measured-kinfold.ts'
import type { PolicyName } from './rig/policy.ts'
import { cpuSeconds } from './rig/process-usage.ts'
import type { Report } from './rig/report.ts'
import { machine, quantile, rounded } from './rig/report.ts'
import { STALLS_FILE, type StallLine } from './rig/stall-probe.ts'

export interface FanoutOptions extends Readonly<Record<string, number>> {
  readonly dependents: number
}

/** The output of the crowd's server, a line of JSON each. */
interface CrowdLine {
  readonly kubeconfig?: string
  readonly left?: number
}

/** How many dependents were left, at a wall time. */
interface Look {
  readonly atMs: number
  readonly left: number
}

const LOOK_MS = 250
const PROBE = fileURLToPath(new URL('rig/stall-probe.ts', import.meta.url))

export async function benchFanout(
  options: FanoutOptions,
  policy: PolicyName = 'background',
  preset: Preset = 'parity',
): Promise<Report> {
  await using crowd = await startCrowd(options.dependents, { policy })
  await using kinfold = await startKinfold(crowd.kubeconfig, preset, ['--import', PROBE])
  const cpuReady = cpuSeconds(kinfold.pid)
  const looks: Look[] = [{ atMs: Date.now(), left: options.dependents }]
  crowd.deleteOwner()
  for await (const left of crowd.left()) {
    await kinfold.assertRunning()
    looks.push({ atMs: Date.now(), left })
    if (left === 0) break
  }
  const lines = readFileSync(join(kinfold.directory, STALLS_FILE), 'utf8').trimEnd().split('\n')
  const stalls = lines.map((line) => JSON.parse(line) as StallLine)
  const from = looks[0]?.atMs ?? 0
  const seconds = ((looks.at(-1)?.atMs ?? 0) - from) / 1_000
  const cpu = cpuSeconds(kinfold.pid) - cpuReady
  const row = (name: string, took: number, used: number, part: readonly StallLine[]) => [
    name,
    rounded(took, 1),
    rounded(options.dependents / took),
    rounded(used, 1),
    rounded(Math.max(...part.map(({ longestMs }) => longestMs))),
    rounded(Math.max(...part.map(({ longestCpuMs }) => longestCpuMs))),
    rounded(
      quantile(
        part.map(({ p99Ms }) => p99Ms),
        0.5,
      ),
    ),
    rounded(Math.max(...part.map(({ residentMb }) => residentMb))),
  ]
  const before = stalls.filter(({ atMs }) => atMs < from)
  const during = stalls.filter(({ atMs }) => atMs >= from)
  return {
    bench: 'fanout',
    options: { policy, preset, ...options },
    machine: machine(),
    tables: [
      {
        title:
          'Longest and usual (p99 of a second) hold-ups of the event loop, and the most memory',
        columns: ['', 's', 'objects/s', 'CPU s', 'longest ms', 'of it CPU', 'usual ms', 'peak MB'],
        rows: [
          row('sync', kinfold.readyMs / 1_000, cpuReady, before),
          row('cascade', seconds, cpu, during),
        ],
      },
      {
        title: 'Each tenth of the cascade: linear when they take the same time',
        columns: ['tenth', 's', 'longest ms', 'of it CPU', 'MB'],
        rows: tenthsOf(looks, during, options.dependents),
      },
      {
        title: 'What goes last, which is the owner unless it went first: how long it was alone',
        columns: ['', 's'],
        rows: [['last one', rounded(secondsAlone(looks), 1)]],
      },
    ],
    measured: { readyMs: kinfold.readyMs, seconds, looks, stalls },
  }
}

export interface Crowd extends AsyncDisposable {
  readonly kubeconfig: string
  deleteOwner(): void
  /** How many dependents are left, time and again. */
  left(): AsyncIterable<number>
}

/** `families`: owners, among whom the dependents are divided evenly. */
export async function startCrowd(
  dependents: number,
  {
    policy = 'background',
    families = 1,
  }: { readonly policy?: PolicyName; readonly families?: number } = {},
): Promise<Crowd> {
  const script = fileURLToPath(new URL('rig/crowd-server.ts', import.meta.url))
  const args = [script, String(dependents), String(LOOK_MS), policy, String(families)]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async (): Promise<CrowdLine> => {
    const { done, value } = await lines.next()
    if (done === true) throw new Error('crowd-server.ts has ended')
    return JSON.parse(value) as CrowdLine
  }
  const { kubeconfig = '' } = await next()
  return {
    kubeconfig,
    deleteOwner: () => child.stdin.write('\n'),
    async *left() {
      for (;;) yield (await next()).left ?? 0
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end()
      await new Promise((resolve) => child.once('exit', resolve))
    },
  }
}

function secondsAlone(looks: readonly Look[]): number {
  const alone = looks.find(({ left }) => left <= 1)
  return ((looks.at(-1)?.atMs ?? 0) - (alone?.atMs ?? 0)) / 1_000
}

function tenthsOf(
  looks: readonly Look[],
  stalls: readonly StallLine[],
  dependents: number,
): readonly (readonly number[])[] {
  const atMs = (tenth: number): number =>
    looks.find(({ left }) => dependents - left >= (dependents * tenth) / 10)?.atMs ?? 0
  return Array.from({ length: 10 }, (_, tenth) => {
    const [from, to] = [atMs(tenth), atMs(tenth + 1)]
    // The probe writes once a second, so a short tenth has the line that ends after it.
    const ends = stalls.find((each) => each.atMs >= to)?.atMs ?? Number.POSITIVE_INFINITY
    const within = stalls.filter((each) => each.atMs > from && each.atMs <= ends)
    const most = (of: (line: StallLine) => number): number =>
      rounded(Math.max(0, ...within.map(of)))
    return [
      tenth + 1,
      rounded((to - from) / 1_000, 1),
      most(({ longestMs }) => longestMs),
      most(({ longestCpuMs }) => longestCpuMs),
      most(({ residentMb }) => residentMb),
    ]
  })
}
