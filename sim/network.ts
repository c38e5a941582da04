/**
 * The wires between processes and API servers: each request passes the hindrances that faults have
 * put up, then the server, then back.
 *
 * What must stay true: a request is carried out at most once; a request that a hindrance answers
 * instead of the server was never carried out.
 *
 * Not here: which hindrances there are (network-faults.ts), the behaviour of a server (site.ts).
 */
import type { Exchange, ExchangeRequest, ExchangeResponse } from '../ports/exchange.ts'
import { ExchangeError } from '../ports/exchange.ts'
import type { Chance } from '../testing/seeded.ts'
import type { Timeline } from './clock.ts'
import type { Incarnation } from './incarnation.ts'
import type { Acting, Site } from './site.ts'

export interface Passage {
  readonly request: ExchangeRequest
  /** The cluster that is meant. */
  readonly site: Site
  readonly by: Incarnation
  readonly until: AbortSignal
  /** Carries it out; once. */
  readonly proceed: () => Promise<ExchangeResponse>
}

/** Undefined: it passes, and may be altered by another. */
export type Hindrance = (
  passage: Passage,
) => ExchangeResponse | undefined | Promise<ExchangeResponse | undefined>

/** Of one process to one cluster: a broken connection is replaced. */
interface Connection {
  broken: AbortController
}

export class Network {
  readonly #time: Timeline
  readonly #chance: Chance
  readonly #hindrances = new Set<Hindrance>()
  /** Where a name leads. */
  readonly #routes = new Map<string, Site>()
  /** When a name began to lead elsewhere, last. */
  routedMs = 0
  readonly #connections = new Map<string, Set<Connection>>()
  /** Called for each request that reaches a server. */
  readonly onRequest: (passage: Passage) => void
  /** Called right before a DELETE or PATCH takes effect: users act at awkward moments. */
  readonly beforeEffect: (site: Site, request: ExchangeRequest) => void

  constructor(
    time: Timeline,
    chance: Chance,
    sites: readonly Site[],
    hooks: Pick<Network, 'onRequest' | 'beforeEffect'>,
  ) {
    this.#time = time
    this.#chance = chance
    this.onRequest = hooks.onRequest
    this.beforeEffect = hooks.beforeEffect
    for (const site of sites) this.#routes.set(site.name, site)
  }

  /** Returns the function that removes it. */
  hinder(hindrance: Hindrance): () => void {
    this.#hindrances.add(hindrance)
    return () => this.#hindrances.delete(hindrance)
  }

  /** The name leads elsewhere from now on, or nowhere; connections stay. */
  route(name: string, site: Site | undefined): void {
    if (site === undefined) this.#routes.delete(name)
    else this.#routes.set(name, site)
    this.routedMs = this.#time.monotonicMs()
  }

  /** Breaks every connection to the server that the name leads to. */
  cut(name: string): void {
    for (const connection of this.#connections.get(name) ?? []) {
      connection.broken.abort(new ExchangeError('CUT', 'the connection was cut'))
      connection.broken = new AbortController()
    }
  }

  /** Of one process to one cluster. */
  exchange(name: string, by: Incarnation): Exchange {
    const connection = this.#connect(name, by)
    return {
      request: (request, signal) => {
        const sentMs = this.#time.monotonicMs()
        return by.call('request', async () => {
          const line = new Line(signal, connection.broken.signal, request.purpose === 'watch')
          try {
            line.until.throwIfAborted()
            const answer = await this.#pass(name, by, request, line.until, sentMs)
            return { ...answer, body: new Body(answer.body, line, by) }
          } catch (error) {
            line.hangUp()
            throw error
          }
        })
      },
      [Symbol.asyncDispose]: async () => {
        connection.broken.abort(new ExchangeError('CUT', 'the exchange was closed'))
      },
    }
  }

