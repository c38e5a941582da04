/**
 * One HTTP/2 connection that watches share: a stream for each.
 *
 * What must stay true: a body ends only where the server ended its stream. Whatever else ends it,
 * the end of the connection among it, is an error of each stream, and none is sent again. A stream
 * that is not read stops itself alone: the connection's window has room for those of all streams.
 * A dead peer is found: after a silence it has to answer a ping. TCP's own probes pause while a
 * byte is not acknowledged, and on a connection that is shared there often is one.
 *
 * Not here: which watch is on which connection (shared-connections.ts), the meaning of a failure
 * (failure.ts).
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
  type OutgoingHttpHeaders,
} from 'node:http2'
import type { Socket } from 'node:net'
import { type Dispatcher, errors } from 'undici'

export interface SharingOptions {
  /**
   * Most watches over one connection. API servers take 100, some proxies fewer; what a broken
   * connection ends, and what waits for one lost packet, is bounded by it.
   */
  readonly watchesPerConnection: number
  /** From a request until the head of its answer; also from a connection until it is ready. */
  readonly headersTimeoutMs: number
  /** After so long without a byte the server is pinged; it has twice as long to answer. */
  readonly silenceMs: number
  /** How long a connection without watches is kept. */
  readonly keepAliveMs: number
}

/** Bytes of one watch that may be on their way, and that are kept here while they are not read. */
const WINDOW_BYTES = 256 * 1024

export class SharedConnection {
  /** Resolves once the server has said how many streams it takes. */
  readonly ready: Promise<void>
  /** Resolves once nothing of it is left. */
  readonly closed: Promise<void>
  readonly #options: SharingOptions
  readonly #host: string
  readonly #session: ClientHttp2Session
  readonly #socket: Socket
  readonly #probes: NodeJS.Timeout
  #most = 0
  #streams = 0
  #isRetired = false
  #failure: Error | undefined
  #idle: NodeJS.Timeout | undefined
  #bytesRead = 0
  /** In a row, each without a byte. */
  #silences = 0

