/**
 * The Exchange over undici: one server, kept-alive connections, the credentials of a kubeconfig.
 *
 * What must stay true: a request is sent once. The one exception is a read that is answered 401:
 * then credentials are read afresh, and if they differ it is sent once more. A write was allowed a
 * moment ago and perhaps is no longer, so it waits for credentials for a second at most and is
 * never sent again from here: a caller that wants that has to pass its gate again. Credentials
 * never get into an error or a path. No request is without a limit, whatever the server or what is
 * between does or does not.
 *
 * Not here: the connections (connections.ts), one answer (response.ts), the meaning of a status
 * (answer.ts).
 */
import { isDeepStrictEqual } from 'node:util'
import type { Dispatcher } from 'undici'
import {
  type Exchange,
  ExchangeError,
  type ExchangeRequest,
  type ExchangeResponse,
} from '../../../ports/exchange.ts'
import { type ConnectionOptions, Connections, DEFAULT_CONNECTIONS } from './connections.ts'
import { credentialsFailure } from './failure.ts'
import { type ClusterContext, type Credentials, PLUGIN_TIMEOUT_MS } from './kubeconfig.ts'
import { Response } from './response.ts'

export interface ExchangeOptions extends ConnectionOptions {
  /** As the cluster's audit log is to name this program: `kinfold/VERSION (SERVICE)`. */
  readonly userAgent: string
  /**
   * What a plugin may take: far longer than any that works, and short enough that one that hangs is
   * found out.
   */
  readonly credentialsTimeoutMs: number
  /**
   * How long a write waits for credentials: it must be sent well within the 2 s after which a pause
   * holds.
   */
  readonly writeWaitMs: number
}

const DEFAULT_OPTIONS: ExchangeOptions = {
  ...DEFAULT_CONNECTIONS,
  userAgent: 'kinfold',
  credentialsTimeoutMs: PLUGIN_TIMEOUT_MS,
  writeWaitMs: 1_000,
}

/** How long credentials are used before the kubeconfig's providers are asked again. */
const CREDENTIALS_FOR_MS = 30_000
/** Not more often are they read afresh after a 401: a plugin is a process. */
const AFRESH_EVERY_MS = 10_000

export function openUndiciExchange(
  context: ClusterContext,
  options: Partial<ExchangeOptions> = {},
): Exchange {
  return new UndiciExchange(context, { ...DEFAULT_OPTIONS, ...options })
}

interface Session {
  readonly credentials: Credentials
  readonly connections: Connections
  /** Flattened as undici takes them fastest. */
  readonly headers: readonly string[]
}

class UndiciExchange implements Exchange {
  readonly #context: ClusterContext
  readonly #options: ExchangeOptions
  readonly #origin: string
  /** A server URL may have a path: some gateways serve a cluster below one. */
  readonly #prefix: string
  #session: Session | undefined
  #renewing: Promise<Session> | undefined
  #renewedAt: number = Number.NEGATIVE_INFINITY
  #afreshAt: number = Number.NEGATIVE_INFINITY
  readonly #closed = new AbortController()
  /**
   * Of earlier TLS credentials, with watches still in flight; each leaves when its last one ends.
   */
  readonly #retired = new Set<Connections>()

  constructor(context: ClusterContext, options: ExchangeOptions) {
    const url = new URL(context.server)
    this.#context = context
    this.#options = options
    this.#origin = url.origin
    this.#prefix = url.pathname.replace(/\/+$/, '')
  }

