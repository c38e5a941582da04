/**
 * The contenders of a cascade: raw calls, the same with the records of them, Kinfold in either
 * preset, and the collector inside kube-controller-manager with its client's limits lifted.
 *
 * What must stay true: each runs in a process of its own and alone; its reported beginning is the
 * moment from which it could work.
 */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { ControlPlane } from '../../testing/cluster/control-plane.ts'
import type { Family } from './family.ts'
import { deleteMember } from './family.ts'
import { startKinfold } from './measured-kinfold.ts'
import type { PolicyName } from './policy.ts'

/**
 * `recorded` is the least cost of a collector that records its work (recording.ts). `kinfold` is in
 * the preset `parity`, `guarded` is Kinfold in the other one.
 */
export type ContenderName = 'raw' | 'recorded' | 'kinfold' | 'guarded' | 'upstream'

export interface Contender extends AsyncDisposable {
  readonly pid: number
  /**
   * Deletes the owner; resolves with the monotonic time from which its dependents can be dealt
   * with.
   */
  begin(family: Family, policy: PolicyName): Promise<number>
}

export async function startContender(name: ContenderName, plane: ControlPlane): Promise<Contender> {
  switch (name) {
    case 'raw':
    case 'recorded':
      return await startRaw(plane, name)
    case 'kinfold':
    case 'guarded': {
      const preset = name === 'guarded' ? 'guarded' : 'parity'
      const kinfold = await startKinfold(plane.kubeconfig, preset)
      return collectorOf(plane, kinfold.pid, kinfold)
    }
    case 'upstream': {
      const options = { collector: true, clientLimitsLifted: true }
      const manager = await plane.startControllerManager(options)
      return collectorOf(plane, manager.process.pid, manager)
    }
  }
}

function collectorOf(plane: ControlPlane, pid: number, process: AsyncDisposable): Contender {
  return {
    pid,
    async begin({ owner }, policy) {
      await deleteMember(plane, owner, policy)
      return performance.now()
    },
    [Symbol.asyncDispose]: async () => await process[Symbol.asyncDispose](),
  }
}

async function startRaw(plane: ControlPlane, manner: 'raw' | 'recorded'): Promise<Contender> {
  const script = fileURLToPath(new URL('../raw-calls.ts', import.meta.url))
  const child = spawn(process.execPath, [script, plane.kubeconfig, manner], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const { done } = await lines.next()
  if (done === true || child.pid === undefined) throw new Error('raw-calls.ts did not start')
  return {
    pid: child.pid,
    async begin(family, policy) {
      await deleteMember(plane, family.owner, policy)
      const began = performance.now()
      child.stdin.write(`${JSON.stringify({ ...family, policy })}\n`)
      return began
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end()
      await exited
    },
  }
}
