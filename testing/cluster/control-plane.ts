/**
 * A real Kubernetes control plane for one test: etcd and kube-apiserver on 127.0.0.1, and on demand
 * a kube-controller-manager, with handles for the faults a collector has to survive.
 *
 * Ports and certificate stay the same through every stop, kill and start, so clients under test
 * need no new configuration. Closing it kills all processes and, unless a data folder was given,
 * removes all files.
 */
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Answer, ApiClient } from './api-client.ts'
import { requireBinary } from './binaries.ts'
import {
  type ControllerManager,
  type ControllerManagerOptions,
  startControllerManager,
} from './controller-manager.ts'
import {
  type ServiceAccountKeys,
  type TestUser,
  type Tokens,
  writeKubeconfig,
  writeServiceAccountKeys,
  writeTokens,
} from './credentials.ts'
import { Etcd } from './etcd.ts'
import { freePort } from './port.ts'
import { requestCountsOf } from './request-count.ts'
import { ServerProcess } from './server-process.ts'

const ADMIN = 'admin'
const PROBE_WITHIN_MS = 2_000
/** The API server makes these itself, shortly after it calls itself ready. */
const OWN_NAMESPACES = ['default', 'kube-system']

export interface ControlPlaneOptions {
  /** Name of the context in kubeconfig files; `test` unless given. */
  readonly context?: string
  /** Keeps data, keys and logs here, also after the end; continues with the data in it. */
  readonly dataDir?: string
  /** In addition to `admin`, who is in system:masters. */
  readonly users?: readonly TestUser[]
  /** After our own: the last of a repeated single-valued flag counts, lists grow. */
  readonly apiserverArgs?: readonly string[]
  readonly etcdArgs?: readonly string[]
}

export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const folder = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'kinfold-cluster-')))
  try {
    await mkdir(folder, { recursive: true })
    const keys = await writeServiceAccountKeys(folder)
    const users = [{ name: ADMIN, groups: ['system:masters'] }, ...(options.users ?? [])]
    const tokens = await writeTokens(tokenFileIn(folder), users)
    const port = await freePort()
    const etcd = await Etcd.start(folder, options.etcdArgs ?? [])
    const plane = new ControlPlane({ options, folder, keys, tokens, etcd, port })
    try {
      await plane.startApiserver()
      await plane.kubeconfigOf(ADMIN)
      return plane
    } catch (error) {
      await plane[Symbol.asyncDispose]()
      throw error
    }
  } catch (error) {
    if (options.dataDir === undefined) await rm(folder, { recursive: true, force: true })
    throw error
  }
}

interface Parts {
  readonly options: ControlPlaneOptions
  readonly folder: string
  readonly keys: ServiceAccountKeys
  readonly tokens: Tokens
  readonly etcd: Etcd
  readonly port: number
}

/** Made by `startControlPlane` only. */
export class ControlPlane implements AsyncDisposable {
  /** `https://127.0.0.1:PORT` */
  readonly server: string
  /** Holds data and the logs: etcd.log, kube-apiserver.log, kube-controller-manager-N.log. */
  readonly folder: string
  /** PEM; trusted for `server`. */
  readonly caFile: string
  readonly etcd: Etcd
  readonly #parts: Parts
  readonly #managers: ControllerManager[] = []
  #apiserver: ServerProcess | undefined
  #client: ApiClient | undefined

  constructor(parts: Parts) {
    this.#parts = parts
    this.server = `https://127.0.0.1:${parts.port}`
    this.folder = parts.folder
    this.caFile = join(parts.folder, 'certificates', 'apiserver.crt')
    this.etcd = parts.etcd
  }

  /** Path of the admin's. */
  get kubeconfig(): string {
    return kubeconfigFileIn(this.folder, ADMIN)
  }

  /** The admin's. */
  get token(): string {
    return this.tokenOf(ADMIN)
  }

  get etcdEndpoint(): string {
    return this.etcd.endpoint
  }

