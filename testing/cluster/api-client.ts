/**
 * The plainest HTTPS client for tests of a real API server: one request, one whole answer,
 * connections kept alive. It reads no meaning into statuses and never retries, so that a test sees
 * the exact answer.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { Agent, request as httpsRequest } from 'node:https'
import { text } from 'node:stream/consumers'

export interface Answer<T> {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Parsed if it is one JSON document, else the text (a finished watch is lines of JSON). */
  readonly body: T
}

export interface ApiClientOptions {
  readonly server: string
  /** Anonymous without. */
  readonly token?: string
  /** PEM. */
  readonly ca: string
}

export class ApiClient implements Disposable {
  readonly #options: ApiClientOptions
  readonly #agent: Agent

  constructor(options: ApiClientOptions) {
    this.#options = options
    this.#agent = new Agent({ keepAlive: true, ca: options.ca })
  }

  /** A body that is neither a string nor bytes is sent as JSON. `headers` override the defaults. */
  async request<T = unknown>(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
    signal?: AbortSignal,
  ): Promise<Answer<T>> {
    const { server, token } = this.#options
    const isRaw = body === undefined || typeof body === 'string' || body instanceof Uint8Array
    const payload = isRaw ? body : JSON.stringify(body)
    const { promise, resolve, reject } = Promise.withResolvers<Answer<T>>()
    const sent = httpsRequest(
      new URL(path, server),
      {
        method,
        agent: this.#agent,
        headers: {
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          accept: 'application/json',
          ...(payload !== undefined && {
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(payload),
          }),
          ...lowerCased(headers),
        },
        ...(signal && { signal }),
      },
      (response) => {
        text(response).then(
          (received) =>
            resolve({
              status: response.statusCode!,
              headers: response.headers,
              body: parsed(received) as T,
            }),
          reject,
        )
      },
    )
    sent.on('error', reject)
    sent.end(payload)
    return await promise
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([k, v]) => [k.toLowerCase(), v]))
}

function parsed(received: string): unknown {
  try {
    return JSON.parse(received)
  } catch {
    return received
  }
}
