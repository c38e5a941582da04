/**
 * The kept-alive connections to one server under one set of TLS credentials: a pool for each
 * purpose.
 *
 * What must stay true: HTTP/1.1 with one request in flight per connection, so a broken connection
 * spoils one request only and undici never sends one again. Watches alone share connections, over
 * HTTP/2: each is asked for again from where it was. Purposes share nothing: a hundred watches and
 * slow lists delay no write.
 *
 * Not here: how watches share (shared-connections.ts), when credentials change (exchange.ts).
 */
import { createSecureContext } from 'node:tls'
import { buildConnector, type Dispatcher, Pool, ProxyAgent } from 'undici'
import type { Connection, Purpose } from '../../../ports/exchange.ts'
import type { TlsOptions } from './kubeconfig.ts'
import type { SharingOptions } from './shared-connection.ts'
import { SharedConnections } from './shared-connections.ts'

export interface ConnectionOptions extends SharingOptions {
  /**
   * Most connections for writes: more than a reaper has commands under way
   * (services/reaper/intake/backlog.ts), since a request that waits here has passed its gate, and
   * would be sent long after it.
   */
  readonly writeConnections: number
  /**
   * Most connections for the live GETs before writes, each made only when all others are busy: one
   * command may verify many owners at once.
   */
  readonly readConnections: number
  /** Most connections for lists. */
  readonly listConnections: number
  /** Between two chunks of a body; never for watches. */
  readonly bodyTimeoutMs: number
  readonly connectTimeoutMs: number
  /**
   * From a request until its whole answer, however it is spent: in a queue behind others, at a
   * proxy that is silent, or by a server that sends a byte now and then. Of a watch until its head.
   */
  readonly answerTimeoutMs: number
}

export const DEFAULT_CONNECTIONS: ConnectionOptions = {
  writeConnections: 64,
  readConnections: 64,
  listConnections: 8,
  watchesPerConnection: 50,
  // A server gives up after 34 s itself; a watch sends its head at once.
  headersTimeoutMs: 35_000,
  bodyTimeoutMs: 35_000,
  connectTimeoutMs: 10_000,
  answerTimeoutMs: 70_000,
  // Go servers close idle connections after 90 s, load balancers from 60 s on; we must be first.
  keepAliveMs: 30_000,
  silenceMs: 10_000,
}

/** Dead peers are found by probes, also below a watch that is silent. */
const TCP_PROBE_MS = 30_000

/** One connection after the other, each of which is known from the others. */
export interface Line {
  readonly dispatcher: Dispatcher
  /** The one that is open, or was last. */
  connection: Connection
  /** Requests that it is busy with. */
  busy: number
}

export class Connections {
  readonly #pools: Readonly<Record<Exclude<Purpose, 'read'> | 'unshared', Dispatcher>>
  readonly #lines: Line[] = []
  /**
   * Those of watches, if they share. An agent that leads through a proxy forgets what it has made
   * when it is closed, and would not destroy it then.
   */
  readonly #shared: SharedConnections[] = []
  readonly #openLine: () => Line
  readonly #most: number

