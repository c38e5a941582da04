/**
 * One answer as it comes in from undici: a promise of its head, then its body chunk by chunk.
 *
 * What must stay true: the body ends only where the server ended it, everything else throws; and a
 * reader that is slower than the server stops the server, not our memory. It ends within its limit,
 * with an answer or without. This is undici's handler itself, without a stream between: a DELETE
 * costs a tenth of a millisecond.
 *
 * Not here: connections (connections.ts), the meaning of a failure (failure.ts).
 */
import type { Dispatcher } from 'undici'
import { ExchangeError, type ExchangeResponse } from '../../../ports/exchange.ts'
import type { Line } from './connections.ts'
import { failureOf } from './failure.ts'

/** Bytes that wait for a reader before the socket is paused. */
const HIGH_WATER_BYTES = 256 * 1024

/**
 * - `queued`: nothing is sent. - `sent`: it is being sent, or is. - `answering`: there is a head.
 * - `ended`, `failed`: nothing more comes.
 */
type Phase = 'queued' | 'sent' | 'answering' | 'ended' | 'failed'

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined }

type Headers = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2]

export interface ResponseParts {
  /** For people. */
  readonly server: string
  readonly limit: {
    readonly ms: number
    /** Or else of the whole answer. */
    readonly isOfHead: boolean
  }
  readonly line: Line | undefined
}

export class Response implements Dispatcher.DispatchHandler {
  /** Settles with the head. */
  readonly head: Promise<ExchangeResponse>
  readonly #server: string
  readonly #limit: ResponseParts['limit']
  readonly #timer: NodeJS.Timeout
  readonly #signal: AbortSignal
  readonly #line: Line | undefined
  readonly #resolve: (response: ExchangeResponse) => void
  readonly #reject: (reason: unknown) => void
  #phase: Phase = 'queued'
  #controller: Dispatcher.DispatchController | undefined
  #failure: unknown
  #chunks: Uint8Array[] = []
  #waitingBytes = 0
  #wake: (() => void) | undefined

  constructor({ server, limit, line }: ResponseParts, signal: AbortSignal) {
    this.#server = server
    this.#limit = limit
    this.#signal = signal
    this.#timer = setTimeout(this.#onTimeout, limit.ms)
    this.#line = line
    if (line !== undefined) line.busy++
    const { promise, resolve, reject } = Promise.withResolvers<ExchangeResponse>()
    this.head = promise
    this.#resolve = resolve
    this.#reject = reject
    signal.addEventListener('abort', this.#onAbort, { once: true })
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#phase === 'failed') {
      controller.abort(new Error('given up while it was queued'))
      return
    }
    this.#controller = controller
    this.#phase = 'sent'
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Headers): void {
    // Interim answers (1xx) precede the real one.
    if (status < 200) return
    this.#phase = 'answering'
    if (this.#limit.isOfHead) clearTimeout(this.#timer)
    const body = { [Symbol.asyncIterator]: this.#read }
    this.#resolve({ status, headers: flat(headers), body, connection: this.#line?.connection })
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#waitingBytes += chunk.byteLength
    if (this.#waitingBytes > HIGH_WATER_BYTES) controller.pause()
    this.#wake?.()
  }

  onResponseEnd(): void {
    this.#settled()
    this.#phase = 'ended'
    this.#free()
    this.#wake?.()
  }

  onResponseError(_: unknown, error: Error): void {
    this.#fail(failureOf(error, this.#server, this.#phase !== 'queued'))
  }

  #fail(reason: unknown): void {
    if (this.#phase === 'ended' || this.#phase === 'failed') return
    this.#settled()
    this.#phase = 'failed'
    this.#free()
    this.#failure = reason
    this.#chunks = []
    this.#reject(reason)
    this.#wake?.()
  }

  #settled(): void {
    clearTimeout(this.#timer)
    this.#signal.removeEventListener('abort', this.#onAbort)
  }

  #free(): void {
    if (this.#line !== undefined) this.#line.busy--
  }

  readonly #onTimeout = (): void => {
    const { ms, isOfHead } = this.#limit
    const what = isOfHead ? 'begin its answer' : 'answer'
    const text = `${this.#server} did not ${what} within ${ms} ms; see whether it is overloaded, and what is between`
    this.#fail(new ExchangeError(this.#phase === 'queued' ? 'UNREACHABLE' : 'TIMEOUT', text))
    this.#controller?.abort(new Error('out of time'))
  }

  readonly #onAbort = (): void => {
    this.#fail(this.#signal.reason)
    this.#controller?.abort(new Error('given up'))
  }

  /**
   * No generator: nearly every answer is one chunk that is there already, and is read a thousand
   * times a second.
   */
  readonly #read = (): AsyncIterator<Uint8Array, undefined> => ({
    next: () => this.#next(),
    return: async () => {
      this.#left()
      return DONE
    },
  })

  async #next(): Promise<IteratorResult<Uint8Array, undefined>> {
    while (true) {
      if (this.#phase === 'failed') throw this.#failure
      const value = this.#chunks.shift()
      if (value !== undefined) {
        this.#waitingBytes -= value.byteLength
        return { done: false, value }
      }
      if (this.#phase === 'ended') return DONE
      if (this.#controller?.paused) this.#controller.resume()
      await this.#more()
    }
  }

  /** The reader leaves early: the rest of this connection is of no use. */
  #left(): void {
    if (this.#phase === 'ended') return
    const reason = new Error('the reader left')
    this.#fail(reason)
    this.#controller?.abort(reason)
  }

  async #more(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    await promise
    this.#wake = undefined
  }
}

function flat(headers: Headers): Record<string, string> {
  const result: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined) result[name] = typeof value === 'string' ? value : value.join(', ')
  }
  return result
}