  async request(request: ExchangeRequest, signal: AbortSignal): Promise<ExchangeResponse> {
    signal.throwIfAborted()
    const isWrite = request.purpose === 'write' && request.method !== 'GET'
    const session = this.#isReady(isWrite) ? this.#session! : await this.#wait(isWrite, signal)
    const response = await this.#send(session, request, signal)
    if (response.status !== 401) return response
    const renewing = this.#renewAfter(session)
    if (isWrite) {
      // For the next try. Its failure is reported to the callers that need its result.
      renewing.catch(() => undefined)
      return response
    }
    const renewed = await settledWithin(renewing, this.#options.credentialsTimeoutMs, signal)
    if (renewed === undefined) return response
    for await (const _ of response.body);
    return await this.#send(renewed, request, signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort(closed(this.#context))
    const all = [...this.#retired]
    if (this.#session) all.push(this.#session.connections)
    await Promise.all(all.map((connections) => connections.destroy()))
  }

  async #send(
    session: Session,
    request: ExchangeRequest,
    signal: AbortSignal,
  ): Promise<ExchangeResponse> {
    signal.throwIfAborted()
    this.#closed.signal.throwIfAborted()
    const { method, body, purpose, over } = request
    const line = purpose === 'read' ? session.connections.line(over) : undefined
    if (line === undefined && over !== undefined) throw this.#gone()
    const { answerTimeoutMs: ms } = this.#options
    const limit = { ms, isOfHead: purpose === 'watch' }
    const response = new Response({ server: this.#context.server, limit, line }, signal)
    const options: Dispatcher.DispatchOptions = {
      origin: this.#origin,
      path: this.#prefix + request.path,
      method,
      headers: headersOf(this.#options.userAgent, request, session),
      // Else undici closes the connection after a DELETE that has a body.
      reset: false,
    }
    if (body !== null) options.body = body
    try {
      if (purpose !== 'read') session.connections.dispatch(purpose, options, response)
      else line?.dispatcher.dispatch(options, response)
    } catch (error) {
      response.onResponseError(undefined, error as Error)
    }
    const head = await response.head
    if (over === undefined || head.connection === over) return head
    for await (const _ of head.body);
    throw this.#gone()
  }

  /**
   * A write does not use the credentials that were just refused, when new ones are on their way.
   */
  #isReady(isWrite: boolean): boolean {
    if (isWrite && this.#renewing !== undefined) return false
    const age = performance.now() - this.#renewedAt
    return this.#session !== undefined && age < CREDENTIALS_FOR_MS
  }

  /** The renewal continues when a caller that waits for it leaves: others wait as well. */
  async #wait(isWrite: boolean, signal: AbortSignal): Promise<Session> {
    const { credentialsTimeoutMs, writeWaitMs } = this.#options
    const limitMs = isWrite ? writeWaitMs : credentialsTimeoutMs
    const renewed = await settledWithin(this.#renew(false), limitMs, signal)
    // Earlier credentials are valid more often than not, and the server refuses them if they are
    // not.
    const session = renewed ?? (isWrite ? this.#session : undefined)
    if (session === undefined) throw this.#tooSlow(limitMs)
    return session
  }

  #gone(): ExchangeError {
    const { server } = this.#context
    return new ExchangeError(
      'CUT',
      `The connection to ${server} that was to be asked over is no more; if it says so each time, the server, or a proxy before it, ends connections after one answer: let it keep them alive`,
    )
  }

  #tooSlow(limitMs: number): ExchangeError {
    return credentialsFailure(`they took longer than ${limitMs} ms`, this.#context.name)
  }

  /** Credentials to try after a 401, if there are new ones. */
  async #renewAfter(refused: Session): Promise<Session | undefined> {
    if (this.#session !== refused) return this.#session
    if (performance.now() - this.#afreshAt < AFRESH_EVERY_MS) {
      const renewed = await this.#renewing
      return renewed === refused ? undefined : renewed
    }
    this.#afreshAt = performance.now()
    await this.#renewing
    const renewed = await this.#renew(true)
    return renewed === refused ? undefined : renewed
  }

  /** All that need credentials meanwhile share one renewal. */
  async #renew(afresh: boolean): Promise<Session> {
    this.#closed.signal.throwIfAborted()
    this.#renewing ??= this.#renewOnce(afresh).finally(() => {
      this.#renewing = undefined
    })
    return await this.#renewing
  }

  async #renewOnce(afresh: boolean): Promise<Session> {
    const { credentialsTimeoutMs } = this.#options
    const asked = this.#context.credentials(afresh).catch((error: unknown) => {
      throw credentialsFailure(error, this.#context.name)
    })
    const credentials = await settledWithin(asked, credentialsTimeoutMs, this.#closed.signal)
    if (credentials === undefined) throw this.#tooSlow(credentialsTimeoutMs)
    this.#renewedAt = performance.now()
    const earlier = this.#session
    if (earlier && isDeepStrictEqual(earlier.credentials, credentials)) return earlier
    const isSameTls = isDeepStrictEqual(earlier?.credentials.tls, credentials.tls)
    const connections = earlier && isSameTls ? earlier.connections : this.#connect(credentials)
    if (earlier && !isSameTls) this.#retire(earlier.connections)
    this.#session = {
      credentials,
      connections,
      headers: Object.entries(credentials.headers).flat(),
    }
    return this.#session
  }

  #connect({ tls }: Credentials): Connections {
    try {
      return new Connections(this.#origin, this.#context.proxyUrl, tls, this.#options)
    } catch (error) {
      throw credentialsFailure(error, this.#context.name)
    }
  }

  #retire(connections: Connections): void {
    this.#retired.add(connections)
    const leave = () => this.#retired.delete(connections)
    connections.retire().then(leave, leave)
  }
}

/** Undefined after `limitMs`. Rejects with the signal's reason. The work itself continues. */
async function settledWithin<T>(
  work: Promise<T>,
  limitMs: number,
  signal: AbortSignal,
): Promise<T | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>()
  const giveUp = (): void => reject(signal.reason)
  const timer = setTimeout(() => resolve(undefined), limitMs)
  if (signal.aborted) giveUp()
  else signal.addEventListener('abort', giveUp, { once: true })
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', giveUp)
  }
}

function headersOf(userAgent: string, request: ExchangeRequest, session: Session): string[] {
  const headers = ['user-agent', userAgent, ...session.headers]
  for (const name in request.headers) headers.push(name, request.headers[name]!)
  return headers
}

function closed({ name }: ClusterContext): ExchangeError {
  return new ExchangeError('UNREACHABLE', `The connections to context "${name}" are closed`)
}
