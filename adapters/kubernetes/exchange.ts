/**
 * The Exchange over undici: one server, kept-alive connections, the credentials of a kubeconfig.
 *
 * What must stay true: a request is sent once. The one exception is an answer 401, which did nothing: then credentials are read afresh, and
 * if they differ it is sent once more. Credentials never get into an error or a path.
 *
 * Not here: the connections (connections.ts), one answer (response.ts), what a status means (answer.ts).
 */
import { isDeepStrictEqual } from 'node:util'
import type { Dispatcher } from 'undici'
import {
  type Exchange,
  ExchangeError,
  type ExchangeRequest,
  type ExchangeResponse,
} from '../../ports/exchange.ts'
import { type ConnectionOptions, Connections, DEFAULT_CONNECTIONS } from './connections.ts'
import { credentialsFailure } from './failure.ts'
import type { ClusterContext, Credentials } from './kubeconfig.ts'
import { Response } from './response.ts'

/** How long credentials are used before the kubeconfig's providers are asked again. */
const CREDENTIALS_FOR_MS = 30_000
/** Not more often are they read afresh after a 401: a plugin is a process. */
const AFRESH_EVERY_MS = 10_000

export function openUndiciExchange(
  context: ClusterContext,
  options: Partial<ConnectionOptions> = {},
): Exchange {
  return new UndiciExchange(context, { ...DEFAULT_CONNECTIONS, ...options })
}

interface Session {
  readonly credentials: Credentials
  readonly connections: Connections
  /** Flattened as undici takes them fastest. */
  readonly headers: readonly string[]
}

class UndiciExchange implements Exchange {
  readonly #context: ClusterContext
  readonly #options: ConnectionOptions
  readonly #origin: string
  /** A server URL may have a path: some gateways serve a cluster below one. */
  readonly #prefix: string
  #session: Session | undefined
  #renewing: Promise<Session> | undefined
  #renewedAt: number = Number.NEGATIVE_INFINITY
  #afreshAt: number = Number.NEGATIVE_INFINITY
  #isClosed = false
  /** Of earlier TLS credentials, with watches still in flight; each leaves when its last one ends. */
  readonly #retired = new Set<Connections>()

  constructor(context: ClusterContext, options: ConnectionOptions) {
    const url = new URL(context.server)
    this.#context = context
    this.#options = options
    this.#origin = url.origin
    this.#prefix = url.pathname.replace(/\/+$/, '')
  }

  async request(request: ExchangeRequest, signal: AbortSignal): Promise<ExchangeResponse> {
    signal.throwIfAborted()
    const session = this.#isFresh() ? this.#session! : await this.#renew(false)
    const response = await this.#send(session, request, signal)
    if (response.status !== 401) return response
    const renewed = await this.#renewAfter(session)
    if (renewed === undefined) return response
    for await (const _ of response.body);
    return await this.#send(renewed, request, signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    const all = [...this.#retired]
    if (this.#session) all.push(this.#session.connections)
    await Promise.all(all.map((connections) => connections.destroy()))
  }

  #send(
    session: Session,
    request: ExchangeRequest,
    signal: AbortSignal,
  ): Promise<ExchangeResponse> {
    signal.throwIfAborted()
    if (this.#isClosed) throw closed(this.#context)
    const response = new Response(this.#context.server, signal)
    const { method, body, purpose } = request
    const options: Dispatcher.DispatchOptions = {
      origin: this.#origin,
      path: this.#prefix + request.path,
      method,
      headers: headersOf(request, session),
      // Else undici closes the connection after a DELETE that has a body.
      reset: false,
    }
    if (body !== null) options.body = body
    try {
      session.connections.dispatch(purpose, options, response)
    } catch (error) {
      response.onResponseError(undefined, error as Error)
    }
    return response.head
  }

  #isFresh(): boolean {
    const age = performance.now() - this.#renewedAt
    return this.#session !== undefined && age < CREDENTIALS_FOR_MS
  }

  /** What is there to be tried after a 401, if it is anything new. */
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
    if (this.#isClosed) throw closed(this.#context)
    this.#renewing ??= this.#renewOnce(afresh).finally(() => {
      this.#renewing = undefined
    })
    return await this.#renewing
  }

  async #renewOnce(afresh: boolean): Promise<Session> {
    let credentials: Credentials
    try {
      credentials = await this.#context.credentials(afresh)
    } catch (error) {
      throw credentialsFailure(error, this.#context.name)
    }
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

function headersOf(request: ExchangeRequest, session: Session): string[] {
  const headers = ['user-agent', 'kinfold', ...session.headers]
  for (const name in request.headers) headers.push(name, request.headers[name]!)
  return headers
}

function closed({ name }: ClusterContext): ExchangeError {
  return new ExchangeError('UNREACHABLE', `The connections to context "${name}" are closed`)
}
