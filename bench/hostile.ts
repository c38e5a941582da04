/**
 * What a hostile tenant does to others, and what it costs: while it acts in its own namespace,
 * owners of another namespace are deleted one after the other; Kinfold and the collector inside
 * kube-controller-manager by turns.
 *
 * What must stay true: both meet the same server, the same acts and the same bystanders, one at a
 * time; the CPU of an act is counted until its contender rests again, so nothing that was put off
 * is left out.
 *
 * Not here: the acts (hostile-act.ts).
 */
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { type ControlPlane, startControlPlane } from '../testing/cluster/control-plane.ts'
import { ACTS, type Act, HOSTILE, Tenant } from './hostile-act.ts'
import { type ContenderName, startContender } from './rig/contender.ts'
import { type DepartureWatch, watchDepartures } from './rig/departure-watch.ts'
import { createFamily, createNamespace, deleteMember, NAMESPACE } from './rig/family.ts'
import { cpuSeconds } from './rig/process-usage.ts'
import { machine, quantile, type Report, rounded, type Table } from './rig/report.ts'

export interface HostileOptions extends Readonly<Record<string, number>> {
  /** Which act alone, counted from 1; 0: all. */
  readonly act: number
  /** Of the acts as they are described, in percent. */
  readonly scale: number
  /** Milliseconds between two owners of bystanders. */
  readonly every: number
  /** Seconds after which a contender that does not rest is no longer waited for. */
  readonly patience: number
}

export interface HostileTurn {
  readonly act: string
  readonly contender: ContenderName
  /** From the DELETE of a bystander's owner to the departure of its dependent. */
  readonly bystanderMs: readonly number[]
  readonly cpuSeconds: number
  /** Passed to `write` and the like, by the contender's process. */
  readonly writtenBytes: number
  readonly sentBytes: number
  readonly seconds: number
  /** It rested again within the patience. */
  readonly isAtRest: boolean
}

const ORDER: readonly ContenderName[] = ['kinfold', 'upstream']
/** At rest: less than this share of a core over so long, twice. */
const REST_MS = 2_000
const REST_CPU_SECONDS = 0.15

interface Field {
  readonly plane: ControlPlane
  readonly watch: DepartureWatch
  readonly options: HostileOptions
}

export async function benchHostile(options: HostileOptions): Promise<Report> {
  // References above 1 MiB of an object are refused; so many in one object need the room that etcd
  // gives.
  await using plane = await startControlPlane()
  await createNamespace(plane)
  await plane.request('POST', '/api/v1/namespaces', { metadata: { name: HOSTILE } })
  using watch = await watchDepartures(plane)
  const acts = options.act === 0 ? ACTS : ACTS.slice(options.act - 1, options.act)
  const turns: HostileTurn[] = []
  for (const [index, act] of acts.entries()) {
    for (const name of index % 2 === 0 ? ORDER : ORDER.toReversed()) {
      const turn = await takeTurn({ plane, watch, options }, act, name)
      turns.push(turn)
      process.stderr.write(`${lineOf(turn)}\n`)
      await plane.request('DELETE', `/api/v1/namespaces/${HOSTILE}/configmaps`)
      await plane.request('DELETE', `/api/v1/namespaces/${NAMESPACE}/configmaps`)
    }
  }
  return {
    bench: 'hostile',
    options,
    machine: machine(),
    tables: [tableOf(acts, turns)],
    measured: turns,
  }
}

