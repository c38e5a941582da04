/**
 * The playground: clusters of our own within this process, reachable by kubectl, with something
 * going on in them.
 *
 * What must stay true: it listens on 127.0.0.1 alone, unless another host is given, and writes
 * nothing but a kubeconfig into the directory that it is given. Each start makes new clusters with
 * identities of their own; nothing outlives the process.
 *
 * Not here: Kinfold itself, which is pointed at the kubeconfig like at any other
 * (cli/serve/playground.ts).
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { ApiServer } from '../adapters/memory/api-server.ts'
import { systemClock } from '../runtime/clock.ts'
import { systemRandom } from '../runtime/random.ts'
import { ResourceStack } from '../runtime/resource-stack.ts'
import { runArgo } from './argo.ts'
import { makeEdge } from './edge.ts'
import { type Address, ANY_HERE, serveHttp } from './http.ts'
import { writeKubeconfig } from './kubeconfig.ts'
import { MISSING_MS, runWorkload } from './workload.ts'

export interface PlaygroundOptions {
  /** Made if it is not there. */
  readonly directory: string
  /** Names of the clusters, and of their contexts. */
  readonly clusters: readonly [string, ...string[]]
  /** In the order of the clusters; any free port of 127.0.0.1 where none is given. */
  readonly listen?: readonly Address[]
  readonly workload: boolean
  /** For how long the workload leaves missing what a user deleted; a minute where none is given. */
  readonly missingMs?: number | undefined
}

export interface PlaygroundServer {
  readonly name: string
  /** `http://HOST:PORT` */
  readonly url: string
  readonly api: ApiServer
}

type Servers = readonly [PlaygroundServer, ...PlaygroundServer[]]

export interface PlaygroundServers extends AsyncDisposable {
  readonly servers: Servers
}

export interface Playground extends PlaygroundServers {
  /** Path of the kubeconfig: a context per cluster. */
  readonly kubeconfig: string
}

/** For who has the directory alone. */
export async function startPlayground(options: PlaygroundOptions): Promise<Playground> {
  await using starting = new ResourceStack()
  const { servers } = starting.use(await startServers(options))
  const kubeconfig = writeKubeconfigIn(options.directory, servers)
  const running = starting.move()
  return { kubeconfig, servers, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() }
}

/** The path of what leads to the servers. */
export function kubeconfigIn(directory: string): string {
  return join(directory, 'kubeconfig')
}

export function writeKubeconfigIn(directory: string, servers: Servers): string {
  mkdirSync(directory, { recursive: true })
  const kubeconfig = kubeconfigIn(directory)
  writeKubeconfig(kubeconfig, servers)
  return kubeconfig
}

/** It writes nothing: another process may have the directory, and its kubeconfig. */
export async function startServers(
  options: Omit<PlaygroundOptions, 'directory'>,
): Promise<PlaygroundServers> {
  const { clusters, listen = [], workload, missingMs = MISSING_MS } = options
  const clock = systemClock()
  const random = systemRandom()
  await using starting = new ResourceStack()
  const start = async (name: string, at = ANY_HERE): Promise<PlaygroundServer> => {
    const api = new ApiServer({ clock, random, name })
    const { url } = starting.use(await serveHttp(api, at))
    if (workload) starting.use(startWorkload(api))
    return { name, url, api }
  }
  const [first, ...others] = clusters
  const servers: [PlaygroundServer, ...PlaygroundServer[]] = [await start(first, listen[0])]
  for (const [index, name] of others.entries()) {
    servers.push(await start(name, listen[index + 1]))
  }
  const apis = [servers[0].api, ...servers.slice(1).map(({ api }) => api)] as const
  if (workload) {
    starting.use(started((signal) => runArgo({ apis, clock, missingMs }, signal)))
    starting.use(started((signal) => makeEdge(apis, signal)))
  }
  const running = starting.move()
  return { servers, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() }

  function startWorkload(api: ApiServer): AsyncDisposable {
    return started((signal) => runWorkload({ api, clock, missingMs }, signal))
  }

  function started(run: (signal: AbortSignal) => Promise<void>): AsyncDisposable {
    const stop = new AbortController()
    const ended = run(stop.signal)
    return {
      async [Symbol.asyncDispose]() {
        stop.abort()
        await ended
      },
    }
  }
}