  /** The process, for its pid and to pause it. */
  get apiserver(): ServerProcess {
    if (this.#apiserver === undefined) throw new Error('kube-apiserver was never started')
    return this.#apiserver
  }

  tokenOf(user: string): string {
    const token = this.#parts.tokens.get(user)
    if (token === undefined) throw new Error(`no user ${user}: users are given at the start`)
    return token
  }

  /** Writes a kubeconfig for one of the users and answers its path. */
  async kubeconfigOf(user: string): Promise<string> {
    const file = kubeconfigFileIn(this.folder, user)
    await writeKubeconfig(file, {
      context: this.#parts.options.context ?? 'test',
      server: this.server,
      ca: await readFile(this.caFile, 'utf8'),
      user,
      token: this.tokenOf(user),
    })
    return file
  }

  /** As the admin, or as the user of an `authorization` header. */
  async request<T = unknown>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<Answer<T>> {
    if (this.#client === undefined) throw new Error('kube-apiserver is stopped')
    return await this.#client.request<T>(method, path, body, headers, signal)
  }

  /** The API server's own metrics, in Prometheus' text format. */
  async metrics(): Promise<string> {
    return (await this.request<string>('GET', '/metrics')).body
  }

  /** See request-count.ts; counts begin anew with each start of the API server. */
  async requestCounts(): Promise<Map<string, number>> {
    return requestCountsOf(await this.metrics())
  }

  async startApiserver(): Promise<void> {
    if (this.#apiserver?.isRunning) return
    const command = {
      name: 'kube-apiserver',
      binary: requireBinary('kube-apiserver'),
      args: apiserverArgs(this.#parts),
      logFile: join(this.folder, 'kube-apiserver.log'),
    }
    this.#apiserver = await ServerProcess.start(command, () => this.#connect())
  }

  async stopApiserver(): Promise<void> {
    this.#disconnect()
    await this.#apiserver?.stop()
  }

  async killApiserver(): Promise<void> {
    this.#disconnect()
    await this.#apiserver?.kill()
  }

  async startEtcd(): Promise<void> {
    await this.etcd.start()
  }

  async stopEtcd(): Promise<void> {
    await this.etcd.stop()
  }

  /**
   * Compacts etcd to its current revision. A running API server still serves older versions to
   * watches from its own cache: restart it too, or start it with `--watch-cache-sizes=RESOURCE#0`,
   * for a watch to be answered 410.
   */
  async compact(): Promise<void> {
    await this.etcd.compact()
  }

  /**
   * Copies etcd's data into `folder`; etcd is down for a moment, the API server is not notified.
   */
  async snapshot(folder: string): Promise<void> {
    await this.etcd.snapshot(folder)
  }

  /**
   * Rolls etcd back to a snapshot without the API server's knowledge: stop that before, or do not.
   */
  async restore(folder: string): Promise<void> {
    await this.etcd.restore(folder)
  }

  /** Ends with the control plane, if not before. */
  async startControllerManager(options: ControllerManagerOptions): Promise<ControllerManager> {
    const index = this.#managers.length
    const manager = await startControllerManager({
      kubeconfig: this.kubeconfig,
      ...options,
      caFile: this.caFile,
      serviceAccountKeyFile: this.#parts.keys.privateKeyFile,
      folder: this.folder,
      name: `kube-controller-manager-${index}`,
    })
    this.#managers.push(manager)
    return manager
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#managers.map((manager) => manager[Symbol.asyncDispose]()))
    await this.killApiserver()
    await this.etcd.kill()
    if (this.#parts.options.dataDir !== undefined) return
    await rm(this.folder, { recursive: true, force: true })
  }

  /** Returns whether the API server is ready; if so, `request` connects to it from now on. */
  async #connect(): Promise<boolean> {
    const ca = await readFile(this.caFile, 'utf8')
    const client = new ApiClient({ server: this.server, token: this.token, ca })
    try {
      for (const path of ['/readyz', ...OWN_NAMESPACES.map((it) => `/api/v1/namespaces/${it}`)]) {
        const signal = AbortSignal.timeout(PROBE_WITHIN_MS)
        const { status } = await client.request('GET', path, undefined, {}, signal)
        if (status !== 200) return false
      }
      this.#client = client
      return true
    } finally {
      if (this.#client !== client) client[Symbol.dispose]()
    }
  }

  #disconnect(): void {
    this.#client?.[Symbol.dispose]()
    this.#client = undefined
  }
}

function apiserverArgs({ options, folder, keys, etcd, port }: Parts): string[] {
  return [
    `--etcd-servers=${etcd.endpoint}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    `--secure-port=${port}`,
    // Endpoints may not name a loopback address; nothing here reads them.
    '--endpoint-reconciler-type=none',
    `--cert-dir=${join(folder, 'certificates')}`,
    `--token-auth-file=${tokenFileIn(folder)}`,
    '--authorization-mode=RBAC',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${keys.publicKeyFile}`,
    `--service-account-signing-key-file=${keys.privateKeyFile}`,
    '--service-cluster-ip-range=10.0.0.0/24',
    '--allow-privileged=true',
    // Pods can be made without a controller that makes service accounts.
    '--disable-admission-plugins=ServiceAccount',
    ...(options.apiserverArgs ?? []),
  ]
}

function tokenFileIn(folder: string): string {
  return join(folder, 'tokens.csv')
}

function kubeconfigFileIn(folder: string, user: string): string {
  return join(folder, `${encodeURIComponent(user)}.kubeconfig`)
}