async function takeTurn(field: Field, act: Act, name: ContenderName): Promise<HostileTurn> {
  const { plane, watch, options } = field
  const prefix = `${act.name}-${name}`
  const canary = await createFamily(plane, `${prefix}-warm`, 50)
  await using contender = await startContender(name, plane)
  await contender.begin(canary, 'background')
  await watch.allDeparted(canary.dependents.map((each) => each.name))
  await rest(contender.pid, options.patience)

  const stranger = await createFamily(plane, `${prefix}-stranger`, 1)
  const reference = { apiVersion: 'v1', kind: 'ConfigMap', ...only(stranger.owner) }
  const tenant = new Tenant(plane, reference)
  const began = performance.now()
  const [cpu, written] = [cpuSeconds(contender.pid), writtenBytes(contender.pid)]
  const stop = new AbortController()
  const bystanders = keepDeleting(field, `${prefix}-by`, stop.signal)
  await act.run(tenant, options.scale / 100)
  const isAtRest = await rest(contender.pid, options.patience, options.every)
  stop.abort()
  const bystanderMs = await bystanders
  return {
    act: act.name,
    contender: name,
    bystanderMs,
    cpuSeconds: cpuSeconds(contender.pid) - cpu,
    writtenBytes: writtenBytes(contender.pid) - written,
    sentBytes: tenant.sentBytes,
    seconds: (performance.now() - began) / 1_000,
    isAtRest,
  }
}

function only({ name, uid }: { readonly name: string; readonly uid: string }): {
  name: string
  uid: string
} {
  return { name, uid }
}

/**
 * Deletes an owner of one dependent at an even rate, whether or not those before have been dealt
 * with.
 */
async function keepDeleting(
  { plane, watch, options }: Field,
  prefix: string,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const latencies: Promise<number>[] = []
  for (let index = 0; !signal.aborted; index++) {
    const { owner, dependents } = await createFamily(plane, `${prefix}-${index}`, 1)
    await delay(options.every)
    const from = performance.now()
    await deleteMember(plane, owner)
    const names = dependents.map(({ name }) => name)
    latencies.push(watch.allDeparted(names).then(({ last }) => last - from))
  }
  return await Promise.all(latencies)
}

/** False where it does not within the patience. A bystander every so often costs a little, too. */
async function rest(pid: number, patience: number, every?: number): Promise<boolean> {
  const ends = performance.now() + patience * 1_000
  const most = REST_CPU_SECONDS + (every === undefined ? 0 : (REST_MS / every) * 0.02)
  let quiet = 0
  while (performance.now() < ends) {
    const before = cpuSeconds(pid)
    await delay(REST_MS)
    quiet = cpuSeconds(pid) - before < most ? quiet + 1 : 0
    if (quiet === 2) return true
  }
  return false
}

function writtenBytes(pid: number): number {
  return Number(/^wchar: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1])
}

function lineOf(turn: HostileTurn): string {
  const { act, contender, bystanderMs, cpuSeconds: cpu, isAtRest } = turn
  const [p50, p99] = [quantile(bystanderMs, 0.5), quantile(bystanderMs, 0.99)].map((each) =>
    rounded(each),
  )
  const left = isAtRest ? '' : ', not at rest'
  return `${act}, ${contender}: p50 ${p50} ms, p99 ${p99} ms, CPU ${rounded(cpu, 1)} s${left}`
}

function tableOf(acts: readonly Act[], turns: readonly HostileTurn[]): Table {
  const cpuOf = (act: string, name: ContenderName): number =>
    turns.find((turn) => turn.act === act && turn.contender === name)?.cpuSeconds ?? Number.NaN
  const rows = acts.flatMap(({ name }) =>
    turns
      .filter(({ act }) => act === name)
      .map((turn) => {
        const ms = (share: number): number => rounded(quantile(turn.bystanderMs, share))
        const isOurs = turn.contender === 'kinfold'
        return [
          name,
          turn.contender,
          turn.bystanderMs.length,
          ms(0.5),
          ms(0.95),
          ms(0.99),
          rounded(turn.cpuSeconds, 1),
          isOurs ? rounded(cpuOf(name, 'kinfold') / cpuOf(name, 'upstream'), 2) : '',
          isOurs ? rounded(turn.writtenBytes / 1e6, 1) : '',
          rounded(turn.sentBytes / 1e6, 1),
          turn.isAtRest ? rounded(turn.seconds) : `over ${rounded(turn.seconds)}`,
        ]
      }),
  )
  const columns = ['act', '', 'bystanders', 'p50 ms', 'p95 ms', 'p99 ms', 'CPU s', '/ upstream']
  return {
    title: 'Deletion of a bystander’s dependent while a tenant acts, and CPU until at rest',
    columns: [...columns, 'MB written', 'MB sent', 'seconds'],
    rows,
  }
}
