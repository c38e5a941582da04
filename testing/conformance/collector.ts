/**
 * The two collectors that are held against each other, each in a process of its own on the same control plane: the one inside
 * kube-controller-manager, and Kinfold.
 *
 * What must stay true: `kill` is SIGKILL and leaves what is durable; `start` goes on from there.
 */
import { join } from 'node:path'
import type { ControlPlane } from '../cluster/control-plane.ts'
import type { ControllerManager } from '../cluster/controller-manager.ts'
import { ACTING, KinfoldProcess } from '../kinfold-process.ts'

export type CollectorName = 'upstream' | 'kinfold'

export interface Collector extends AsyncDisposable {
  readonly name: CollectorName
  /** It is under way, if it was not already; canary.ts tells when it acts. */
  start(): Promise<void>
  kill(): Promise<void>
}

export interface CollectorOptions {
  /** Of Kinfold's log; 1 unless given. */
  readonly partitions?: number
}

export function collectorOf(
  name: CollectorName,
  plane: ControlPlane,
  { partitions = 1 }: CollectorOptions = {},
): Collector {
  return name === 'upstream' ? upstreamOn(plane) : kinfoldOn(plane, partitions)
}

function upstreamOn(plane: ControlPlane): Collector {
  let manager: ControllerManager | undefined
  return {
    name: 'upstream',
    async start() {
      if (manager?.process.isRunning) return
      // Its default of 20 requests a second would make the suite wait for its client.
      const options = { collector: true, clientLimitsLifted: true }
      manager = await plane.startControllerManager(options)
    },
    async kill() {
      await manager?.[Symbol.asyncDispose]()
      manager = undefined
    },
    async [Symbol.asyncDispose]() {
      await this.kill()
    },
  }
}

function kinfoldOn({ kubeconfig, folder }: ControlPlane, partitions: number): Collector {
  const data = join(folder, 'kinfold')
  const flags = [...ACTING, '--partitions', String(partitions), '--log-level', 'warn']
  let kinfold: KinfoldProcess | undefined
  return {
    name: 'kinfold',
    async start() {
      if (kinfold?.isRunning) return
      // Not until it is ready: with a broken kind in the cluster it never says so.
      kinfold = await KinfoldProcess.spawn({ kubeconfig, data, flags })
    },
    async kill() {
      await kinfold?.kill()
      kinfold = undefined
    },
    async [Symbol.asyncDispose]() {
      await this.kill()
    },
  }
}
