/**
 * The real Kubernetes servers and tools that tests run: which there are, how each is built, where
 * it is.
 *
 * Finding never builds: a test run without them skips, and says which command would bring them.
 * Where KINFOLD_REQUIRE_SERVERS is 1, as on CI, their absence is an error instead, so nothing is
 * skipped in silence. The building is build.ts.
 */
import { accessSync, constants } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** The versions pinned by the go.mod files below go/. */
export const KUBERNETES_VERSION = 'v1.36.3'
export const ETCD_VERSION = 'v3.7.3'
export const HELM_VERSION = 'v4.3.1'
/** Prometheus calls it 3.16.0. */
export const PROMETHEUS_VERSION = 'v0.316.0'
export const ACTIONLINT_VERSION = 'v1.7.12'
export const KREW_VERSION = 'v0.4.3'

export type ServerName =
  | 'etcd'
  | 'kube-apiserver'
  | 'kubectl'
  | 'etcdutl'
  | 'kube-controller-manager'
  | 'helm'
  | 'promtool'
  | 'actionlint'
  | 'krew'

export interface ServerSource {
  readonly name: ServerName
  /** The folder of its go.mod, below testing/cluster/go. */
  readonly module: 'etcd' | 'kubernetes' | 'helm' | 'prometheus' | 'actionlint' | 'krew'
  readonly package: string
  /** Build tags. */
  readonly tags?: string
}

/** In the order of building: what most tests need comes first. None can be left out. */
const SOURCES: Readonly<Record<ServerName, Omit<ServerSource, 'name'>>> = {
  etcd: { module: 'etcd', package: 'go.etcd.io/etcd/server/v3' },
  'kube-apiserver': { module: 'kubernetes', package: 'k8s.io/kubernetes/cmd/kube-apiserver' },
  kubectl: { module: 'kubernetes', package: 'k8s.io/kubernetes/cmd/kubectl' },
  etcdutl: { module: 'etcd', package: 'go.etcd.io/etcd/etcdutl/v3' },
  'kube-controller-manager': {
    module: 'kubernetes',
    package: 'k8s.io/kubernetes/cmd/kube-controller-manager',
  },
  helm: { module: 'helm', package: 'helm.sh/helm/v4/cmd/helm' },
  actionlint: { module: 'actionlint', package: 'github.com/rhysd/actionlint/cmd/actionlint' },
  krew: { module: 'krew', package: 'sigs.k8s.io/krew/cmd/krew' },
  promtool: {
    module: 'prometheus',
    package: 'github.com/prometheus/prometheus/cmd/promtool',
    // Rules need no service discovery, and the libraries of the clouds take longer than all the
    // rest.
    tags: 'remove_all_sd',
  },
}

export const SERVERS: readonly ServerSource[] = (Object.keys(SOURCES) as ServerName[]).map(
  (name) => ({ name, ...SOURCES[name] }),
)

/**
 * For tools that are no part of the control plane: a folder of its own, so that another version of
 * a tool does not affect the servers.
 */
const TOOL_FOLDERS: Partial<Record<ServerName, string>> = {
  helm: `helm-${HELM_VERSION}`,
  promtool: `prometheus-${PROMETHEUS_VERSION}`,
  actionlint: `actionlint-${ACTIONLINT_VERSION}`,
  krew: `krew-${KREW_VERSION}`,
}

/** The path of each binary; undefined where it does not exist. */
export interface Binaries {
  readonly etcd?: string | undefined
  readonly kubeApiserver?: string | undefined
  readonly kubectl?: string | undefined
  readonly etcdutl?: string | undefined
  readonly kubeControllerManager?: string | undefined
}

export function findBinaries(): Binaries {
  return {
    etcd: findBinary('etcd'),
    kubeApiserver: findBinary('kube-apiserver'),
    kubectl: findBinary('kubectl'),
    etcdutl: findBinary('etcdutl'),
    kubeControllerManager: findBinary('kube-controller-manager'),
  }
}

/** Searches KUBEBUILDER_ASSETS, then the binaries that build.ts has built. */
export function findBinary(name: ServerName): string | undefined {
  const assets = process.env['KUBEBUILDER_ASSETS']
  const folders = assets ? [assets, builtFolder(name)] : [builtFolder(name)]
  return folders.map((folder) => join(folder, name)).find(isExecutable)
}

/** For a step that cannot go on without it, and whose test was not skipped. */
export function requireBinary(name: ServerName): string {
  const path = findBinary(name)
  if (path === undefined) throw new Error(notBuilt([name]))
  return path
}

/**
 * The reason to skip a test that needs these servers, or undefined if all are there. Throws it
 * where KINFOLD_REQUIRE_SERVERS is 1.
 */
export function missingServers(...names: readonly ServerName[]): string | undefined {
  const missing = names.filter((name) => findBinary(name) === undefined)
  if (missing.length === 0) return undefined
  if (process.env['KINFOLD_REQUIRE_SERVERS'] === '1') throw new Error(notBuilt(missing))
  return `skipped: ${notBuilt(missing)}`
}

/** Where build.ts puts a binary: with another version it is another folder. */
export function builtFolder(name: ServerName): string {
  const kubernetes = `${KUBERNETES_VERSION}-etcd-${ETCD_VERSION}`
  return join(serversFolder(), TOOL_FOLDERS[name] ?? kubernetes, 'bin')
}

/**
 * The folder of all servers of the tests: outside the checkout, so that clones share them and CI
 * caches them.
 */
export function serversFolder(): string {
  const env = process.env
  const cache = env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  return env['KINFOLD_SERVERS_DIR'] || join(cache, 'kinfold', 'servers')
}

function notBuilt(names: readonly ServerName[]): string {
  return `${names.join(', ')} not built; run \`npm run servers\``
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
