/**
 * One `kinfold graph` over Kafka that has folded very many objects: how much memory does it use
 * once it is idle?
 *
 * What must stay true: all objects stay, each a dependent or an owner of four; the process is the
 * one that users run, with its index and its endpoint.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { ServiceProcess } from '../testing/process/kinfold-services.ts'
import { startGraphs } from './latency.ts'
import { fill, say, startField } from './rig/kafka-field.ts'
import { memoryLimit } from './rig/memory-limit.ts'
import { cpuSeconds, type Memory, memoryOf } from './rig/process-usage.ts'
import type { Report } from './rig/report.ts'
import { machine, rounded } from './rig/report.ts'

export interface HoldingOptions extends Readonly<Record<string, number>> {
  readonly objects: number
  readonly partitions: number
  /** Of the process' memory in MB, mapped files included; 0 for none. */
  readonly limit: number
}

const LOOK_MS = 5_000
const IDLE_MS = 60_000
/** CPU of a second below which it is idle. */
const IDLE_SHARE = 0.1

export async function benchHolding(options: HoldingOptions): Promise<Report> {
  const { objects, partitions, limit } = options
  using limited = limit > 0 ? memoryLimit(limit) : undefined
  await using field = await startField()
  await using turn = await field.turn('holding', partitions)
  const [graph] = startGraphs(field, turn, partitions, 1)
  if (graph === undefined) throw new Error('no process')
  try {
    await graph.start()
    limited?.add(graph.pid)
    await graph.ready()
    // Now, not before: it appends its policy when it has none yet, and after all these each of them
    // would be judged anew for it.
    const began = performance.now()
    const ends = await fill(turn.log, { events: objects, living: undefined })
    await folded(graph, ends)
    const loadedMs = performance.now() - began
    await idle(graph.pid)
    const loaded = memoryOf(graph.pid)
    const cpu = cpuSeconds(graph.pid)
    await delay(IDLE_MS)
    const later: Memory = memoryOf(graph.pid)
    const idleCpu = cpuSeconds(graph.pid) - cpu
    await graph.assertRunning()
    const row = [
      objects,
      rounded(loadedMs / 1_000, 1),
      rounded(cpu, 1),
      rounded((idleCpu / IDLE_MS) * 1e6),
      ...[loaded.residentMb, later.residentMb, later.peakMb].map((mb) => rounded(mb)),
    ]
    return {
      bench: 'holding',
      options,
      machine: machine(),
      tables: [
        {
          title: `Resident memory in MB: when loaded, ${IDLE_MS / 1_000} s later, and the most it ever was`,
          columns: ['objects', 'loaded s', 'CPU s', 'idle CPU ms/s', 'loaded', 'later', 'peak'],
          rows: [row],
        },
      ],
      measured: { loadedMs, cpu, idleCpu, loaded, later },
    }
  } finally {
    await graph.kill()
  }
}

/** Until all of each partition is. */
async function folded(graph: ServiceProcess, ends: readonly number[]): Promise<void> {
  const events = ends.reduce((sum, end) => sum + end, 0)
  for (let position = 0; position < events; ) {
    await graph.assertRunning()
    await delay(LOOK_MS)
    const text = await (await graph.ask('/metrics')).text()
    const found = [
      ...text.matchAll(/^kinfold_replay_position\{[^}]*\bpartition="(\d+)"[^}]*\} (\d+)/gm),
    ]
    const reached = found.map(([, partition, at]) => Math.min(ends[Number(partition)]!, Number(at)))
    position = reached.reduce((sum, each) => sum + each, 0)
    say(`${position} of ${events}, ${memoryText(graph.pid)}`)
  }
}

/** Until its other work, such as its index, is done. */
async function idle(pid: number): Promise<void> {
  for (let before = Number.NEGATIVE_INFINITY; ; ) {
    const now = cpuSeconds(pid)
    say(`CPU ${rounded(now, 1)} s, ${memoryText(pid)}`)
    if (now - before < (LOOK_MS / 1_000) * IDLE_SHARE) return
    before = now
    await delay(LOOK_MS)
  }
}

function memoryText(pid: number): string {
  const { residentMb, anonymousMb } = memoryOf(pid)
  return `${rounded(residentMb)} MB, of it anonymous ${rounded(anonymousMb)}`
}
