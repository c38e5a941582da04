/**
 * The Exchange port over an API server in this process.
 *
 * What must stay true: it behaves as a connection does: nothing is sent once it is closed, an
 * aborted request rejects with the signal's reason, and a body stops throwing nothing but that
 * reason.
 *
 * Not here: delays, cut bodies and other faults (`ApiServer.inject`).
 */
import {
  type Exchange,
  ExchangeError,
  type ExchangeRequest,
  type ExchangeResponse,
} from '../../ports/exchange.ts'
import type { ApiServer } from './api-server.ts'

export function memoryExchange(server: ApiServer): Exchange {
  const closing = new AbortController()
  return {
    async request(request: ExchangeRequest, signal: AbortSignal): Promise<ExchangeResponse> {
      signal.throwIfAborted()
      if (closing.signal.aborted) {
        throw new ExchangeError('UNREACHABLE', `The exchange with ${server.name} is closed.`)
      }
      const until = AbortSignal.any([signal, closing.signal])
      const response = await untilAborted(server.handle(request, until), until)
      return { ...response, body: readable(response.body, until) }
    },
    [Symbol.asyncDispose](): Promise<void> {
      closing.abort(new ExchangeError('CUT', `The exchange with ${server.name} was closed.`))
      return Promise.resolve()
    },
  }
}

/** An injected fault may never answer; the caller's abort still counts. */
async function untilAborted<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const onAbort = (): void => reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([answer, promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

async function* readable(
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of body) {
    signal.throwIfAborted()
    yield chunk
  }
  signal.throwIfAborted()
}