  /** Over a socket on which both have agreed to HTTP/2. */
  constructor(origin: string, socket: Socket, options: SharingOptions) {
    this.#options = options
    this.#host = new URL(origin).host
    this.#socket = socket
    const ready = Promise.withResolvers<void>()
    const closed = Promise.withResolvers<void>()
    this.ready = ready.promise
    this.closed = closed.promise
    const session = connect(origin, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: WINDOW_BYTES },
    })
    this.#session = session
    session.on('connect', () => {
      if (!session.destroyed)
        session.setLocalWindowSize(options.watchesPerConnection * WINDOW_BYTES)
    })
    session.on('remoteSettings', ({ maxConcurrentStreams = Number.POSITIVE_INFINITY }) => {
      this.#most = Math.min(options.watchesPerConnection, maxConcurrentStreams)
      if (this.#streams === 0) this.#rest()
      ready.resolve()
    })
    session.on('error', (error) => {
      this.#failure = error
    })
    session.on('close', () => {
      clearInterval(this.#probes)
      clearTimeout(this.#idle)
      ready.reject(this.#failure ?? new Error('the connection ended before it was ready'))
      closed.resolve()
    })
    this.#probes = setInterval(this.#probe, options.silenceMs).unref()
  }

  /** How many more watches it takes. */
  get room(): number {
    if (this.#isRetired || this.#session.closed || this.#session.destroyed) return 0
    return Math.max(0, this.#most - this.#streams)
  }

  /** Only where there is room, and what has no body. */
  send(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    const stream = new Stream(handler, this.#onLeft)
    handler.onRequestStart?.(stream, undefined)
    if (stream.aborted) return
    const opened = this.#session.request(headersOf(this.#host, options), { endStream: true })
    this.#began()
    stream.begin(opened, this.#options.headersTimeoutMs)
  }

  /**
   * Takes no more watches, and ends with its last one. Not before: servers refuse what arrives
   * behind a GOAWAY.
   */
  retire(): void {
    this.#isRetired = true
    if (this.#streams === 0 && !this.#session.destroyed) this.#session.close()
  }

  destroy(reason: Error): void {
    // Without an error Node would end the bodies of its streams as if the server had.
    this.#session.destroy(reason)
    // After a GOAWAY Node waits until the server ends the socket, and a dead one never does.
    setImmediate(() => this.#socket.destroy())
  }

  #began(): void {
    if (this.#streams++ > 0) return
    clearTimeout(this.#idle)
    this.#session.ref()
  }

  readonly #onLeft = (failure: Error | undefined): void => {
    // What stands still may be all of it: the next try goes elsewhere, and the others go on.
    if (failure instanceof errors.HeadersTimeoutError) this.retire()
    if (--this.#streams > 0 || this.#session.destroyed) return
    if (this.#isRetired) this.#session.close()
    else this.#rest()
  }

  #rest(): void {
    clearTimeout(this.#idle)
    this.#session.unref()
    this.#idle = setTimeout(() => this.retire(), this.#options.keepAliveMs).unref()
  }

  /** Until nothing is left of it: that the server ends its half of the socket is awaited, too. */
  readonly #probe = (): void => {
    if (this.#hasSpoken()) return
    this.#silences++
    if (this.#silences === 1) this.#ask()
    if (this.#silences < 3) return
    // While this process stood still an answer may have arrived: timers run before it is read.
    setImmediate(() => {
      if (!this.#hasSpoken()) this.destroy(new Error('it does not answer a ping'))
    })
  }

  /** Node sends no ping after a GOAWAY of either side. A server acknowledges settings as well. */
  #ask(): void {
    if (this.#session.destroyed) return
    if (this.#session.closed) this.#session.settings({})
    else this.#session.ping(() => undefined)
  }

  #hasSpoken(): boolean {
    const { bytesRead } = this.#socket
    if (bytesRead === this.#bytesRead) return false
    this.#bytesRead = bytesRead
    this.#silences = 0
    return true
  }
}

/** One stream, as undici's handlers see it. */
class Stream implements Dispatcher.DispatchController {
  readonly #handler: Dispatcher.DispatchHandler
  readonly #onLeft: (failure: Error | undefined) => void
  #stream: ClientHttp2Stream | undefined
  #limit: NodeJS.Timeout | undefined
  #failure: Error | undefined
  #isSettled = false
  aborted = false
  reason: Error | null = null

  constructor(handler: Dispatcher.DispatchHandler, onLeft: (failure: Error | undefined) => void) {
    this.#handler = handler
    this.#onLeft = onLeft
  }

  get paused(): boolean {
    return this.#stream?.isPaused() ?? false
  }

  pause(): void {
    this.#stream?.pause()
  }

  resume(): void {
    this.#stream?.resume()
  }

  abort(reason: Error): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    this.#break(reason)
  }

  begin(stream: ClientHttp2Stream, headersTimeoutMs: number): void {
    this.#stream = stream
    this.#limit = setTimeout(() => this.#break(new errors.HeadersTimeoutError()), headersTimeoutMs)
    stream.on('response', this.#onResponse)
    stream.on('end', this.#onEnd)
    stream.on('error', (error) => {
      this.#failure ??= error
    })
    stream.on('frameError', () => this.#break(new Error('it could not be sent')))
    stream.on('close', this.#onClose)
  }

  readonly #onResponse = (headers: IncomingHttpHeaders & IncomingHttpStatusHeader): void => {
    clearTimeout(this.#limit)
    const { ':status': status = 0 } = headers
    const named = Object.entries(headers).filter(([name]) => !name.startsWith(':'))
    this.#handler.onResponseStart?.(this, status, Object.fromEntries(named))
    // Only now: what is on its way to us must not come before its head.
    this.#stream?.on('data', (chunk: Buffer) => this.#handler.onResponseData?.(this, chunk))
  }

  /**
   * Node ends the body of a stream that is reset or destroyed, too. A reset without an error counts
   * as the server's end: a watcher goes on from its last event in either case.
   */
  readonly #onEnd = (): void => {
    const stream = this.#stream
    if (stream?.rstCode !== constants.NGHTTP2_NO_ERROR || stream.destroyed) return
    if (this.#settles()) this.#handler.onResponseEnd?.(this, {})
  }

  readonly #onClose = (): void => {
    const code = this.#stream?.rstCode ?? 0
    const failure = this.#failure ?? new Error(`the server closed it, code ${code}`)
    if (this.#settles()) this.#handler.onResponseError?.(this, failure)
  }

  #settles(): boolean {
    if (this.#isSettled) return false
    this.#isSettled = true
    clearTimeout(this.#limit)
    this.#onLeft(this.#failure)
    return true
  }

  #break(reason: Error): void {
    this.#failure ??= reason
    // Tells the server; the other streams go on.
    this.#stream?.close(constants.NGHTTP2_CANCEL)
    // What it has buffered is freed now, also where the loop is too busy to close it.
    this.#stream?.destroy()
  }
}

/**
 * With the host as HTTP/1.1 names it, which proxies route by. Node's own has a port always, and an
 * IPv6 address without its brackets.
 */
function headersOf(
  host: string,
  { method, path, headers }: Dispatcher.DispatchOptions,
): OutgoingHttpHeaders {
  const result: OutgoingHttpHeaders = { ':method': method, ':authority': host, ':path': path }
  for (const [name, value] of pairsOf(headers)) if (name !== 'host') result[name] = value
  return result
}

/** As the exchange gives them, or as undici's ProxyAgent makes them. */
function pairsOf(headers: Dispatcher.DispatchOptions['headers']): [string, string][] {
  if (!Array.isArray(headers)) return Object.entries(headers ?? {}) as [string, string][]
  const pairs: [string, string][] = []
  for (let i = 0; i < headers.length; i += 2) pairs.push([headers[i]!, headers[i + 1]!])
  return pairs
}
