/**
 * The two collectors that are compared, each in a process of its own on the same control plane: the
 * one inside kube-controller-manager, and Kinfold.
 *
 * What must stay true: `kill` is SIGKILL and leaves the durable data; `start` continues from there.
 */
import { join } from 'node:path'
import type { ControlPlane } from '../cluster/control-plane.ts'
import type { ControllerManager } from '../cluster/controller-manager.ts'
import { startKafka } from '../kafka/broker.ts'
import { ACTING, KinfoldProcess } from '../process/kinfold-process.ts'
import { KinfoldServices } from '../process/kinfold-services.ts'

export type CollectorName = 'upstream' | 'kinfold'

export interface Collector extends AsyncDisposable {
  readonly name: CollectorName
  /** It is under way, if it was not already; canary.ts finds out when it acts. */
  start(): Promise<void>
  kill(): Promise<void>
}

export type Engine = 'embedded' | 'kafka'

export interface CollectorOptions {
  /** Of Kinfold's log; 1 unless given. */
  readonly partitions?: number
  /**
   * Of Kinfold: one process on the embedded log unless given, or its services apart over a Kafka of
   * their own.
   */
  readonly engine?: Engine
}

export function collectorOf(
  name: CollectorName,
  plane: ControlPlane,
  { partitions = 1, engine = 'embedded' }: CollectorOptions = {},
): Collector {
  if (name === 'upstream') return upstreamOn(plane)
  return engine === 'kafka' ? servicesOn(plane, partitions) : kinfoldOn(plane, partitions)
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
      // Not until it is ready: with a broken kind in the cluster it never is.
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

function servicesOn({ kubeconfig, folder }: ControlPlane, partitions: number): Collector {
  const resources = new AsyncDisposableStack()
  let services: KinfoldServices | undefined
  return {
    name: 'kinfold',
    async start() {
      if (services === undefined) {
        const { bootstrap: brokers, application } = resources.use(await startKafka())
        const flags = ['--log-level', 'warn']
        const options = { kubeconfig, brokers, application, folder, partitions, each: 1, flags }
        services = resources.use(new KinfoldServices(options))
      }
      // Not until they are ready: with a broken kind in the cluster a watcher never is.
      await services.start()
    },
    async kill() {
      await services?.kill()
    },
    async [Symbol.asyncDispose]() {
      await resources.disposeAsync()
    },
  }
}
