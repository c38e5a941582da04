/**
 * Very many objects on a real control plane: how much memory does Kinfold use once it has listed
 * them all, and how fast does it list them?
 *
 * What must stay true: objects are there before Kinfold starts, so the measured time is that of a
 * sync from nothing.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type ControlPlane, startControlPlane } from '../testing/cluster/control-plane.ts'
import { createFamily, createNamespace } from './rig/family.ts'
import { startKinfold } from './rig/measured-kinfold.ts'
import { cpuSeconds, type Memory, memoryOf } from './rig/process-usage.ts'
import type { Report } from './rig/report.ts'
import { machine, rounded } from './rig/report.ts'

export interface MemoryOptions extends Readonly<Record<string, number>> {
  readonly objects: number
}

/** Dependents of each owner, about as many as a large ReplicaSet has. */
const FAMILY = 100
/** After the sync: memory is sampled until this long after it. */
const WATCH_MS = 60_000
const LOOK_MS = 2_000

interface Look extends Memory {
  /** Since Kinfold was ready. */
  readonly seconds: number
}

export async function benchMemory(options: MemoryOptions): Promise<Report> {
  await using plane = await startControlPlane()
  await createNamespace(plane)
  await createObjects(plane, options.objects)
  await using kinfold = await startKinfold(plane.kubeconfig)
  const cpu = cpuSeconds(kinfold.pid)
  const looks: Look[] = []
  for (let ms = 0; ms <= WATCH_MS; ms += LOOK_MS) {
    looks.push({ seconds: ms / 1_000, ...memoryOf(kinfold.pid) })
    await delay(LOOK_MS)
  }
  const last = looks.at(-1) as Look
  const perSecond = (options.objects / kinfold.readyMs) * 1_000
  const row = [
    options.objects,
    rounded(kinfold.readyMs / 1_000, 1),
    rounded(perSecond),
    rounded(cpu, 1),
    ...[looks[0]?.residentMb ?? 0, last.residentMb, last.peakMb].map((mb) => rounded(mb)),
  ]
  return {
    bench: 'memory',
    options,
    machine: machine(),
    tables: [
      {
        title: `Resident memory in MB: when ready, ${WATCH_MS / 1_000} s later, and the most it ever was`,
        columns: ['objects', 'ready s', 'objects/s', 'CPU s', 'ready', 'later', 'peak'],
        rows: [row],
      },
    ],
    measured: { readyMs: kinfold.readyMs, cpuSeconds: cpu, looks },
  }
}

async function createObjects(plane: ControlPlane, count: number): Promise<void> {
  for (let made = 0; made < count; made += FAMILY) {
    await createFamily(plane, `family-${made}`, Math.min(FAMILY, count - made) - 1)
  }
}