  /** Throws if certificates or keys are none. */
  constructor(
    origin: string,
    proxyUrl: string | null,
    tls: TlsOptions,
    options: ConnectionOptions,
  ) {
    const way: Way = { origin, proxyUrl, connect: connectOf(tls), shared: this.#shared }
    const pool = (connections: number | null, bodyTimeout: number, onOpened?: () => void) =>
      open(way, onOpened, {
        connections,
        bodyTimeout,
        pipelining: 1,
        allowH2: false,
        headersTimeout: options.headersTimeoutMs,
        connectTimeout: options.connectTimeoutMs,
        keepAliveTimeout: options.keepAliveMs,
        keepAliveMaxTimeout: options.keepAliveMs,
      })
    // One for each kind that is watched: bounded by what the cluster serves.
    const unshared = pool(null, 0)
    this.#pools = {
      unshared,
      watch: mayShare(way) ? share(way, unshared, options) : unshared,
      list: pool(options.listConnections, options.bodyTimeoutMs),
      confirm: pool(options.listConnections, options.bodyTimeoutMs),
      write: pool(options.writeConnections, options.bodyTimeoutMs),
    }
    this.#most = options.readConnections
    this.#openLine = () => {
      const onOpened = (): void => {
        line.connection = {}
      }
      const dispatcher = pool(1, options.bodyTimeoutMs, onOpened)
      const line: Line = { dispatcher, connection: {}, busy: 0 }
      return line
    }
  }

  /**
   * The one that `over` is, if it is still open; else one that has nothing to do, as far as there
   * may be more.
   */
  line(over: Connection | undefined): Line | undefined {
    const lines = this.#lines
    if (over !== undefined) return lines.find(({ connection }) => connection === over)
    const idle = lines.find(({ busy }) => busy === 0)
    if (idle !== undefined) return idle
    if (lines.length < this.#most) {
      const line = this.#openLine()
      lines.push(line)
      return line
    }
    return lines.reduce((one, other) => (other.busy < one.busy ? other : one))
  }

  dispatch(
    purpose: Exclude<Purpose, 'read'>,
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): void {
    this.#pools[purpose].dispatch(options, handler)
  }

  /** Lets calls in flight finish; resolves then. */
  async retire(): Promise<void> {
    await Promise.all(this.#all().map((each) => each.close()))
  }

  /** Breaks off calls in flight. */
  async destroy(): Promise<void> {
    await Promise.all([...this.#all(), ...this.#shared].map((each) => each.destroy()))
  }

  #all(): readonly Dispatcher[] {
    return [...Object.values(this.#pools), ...this.#lines.map(({ dispatcher }) => dispatcher)]
  }
}

interface Way {
  readonly origin: string
  readonly proxyUrl: string | null
  readonly connect: buildConnector.BuildOptions
  readonly shared: SharedConnections[]
}

function connectOf(tls: TlsOptions): buildConnector.BuildOptions {
  const { rejectUnauthorized, servername, ...material } = tls
  return {
    // Made once: Node would parse all certificates again for every connection.
    secureContext: createSecureContext(material),
    ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
    ...(servername !== undefined && { servername }),
    keepAlive: true,
    keepAliveInitialDelay: TCP_PROBE_MS,
  }
}

function open(way: Way, onOpened: (() => void) | undefined, options: Pool.Options): Dispatcher {
  const { origin, proxyUrl, connect } = way
  const factory = (to: string | URL, given: object): Pool => {
    const pool = new Pool(to, given)
    if (onOpened !== undefined) pool.on('connect', onOpened)
    return pool
  }
  if (proxyUrl === null) return factory(origin, { ...options, connect })
  const requestTls = { ...connect, allowH2: false }
  return new ProxyAgent({ ...options, uri: proxyUrl, requestTls, factory })
}

/**
 * HTTP/2 is agreed on in TLS, and undici hands out no connector that leads through a SOCKS proxy.
 * The variable is that of Kubernetes' own clients, for where something between breaks HTTP/2.
 */
function mayShare({ origin, proxyUrl }: Way): boolean {
  if ((process.env['DISABLE_HTTP2'] ?? '') !== '' || !origin.startsWith('https:')) return false
  return proxyUrl === null || /^https?:/.test(proxyUrl)
}

function share(way: Way, unshared: Dispatcher, options: ConnectionOptions): Dispatcher {
  const { origin, proxyUrl } = way
  const connect = { ...way.connect, allowH2: true, preferH2: true }
  const connectTimeout = options.connectTimeoutMs
  const over = (connector: buildConnector.connector) => {
    const made = new SharedConnections({ origin, connect: connector, unshared }, options)
    way.shared.push(made)
    return made
  }
  if (proxyUrl === null) return over(buildConnector({ ...connect, timeout: connectTimeout }))
  // The connector that it hands out leads through its tunnel.
  const factory = (_: string | URL, given: object) => over((given as ProxyOptions).connect)
  return new ProxyAgent({ uri: proxyUrl, connectTimeout, requestTls: connect, factory })
}

interface ProxyOptions {
  readonly connect: buildConnector.connector
}
