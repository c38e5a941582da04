/**
 * The connections that the watches of one cluster share: HTTP/2 where the server speaks it, as many
 * as its limit of streams and ours take; elsewhere HTTP/1.1, with a connection for each.
 *
 * What must stay true: nothing waits without a limit. Where no connection has room another one is
 * opened, and what waits for one that does not come fails as not sent. Nothing is sent twice.
 *
 * Not here: one connection (shared-connection.ts), requests that are no watches (connections.ts).
 */
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { type buildConnector, Dispatcher, errors } from 'undici'
import { SharedConnection, type SharingOptions } from './shared-connection.ts'

export interface SharedConnectionsParts {
  /** Of a server behind TLS. */
  readonly origin: string
  /** Has to offer HTTP/2. */
  readonly connect: buildConnector.connector
  /** For a server that does not speak HTTP/2; not closed from here. */
  readonly unshared: Dispatcher
}

interface Request {
  readonly options: Dispatcher.DispatchOptions
  readonly handler: Dispatcher.DispatchHandler
}

export class SharedConnections extends Dispatcher {
  readonly #parts: SharedConnectionsParts
  readonly #options: SharingOptions
  readonly #connections = new Set<SharedConnection>()
  readonly #openings = new Set<Opening>()
  /** Until the server has chosen HTTP/1.1: it is not asked again. */
  #isShared = true
  #isClosed = false

  constructor(parts: SharedConnectionsParts, options: SharingOptions) {
    super()
    this.#parts = parts
    this.#options = options
  }

  override dispatch(
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): boolean {
    if (this.#isClosed) throw new errors.ClientClosedError()
    this.#place({ options, handler })
    return true
  }

  /** Its watches go on; resolves when the last one has ended. */
  override async close(): Promise<void> {
    this.#isClosed = true
    for (const connection of this.#connections) {
      // Once it has what waits for it.
      connection.ready.then(() => connection.retire()).catch(() => undefined)
    }
    while (this.#openings.size > 0 || this.#connections.size > 0) {
      const openings = [...this.#openings].map(({ over }) => over)
      await Promise.all([...openings, ...[...this.#connections].map(({ closed }) => closed)])
    }
  }

  override async destroy(): Promise<void> {
    this.#isClosed = true
    const reason = new errors.ClientDestroyedError()
    for (const opening of this.#openings) opening.fail(reason)
    const connections = [...this.#connections]
    for (const connection of connections) connection.destroy(reason)
    await Promise.all(connections.map(({ closed }) => closed))
  }

  #place(request: Request): void {
    const { options, handler } = request
    const connection = this.#connections.values().find(({ room }) => room > 0)
    try {
      if (!this.#isShared) this.#parts.unshared.dispatch(options, handler)
      else if (connection !== undefined) connection.send(options, handler)
      else this.#opening().add(request)
    } catch (error) {
      handler.onResponseError?.(UNSENT, error as Error)
    }
  }

  /** One that more may wait for. */
  #opening(): Opening {
    const most = this.#options.watchesPerConnection
    return this.#openings.values().find(({ waiting }) => waiting < most) ?? this.#open()
  }

  #open(): Opening {
    const opening = new Opening(this.#options.headersTimeoutMs)
    this.#openings.add(opening)
    void opening.over.then(() => this.#openings.delete(opening))
    void this.#fill(opening).catch((error: Error) => opening.fail(error))
    return opening
  }

  /** Places what waits once the server has said what it speaks, and how many streams it takes. */
  async #fill(opening: Opening): Promise<void> {
    const socket = await this.#connect(opening)
    if ((socket as TLSSocket).alpnProtocol !== 'h2') {
      socket.destroy()
      this.#isShared = false
      for (const request of opening.take()) this.#place(request)
      return
    }
    const connection = new SharedConnection(this.#parts.origin, socket, this.#options)
    this.#connections.add(connection)
    void connection.closed.then(() => this.#connections.delete(connection))
    await connection.ready
    // Else another one would be opened for what waits, and so on.
    if (connection.room === 0) throw new Error('it takes no stream')
    for (const request of opening.take()) this.#place(request)
    if (this.#isClosed) connection.retire()
  }

  async #connect(opening: Opening): Promise<Socket> {
    const { protocol, host, hostname, port } = new URL(this.#parts.origin)
    const { promise, resolve, reject } = Promise.withResolvers<Socket>()
    const to = { protocol, host, hostname: hostname.replace(/^\[|\]$/g, ''), port }
    this.#parts.connect(to, (error, socket) => {
      if (error === null) resolve(socket)
      else reject(error)
    })
    const socket = await promise
    if (!opening.isOver) return socket
    socket.destroy()
    throw new errors.ClientClosedError()
  }
}

/** Watches that wait for a connection. */
class Opening {
  /** Resolves once nothing waits for it any more. */
  readonly over: Promise<void>
  readonly #end: () => void
  readonly #limit: NodeJS.Timeout
  #requests: Request[] = []
  isOver = false

  constructor(limitMs: number) {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.over = promise
    this.#end = resolve
    const tooSlow = new errors.ConnectTimeoutError(`no connection within ${limitMs} ms`)
    this.#limit = setTimeout(() => this.fail(tooSlow), limitMs)
  }

  /** How many wait; none may be added once it is over. */
  get waiting(): number {
    return this.isOver ? Number.POSITIVE_INFINITY : this.#requests.length
  }

  add(request: Request): void {
    this.#requests.push(request)
  }

  take(): readonly Request[] {
    clearTimeout(this.#limit)
    const requests = this.#requests
    this.#requests = []
    this.isOver = true
    this.#end()
    return requests
  }

  fail(error: Error): void {
    for (const { handler } of this.take()) handler.onResponseError?.(UNSENT, error)
  }
}

/** Of a request that was not sent. */
const UNSENT: Dispatcher.DispatchController = {
  aborted: true,
  paused: false,
  reason: null,
  abort: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
}
