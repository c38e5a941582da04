/**
 * Kubernetes' own kube-controller-manager for a test's API server: its garbage collector alone or
 * with the controllers that are named (for a comparison with Kinfold), or everything except it (so
 * that only Kinfold collects).
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ApiClient } from './api-client.ts'
import { requireBinary } from './binaries.ts'
import { freePort } from './port.ts'
import { ServerProcess } from './server-process.ts'

const COLLECTOR = 'garbage-collector-controller'
const PROBE_WITHIN_MS = 2_000

export interface ControllerManagerOptions {
  /** True: only the collector. False: every controller but the collector. */
  readonly collector: boolean
  /** Beside the collector alone. */
  readonly beside?: readonly string[]
  /** Of the admin, unless given. */
  readonly kubeconfig?: string
  /** Lifts its client's limits, by default 20 requests a second. */
  readonly clientLimitsLifted?: boolean
  readonly extraArgs?: readonly string[]
}

interface Surroundings {
  readonly kubeconfig: string
  readonly caFile: string
  readonly serviceAccountKeyFile: string
  readonly folder: string
  readonly name: string
}

export class ControllerManager implements AsyncDisposable {
  readonly process: ServerProcess
  readonly #client: ApiClient

  constructor(process: ServerProcess, client: ApiClient) {
    this.process = process
    this.#client = client
  }

  /**
   * Its own metrics, in Prometheus' text format: queue depths, deletion latencies, client waits.
   */
  async metrics(): Promise<string> {
    return (await this.#client.request<string>('GET', '/metrics')).body
  }

  /** Kills it, as a crash would. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#client[Symbol.dispose]()
    await this.process.kill()
  }
}

/** Resolves once it is healthy: its controllers are starting and may not have listed everything. */
export async function startControllerManager(
  options: ControllerManagerOptions & Surroundings,
): Promise<ControllerManager> {
  const certificates = join(options.folder, options.name)
  const port = await freePort()
  const command = {
    name: options.name,
    binary: requireBinary('kube-controller-manager'),
    args: [
      `--cert-dir=${certificates}`,
      `--secure-port=${port}`,
      ...argsOf(options),
      ...(options.extraArgs ?? []),
    ],
    logFile: join(options.folder, `${options.name}.log`),
  }
  let client: ApiClient | undefined
  const process = await ServerProcess.start(command, async () => {
    client = await healthyClient(port, join(certificates, 'kube-controller-manager.crt'))
    return client !== undefined
  })
  return new ControllerManager(process, client!)
}

function argsOf(options: ControllerManagerOptions & Surroundings): string[] {
  const { kubeconfig, caFile, serviceAccountKeyFile, clientLimitsLifted } = options
  return [
    `--kubeconfig=${kubeconfig}`,
    `--controllers=${controllersOf(options)}`,
    '--leader-elect=false',
    '--bind-address=127.0.0.1',
    '--authentication-skip-lookup=true',
    '--authorization-always-allow-paths=/healthz,/metrics',
    `--root-ca-file=${caFile}`,
    `--service-account-private-key-file=${serviceAccountKeyFile}`,
    ...(clientLimitsLifted ? ['--kube-api-qps=10000', '--kube-api-burst=20000'] : []),
  ]
}

function controllersOf({ collector, beside = [] }: ControllerManagerOptions): string {
  return collector ? [COLLECTOR, ...beside].join(',') : `*,-${COLLECTOR}`
}

async function healthyClient(port: number, caFile: string): Promise<ApiClient | undefined> {
  const server = `https://127.0.0.1:${port}`
  const client = new ApiClient({ server, ca: await readFile(caFile, 'utf8') })
  try {
    const signal = AbortSignal.timeout(PROBE_WITHIN_MS)
    const { status } = await client.request('GET', '/healthz', undefined, {}, signal)
    if (status === 200) return client
  } catch (error) {
    client[Symbol.dispose]()
    throw error
  }
  client[Symbol.dispose]()
  return undefined
}