  #connect(name: string, by: Incarnation): Connection {
    const all = this.#connections.get(name) ?? new Set()
    this.#connections.set(name, all)
    const connection = { broken: new AbortController() }
    all.add(connection)
    by.dead.addEventListener('abort', () => {
      all.delete(connection)
      connection.broken.abort(by.dead.reason)
    })
    return connection
  }

  async #pass(
    name: string,
    by: Incarnation,
    request: ExchangeRequest,
    until: AbortSignal,
    sentMs: number,
  ): Promise<ExchangeResponse> {
    // Answers of different requests overtake each other.
    if (this.#chance.next() < 0.3) await this.#time.sleep(this.#chance.below(40), until)
    until.throwIfAborted()
    const site = this.#routes.get(name)
    if (site === undefined) throw new ExchangeError('UNREACHABLE', `nobody answers at ${name}`)
    const acting = { request, registration: name, by: by.name, sentMs }
    const passage = { request, site, by, until, proceed: () => this.#carryOut(acting, passage) }
    for (const hindrance of this.#hindrances) {
      const answer = await hindrance(passage)
      if (answer !== undefined) return answer
      until.throwIfAborted()
    }
    return await passage.proceed()
  }

  #carryOut(acting: Acting, passage: Passage): Promise<ExchangeResponse> {
    const { site, request, until } = passage
    this.onRequest(passage)
    if (request.method === 'DELETE' || request.method === 'PATCH') this.beforeEffect(site, request)
    return site.carryOut(acting, until)
  }
}

/** The signal of one request: it aborts when the request is given up or its connection breaks. */
class Line {
  readonly #either = new AbortController()
  readonly #given: AbortSignal
  readonly #broken: AbortSignal
  readonly #isForLong: boolean

  /** `isForLong`: the server may continue it by itself, as with a watch. */
  constructor(given: AbortSignal, broken: AbortSignal, isForLong: boolean) {
    this.#isForLong = isForLong
    this.#given = given
    this.#broken = broken
    if (given.aborted) this.#onGiven()
    else if (broken.aborted) this.#onBroken()
    // `AbortSignal.any` costs as much as the rest of a request.
    given.addEventListener('abort', this.#onGiven)
    broken.addEventListener('abort', this.#onBroken)
  }

  get until(): AbortSignal {
    return this.#either.signal
  }

  /**
   * Connections and loops outlive a request, so they may not keep references to one that is over.
   */
  hangUp(): void {
    this.#given.removeEventListener('abort', this.#onGiven)
    this.#broken.removeEventListener('abort', this.#onBroken)
    if (this.#isForLong) this.#either.abort(HUNG_UP)
  }

  readonly #onGiven = (): void => this.#either.abort(this.#given.reason)
  readonly #onBroken = (): void => this.#either.abort(this.#broken.reason)
}

/** As a connection does it: an abort ends the body at once, whatever the server is doing. */
class Body implements AsyncIterableIterator<Uint8Array> {
  readonly #chunks: AsyncIterator<Uint8Array>
  readonly #line: Line
  readonly #by: Incarnation
  #isOver = false
  #fail: (reason: unknown) => void = () => {}

  constructor(chunks: AsyncIterable<Uint8Array>, line: Line, by: Incarnation) {
    this.#chunks = chunks[Symbol.asyncIterator]()
    this.#line = line
    this.#by = by
    line.until.addEventListener('abort', () => this.#fail(line.until.reason), { once: true })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (this.#isOver) return NO_MORE
    try {
      const next = await this.#by.call('chunk', () => this.#take())
      if (next.done !== true) return next
    } catch (error) {
      void this.return()
      throw error
    }
    return await this.return()
  }

  /**
   * However it ended for its reader: the part behind it that still runs, such as a watch that a
   * fault has cut short, is notified.
   */
  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#isOver = true
    this.#line.hangUp()
    this.#chunks.return?.().catch(() => undefined)
    return NO_MORE
  }

  #take(): Promise<IteratorResult<Uint8Array>> {
    return new Promise((resolve, reject) => {
      this.#fail = reject
      if (this.#line.until.aborted) reject(this.#line.until.reason)
      this.#chunks.next().then(resolve, reject)
    })
  }
}

const HUNG_UP = new ExchangeError('CUT', 'nobody reads on')
const NO_MORE: IteratorReturnResult<undefined> = { done: true, value: undefined }
