/**
 * Which API servers there are, and as which user Kinfold connects to each: kubeconfig files, or the
 * pod it runs in.
 *
 * What must stay true: Kinfold connects to a cluster only if its context was named, or is the
 * current one; a mistake in the file is one sentence that says what to do. Files are merged as
 * kubectl does: missing ones of a $KUBECONFIG list are skipped, the first of a name counts.
 *
 * Not here: sockets (exchange.ts). Parsing, tokens, exec plugins and OIDC are those of
 * @kubernetes/client-node.
 */
import { type SpawnOptions, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { RequestOptions } from 'node:https'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { KubeConfig } from '@kubernetes/client-node'
import { KubeConfig as Parser } from './kubeconfig-parser.ts'

export interface ClusterContext {
  readonly name: string
  readonly server: string
  readonly proxyUrl: string | null
  /**
   * `afresh` reads the files again and forgets the plugins' results: the server refused the present
   * credentials.
   */
  credentials(afresh: boolean): Promise<Credentials>
}

export interface Credentials {
  /** Names in lower case: `authorization`, `impersonate-user`. */
  readonly headers: Readonly<Record<string, string>>
  /** Absent values are left out. */
  readonly tls: TlsOptions
}

type TlsOptionName =
  | 'ca'
  | 'cert'
  | 'key'
  | 'pfx'
  | 'passphrase'
  | 'rejectUnauthorized'
  | 'servername'

export type TlsOptions = Pick<RequestOptions, TlsOptionName>

/**
 * - `NONE`: no kubeconfig, and this is no pod.
 * - `UNREADABLE`: it cannot be read or is none.
 * - `NO_CONTEXT`: no such context, or none
 * chosen. - `NO_SERVER`: the context names no usable server.
 */
export type KubeconfigErrorCode = 'NONE' | 'UNREADABLE' | 'NO_CONTEXT' | 'NO_SERVER'

export class KubeconfigError extends Error {
  override readonly name = 'KubeconfigError'
  readonly code: KubeconfigErrorCode

  constructor(code: KubeconfigErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

export interface KubeconfigOptions {
  /** A file. Else $KUBECONFIG, ~/.kube/config, or the service account of this pod. */
  readonly kubeconfig?: string | undefined
  /** Empty: the current context. */
  readonly contexts: readonly string[]
  /** A plugin that runs for longer is killed. */
  readonly pluginTimeoutMs?: number | undefined
}

/**
 * Plugins take seconds, and one that waits for an interactive login waits in vain. The library lets
 * them run for ever.
 */
export const PLUGIN_TIMEOUT_MS = 20_000

const SERVICE_ACCOUNT_TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token'
const SERVER_PROTOCOLS = ['http:', 'https:']
const PROXY_PROTOCOLS = [...SERVER_PROTOCOLS, 'socks5:']

export function loadContexts(options: KubeconfigOptions): ClusterContext[] {
  const source = sourceOf(options.kubeconfig)
  const config = load(source)
  const timeoutMs = options.pluginTimeoutMs ?? PLUGIN_TIMEOUT_MS
  if (options.contexts.length > 0) {
    return [...new Set(options.contexts)].map((name) => contextOf(config, source, name, timeoutMs))
  }
  if (config.currentContext) return [contextOf(config, source, config.currentContext, timeoutMs)]
  throw new KubeconfigError(
    'NO_CONTEXT',
    `${nameOf(source)} has no current context; name one with --context (${namesIn(config)})`,
  )
}

/** Files to merge, or the pod. */
type Source = readonly string[] | 'pod'

/** Those that count where `file` is or is not named; none in a pod. */
export function kubeconfigFiles(file: string | undefined): readonly string[] {
  const source = sourceOf(file)
  return source === 'pod' ? [] : source
}

function sourceOf(file: string | undefined): Source {
  if (file !== undefined) return [file]
  const listed = (process.env['KUBECONFIG'] ?? '').split(delimiter).filter((it) => it !== '')
  if (listed.length > 0) {
    const present = listed.filter((it) => existsSync(it))
    return present.length > 0 ? present : listed.slice(0, 1)
  }
  const usual = join(homedir(), '.kube', 'config')
  if (existsSync(usual)) return [usual]
  if (existsSync(SERVICE_ACCOUNT_TOKEN)) return 'pod'
  throw new KubeconfigError(
    'NONE',
    `There is no kubeconfig: neither $KUBECONFIG nor ${usual}; give one with --kubeconfig FILE`,
  )
}

function load(source: Source): KubeConfig {
  const merged = new Parser()
  if (source === 'pod') {
    merged.loadFromCluster()
    return merged
  }
  for (const file of source) {
    const config = loadFile(file)
    for (const it of config.clusters) if (!merged.getCluster(it.name)) merged.addCluster(it)
    for (const it of config.users) if (!merged.getUser(it.name)) merged.addUser(it)
    for (const it of config.contexts) if (!merged.getContextObject(it.name)) merged.addContext(it)
    merged.currentContext ||= config.currentContext
  }
  return merged
}

function loadFile(file: string): KubeConfig {
  const config = new Parser()
  try {
    config.loadFromFile(file)
  } catch (error) {
    const text = error instanceof Error ? error.message.split('\n')[0] : String(error)
    // The parser does not look before it reads.
    const reason = error instanceof TypeError ? 'it is no kubeconfig' : text
    throw new KubeconfigError(
      'UNREADABLE',
      `The kubeconfig ${file} cannot be read (${reason}); correct it, or give another with --kubeconfig FILE`,
      { cause: error },
    )
  }
  return config
}

function contextOf(
  config: KubeConfig,
  source: Source,
  name: string,
  pluginTimeoutMs: number,
): ClusterContext {
  const context = config.getContextObject(name)
  if (!context) {
    throw new KubeconfigError(
      'NO_CONTEXT',
      `${nameOf(source)} has no context "${name}"; it has ${namesIn(config)}`,
    )
  }
  const cluster = config.getCluster(context.cluster)
  const server = cluster?.server ?? ''
  if (!isUrl(server, SERVER_PROTOCOLS)) {
    throw new KubeconfigError(
      'NO_SERVER',
      `The context "${name}" of ${nameOf(source)} leads to no server: its cluster "${context.cluster}" needs a server: https://HOST:PORT`,
    )
  }
  const proxyUrl = cluster?.proxyUrl || null
  if (proxyUrl !== null && !isUrl(proxyUrl, PROXY_PROTOCOLS)) {
    throw new KubeconfigError(
      'NO_SERVER',
      `The context "${name}" of ${nameOf(source)} has a proxy-url that is none; it needs http://, https:// or socks5://HOST:PORT`,
    )
  }
  let current = selected(config, name, pluginTimeoutMs)
  return {
    name,
    server: asAsked(server),
    proxyUrl,
    credentials: async (afresh) => {
      if (afresh) current = selected(load(source), name, pluginTimeoutMs)
      return await credentialsOf(current)
    },
  }
}

/** A KubeConfig has one current context, so each context gets its own. */
function selected(config: KubeConfig, name: string, pluginTimeoutMs: number): KubeConfig {
  const copy = new Parser()
  copy.loadFromOptions({
    // `applyToHTTPSOptions` also makes an agent that we do not use, and that refuses plain http
    // unless TLS goes unverified anyway.
    clusters: config.clusters.map((it) =>
      isUrl(it.server ?? '', ['http:']) ? { ...it, skipTLSVerify: true } : it,
    ),
    users: config.users,
    contexts: config.contexts,
    currentContext: name,
  })
  limitPlugins(copy, pluginTimeoutMs)
  return copy
}

/**
 * The caller that waited has given up by then; a hanging plugin would stay behind, one more at each
 * try. The library has no setting for it.
 */
function limitPlugins(config: KubeConfig, timeoutMs: number): void {
  for (const one of config['authenticators']) {
    if (!('execFn' in one)) continue
    one.execFn = (command: string, args: readonly string[], options: SpawnOptions) => {
      const plugin = spawn(command, args, options)
      // Not spawn's own `timeout`: after a command that is not there that keeps the process alive.
      const timer = setTimeout(() => plugin.kill('SIGKILL'), timeoutMs)
      for (const end of ['error', 'exit']) plugin.once(end, () => clearTimeout(timer))
      return plugin
    }
  }
}

async function credentialsOf(config: KubeConfig): Promise<Credentials> {
  const options: RequestOptions = {}
  // Asks plugins and token files, within what they may remember.
  await config.applyToHTTPSOptions(options)
  const headers: Record<string, string> = {}
  if (options.auth) {
    headers['authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`
  }
  for (const [key, value] of Object.entries(options.headers ?? {})) {
    headers[key.toLowerCase()] = String(value).trim()
  }
  return { headers, tls: tlsOf(options) }
}

function tlsOf(options: RequestOptions): TlsOptions {
  const { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername } = options
  return {
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    ...(pfx && { pfx }),
    ...(passphrase && { passphrase }),
    ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
    ...(servername && { servername }),
  }
}

function isUrl(text: string, protocols: readonly string[]): boolean {
  return URL.canParse(text) && protocols.includes(new URL(text).protocol)
}

/** A URL may be written in several ways, with a scheme in capitals too. */
function asAsked(server: string): string {
  const { origin, pathname } = new URL(server)
  return origin + pathname.replace(/\/+$/, '')
}

function nameOf(source: Source): string {
  return source === 'pod'
    ? 'The service account of this pod'
    : `The kubeconfig ${source.join(', ')}`
}

function namesIn(config: KubeConfig): string {
  const names = config.contexts.map(({ name }) => `"${name}"`)
  return names.length === 0 ? 'none at all' : names.join(', ')
}
