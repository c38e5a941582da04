/**
 * A Kubernetes-style API server in this process: the playground's, the simulator's, and the one
 * that contracts run against. No sockets: it takes a request and returns an answer.
 *
 * What must stay true: requests that a collector relies on are answered as kube-apiserver answers
 * them (rules B67 to B71, and observations on v1.36); time and chance come from ports alone. Each
 * request is carried out in one turn, so requests are atomic to one another.
 *
 * Not here: authentication, admission, controllers (except for namespaces and
 * CustomResourceDefinitions, whose content is deleted with them), HTTP (playground/http.ts).
 */
import type { Clock } from '../../ports/clock.ts'
import type { Random } from '../../ports/random.ts'
import { Handler } from './api/handler.ts'
import type { Kind } from './api/kind.ts'
import type { ApiObject } from './api/object.ts'
import { Registry } from './api/registry.ts'
import type { ApiRequest, ApiResponse } from './api/request.ts'
import { Refusal } from './api/status.ts'
import { type Effect, Storage } from './api/storage.ts'
import { Sweeper } from './api/write/sweep.ts'

export type { ApiObject, ApiRequest, ApiResponse, Effect, Kind }

export interface ApiServerOptions {
  readonly clock: Clock
  readonly random: Random
  /** For people: which cluster this is. */
  readonly name: string
  /**
   * Changes of one kind that watches can still resume from, at least; it may hold twice as many.
   */
  readonly historyLimit?: number
  /** Between bookmarks on a watch that requested them. */
  readonly bookmarkMs?: number
  /** Of the built-in kinds; by default all of them. */
  readonly serves?: (kind: Kind) => boolean
}

/**
 * Sees a request first: answers in the server's place, or alters what it answers, or (undefined)
 * leaves it alone.
 */
export type Fault = (
  request: ApiRequest,
  proceed: () => Promise<ApiResponse>,
) => ApiResponse | undefined | Promise<ApiResponse | undefined>

const HISTORY_LIMIT = 20_000
const BOOKMARK_MS = 60_000
const OWN_NAMESPACES = ['kube-system', 'default', 'kube-public']

export class ApiServer {
  readonly name: string
  readonly #storage: Storage
  readonly #registry: Registry
  readonly #sweeper: Sweeper
  readonly #handler: Handler
  readonly #faults = new Set<Fault>()

  constructor(options: ApiServerOptions) {
    const { clock, random, historyLimit = HISTORY_LIMIT, bookmarkMs = BOOKMARK_MS } = options
    this.name = options.name
    this.#storage = new Storage(historyLimit)
    this.#registry = new Registry(options.serves)
    this.#sweeper = new Sweeper(this.#storage, this.#registry, clock)
    const [storage, registry, sweeper] = [this.#storage, this.#registry, this.#sweeper]
    this.#handler = new Handler({ clock, random, storage, registry, sweeper, bookmarkMs })
    for (const name of OWN_NAMESPACES) this.#createNamespace(name)
  }

  /**
   * Answers everything, refusals included; rejects only when a fault does. A watch's body ends or
   * throws by `signal`.
   */
  async handle(request: ApiRequest, signal: AbortSignal): Promise<ApiResponse> {
    for (const fault of this.#faults) {
      const answer = await fault(request, () => Promise.resolve(this.#answer(request, signal)))
      if (answer !== undefined) return answer
    }
    return this.#answer(request, signal)
  }

  /** Returns the function that ends it. */
  inject(fault: Fault): () => void {
    this.#faults.add(fault)
    return () => this.#faults.delete(fault)
  }

  /** Called within each write, right after it took effect. Returns the function that ends it. */
  observe(observer: (effect: Effect) => void): () => void {
    return this.#storage.observe(observer)
  }

  /** Forgets the history: watches and lists from before now are answered 410. */
  compact(): void {
    this.#storage.compact()
  }

  /**
   * As a restore of etcd that bumps its versions and forgets its history: from now on versions are
   * higher by `by`.
   */
  bump(by: number): void {
    this.#storage.bump(by)
    this.#storage.compact()
  }

  /** How often each was asked, by `VERB resource` such as `LIST pods`. */
  requestCounts(): ReadonlyMap<string, number> {
    return new Map(this.#handler.counts)
  }

  /** Of everything; the last effect has it. */
  get resourceVersion(): string {
    return String(this.#storage.version)
  }

  /** The present state of one object, without a request. */
  object(group: string, resource: string, namespace: string, name: string): ApiObject | undefined {
    const kind = this.#registry.kind(group, resource)
    return kind && this.#storage.get(kind, namespace, name)?.object
  }

  /** The present state of all objects of a resource, in order, without a request. */
  *objects(group: string, resource: string): Generator<ApiObject, void, undefined> {
    const kind = this.#registry.kind(group, resource)
    if (kind === undefined) return
    const all = this.#storage.collection(kind).snapshot().range('', '\uffff')
    for (const { object } of all) yield object
  }

  #answer(request: ApiRequest, signal: AbortSignal): ApiResponse {
    try {
      return this.#handler.route(request, signal)
    } catch (error) {
      if (error instanceof Refusal) return this.#handler.refuse(error)
      // As the real server answers when a handler of its own panics.
      return this.#handler.refuse(new Refusal(500, `This request caused a failure: ${error}`))
    } finally {
      this.#sweeper.settle()
    }
  }

  #createNamespace(name: string): void {
    const body = JSON.stringify({ metadata: { name } })
    const request = { method: 'POST', path: '/api/v1/namespaces', headers: {}, body }
    this.#handler.route(request, AbortSignal.abort())
    this.#handler.counts.clear()
  }
}
