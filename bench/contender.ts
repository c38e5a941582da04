/**
 * Those who compete in a cascade: raw DELETEs, Kinfold, and the collector inside kube-controller-manager with its client's limits lifted.
 *
 * What must stay true: each runs in a process of its own and alone; what it says it began is the moment from which it could work.
 */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { ControlPlane } from '../testing/cluster/control-plane.ts'
import type { Family } from './family.ts'
import { deleteMember } from './family.ts'
import { startKinfold } from './measured-kinfold.ts'

export type ContenderName = 'raw' | 'kinfold' | 'upstream'

export interface Contender extends AsyncDisposable {
  readonly pid: number
  /** Deletes the owner, or what is left of the family; resolves with the monotonic time at which the dependents are garbage. */
  orphan(family: Family): Promise<number>
}

export async function startContender(name: ContenderName, plane: ControlPlane): Promise<Contender> {
  switch (name) {
    case 'raw':
      return await startRaw(plane)
    case 'kinfold': {
      const kinfold = await startKinfold(plane.kubeconfig)
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
    async orphan({ owner }) {
      await deleteMember(plane, owner)
      return performance.now()
    },
    [Symbol.asyncDispose]: async () => await process[Symbol.asyncDispose](),
  }
}

async function startRaw(plane: ControlPlane): Promise<Contender> {
  const script = fileURLToPath(new URL('raw-deletes.ts', import.meta.url))
  const child = spawn(process.execPath, [script, plane.kubeconfig], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const { done } = await lines.next()
  if (done === true || child.pid === undefined) throw new Error('raw-deletes.ts did not start')
  return {
    pid: child.pid,
    async orphan({ owner, dependents }) {
      await deleteMember(plane, owner)
      const began = performance.now()
      child.stdin.write(`${JSON.stringify(dependents)}\n`)
      return began
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end()
      await new Promise((resolve) => child.once('exit', resolve))
    },
  }
}
