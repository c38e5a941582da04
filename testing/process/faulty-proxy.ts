/**
 * A proxy in front of a real API server that spoils answers by seed: the faults of a network and of
 * servers.
 *
 * What must stay true: however it changes an answer, the request either reached the server whole or
 * not at all; with `rate` at 0 it changes nothing.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Agent, request as httpsRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import type { Chance } from '../seeded.ts'

/**
 * Not forwarded: `throttled` (429 with Retry-After), `failed` (500), `typed-404` (a Status without
 * details, as an unserved version answers), `plain-404`. Forwarded: `slow`; `cut` (half of the
 * answer, then the connection breaks); `lost` (it breaks before the answer).
 */
export const FAULTS = [
  'throttled',
  'failed',
  'typed-404',
  'plain-404',
  'slow',
  'cut',
  'lost',
] as const
export type Fault = (typeof FAULTS)[number]

export interface ProxyOptions {
  /** The API server's. */
  readonly server: string
  /** PEM. */
  readonly ca: string
  readonly chance: Chance
  /** For requests without one: Kubernetes' own client sends none over plain HTTP. */
  readonly token?: string
}

const SLOW_MS = 1_500

export class FaultyProxy implements AsyncDisposable {
  /** Share of requests that get a fault, which of them, and for which paths. */
  rate = 0
  faults: readonly [Fault, ...Fault[]] = FAULTS
  /** Of addresses, and of methods. */
  only: RegExp = /./
  methods: RegExp = /./
  /** How often each was done to which method; `GET` includes lists and watches. */
  readonly done: Map<`${string} ${Fault}`, number> = new Map()
  /** Requests by `METHOD resource[/subresource]`; a GET is GET, LIST or WATCH. */
  readonly requests: Map<string, number> = new Map()
  #options: ProxyOptions
  #agent: Agent
  readonly #server: Server

  private constructor(options: ProxyOptions) {
    this.#options = options
    this.#agent = new Agent({ keepAlive: true, ca: options.ca })
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy())
    })
  }

  static async start(options: ProxyOptions): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(options)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    proxy.#server.once('error', reject)
    proxy.#server.listen(0, '127.0.0.1', resolve)
    await promise
    return proxy
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** To another server, from now on: the same address, another cluster. */
  lead({ server, ca }: Pick<ProxyOptions, 'server' | 'ca'>): void {
    this.#options = { ...this.#options, server, ca }
    this.#agent.destroy()
    this.#agent = new Agent({ keepAlive: true, ca })
    this.breakConnections()
  }

  /** The open connections; requests sent over them are no longer answered. */
  breakConnections(): void {
    this.#server.closeAllConnections()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#server.close(() => resolve())
    this.#server.closeAllConnections()
    this.#agent.destroy()
    await promise
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { chance } = this.#options
    const body = await buffer(request)
    const asked = requestOf(request.method ?? '', request.url ?? '')
    this.requests.set(asked, (this.requests.get(asked) ?? 0) + 1)
    const isMeant = this.only.test(request.url ?? '') && this.methods.test(request.method ?? '')
    const isSpared = !isMeant || chance.next() >= this.rate
    if (isSpared) return await this.#forward(request, body, response, pass)
    const fault = chance.pick(this.faults)
    const key = `${request.method ?? ''} ${fault}` as const
    this.done.set(key, (this.done.get(key) ?? 0) + 1)
    switch (fault) {
      case 'throttled':
        return answer(response, 429, TOO_MANY, { 'retry-after': '1' })
      case 'failed':
        return answer(response, 500, chance.next() < 0.5 ? FAILURE : 'out of luck')
      case 'typed-404':
        return answer(response, 404, NOT_FOUND)
      case 'plain-404':
        return answer(response, 404, '404 page not found\n')
      case 'slow':
        await delay(SLOW_MS * chance.next())
        return await this.#forward(request, body, response, pass)
      case 'cut':
        return await this.#forward(request, body, response, cut)
      case 'lost':
        return await this.#forward(request, body, response, lose)
    }
  }

  /** Resolves with the answer's head; `hand` decides how its body is sent. */
  async #forward(
    request: IncomingMessage,
    body: Buffer,
    response: ServerResponse,
    hand: (from: IncomingMessage, to: ServerResponse) => void,
  ): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const { method, headers } = request
    const { token } = this.#options
    const url = new URL(request.url ?? '/', this.#options.server)
    const forwarded = httpsRequest(url, {
      agent: this.#agent,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...{ ...headers, host: url.host },
      },
      ...(method !== undefined && { method }),
    })
    forwarded.once('response', resolve)
    // Of a server that is killed there can be a second one, after its answer began.
    forwarded.on('error', reject)
    // A watch that its client gives up ends at the server, too.
    response.once('close', () => forwarded.destroy())
    forwarded.end(body)
    hand(await promise, response)
  }
}

function requestOf(method: string, address: string): string {
  const { pathname, searchParams } = new URL(address, 'http://proxy')
  const [root, ...rest] = pathname.split('/').slice(1)
  const afterVersion = rest.slice(root === 'api' ? 1 : 2)
  const isWithin = afterVersion[0] === 'namespaces' && afterVersion.length > 2
  const [resource = '', name, sub] = isWithin ? afterVersion.slice(2) : afterVersion
  const what = sub === undefined ? resource : `${resource}/${sub}`
  if (method !== 'GET' || resource === '') return `${method} ${what}`.trimEnd()
  if (searchParams.has('watch')) return `WATCH ${what}`
  return `${name === undefined ? 'LIST' : 'GET'} ${what}`
}

function pass(from: IncomingMessage, to: ServerResponse): void {
  to.writeHead(from.statusCode ?? 502, from.headers)
  to.flushHeaders()
  from.once('error', () => to.destroy())
  from.pipe(to)
}

function cut(from: IncomingMessage, to: ServerResponse): void {
  to.writeHead(from.statusCode ?? 502, from.headers)
  from.once('error', () => to.destroy())
  from.once('data', (chunk: Buffer) => {
    to.write(chunk.subarray(0, Math.floor(chunk.length / 2)), () => to.destroy())
  })
  from.once('end', () => to.destroy())
}

function lose(_from: IncomingMessage, to: ServerResponse): void {
  to.destroy()
}

function answer(
  response: ServerResponse,
  code: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const type = body.startsWith('{') ? 'application/json' : 'text/plain; charset=utf-8'
  response.writeHead(code, { 'content-type': type, ...headers })
  response.end(body)
}

function status(code: number, reason: string): string {
  const head = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' }
  return JSON.stringify({ ...head, message: reason, reason, details: {}, code })
}

const TOO_MANY = status(429, 'TooManyRequests')
const FAILURE = status(500, 'InternalError')
const NOT_FOUND = status(404, 'NotFound')
