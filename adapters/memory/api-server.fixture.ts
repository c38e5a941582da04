/**
 * For tests of the in-memory API server: one on a clock that does not move, asked in one line and
 * read as JSON.
 *
 * Not here: anything that judges an answer.
 */
import { ok } from 'node:assert/strict'
import { ApiServer, type ApiServerOptions } from './api-server.ts'
import { ManualClock } from './clock.ts'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  // biome-ignore lint/suspicious/noExplicitAny: tests read into it, and fail where a field is missing.
  readonly body: any
}

export const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
export const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'
export const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'
export const TABLE = 'application/json;as=Table;g=meta.k8s.io;v=v1'

const PATCHES = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const

export class ApiFixture {
  readonly clock: ManualClock = new ManualClock()
  readonly server: ApiServer

  constructor(options: Pick<ApiServerOptions, 'historyLimit'> = {}) {
    this.server = new ApiServer({ clock: this.clock, random: seeded(), name: 'test', ...options })
  }

  /** Parsed if it is one JSON document, else the text. */
  async request(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const sent = typeof body === 'string' || body === undefined ? body : JSON.stringify(body)
    const type = { 'content-type': 'application/json' }
    const request = { method, path, headers: { ...type, ...headers }, body: sent ?? null }
    const answer = await this.server.handle(request, new AbortController().signal)
    const text = Buffer.concat(await Array.fromAsync(answer.body)).toString()
    return { status: answer.status, headers: answer.headers, body: parsed(text) }
  }

  async create(path: string, metadata: object, fields: object = {}): Promise<Answer['body']> {
    const { status, body } = await this.request('POST', path, { metadata, ...fields })
    ok(status === 201, JSON.stringify(body))
    return body
  }

  patch(path: string, type: keyof typeof PATCHES, body: unknown): Promise<Answer> {
    return this.request('PATCH', path, body, { 'content-type': PATCHES[type] })
  }

  async watch(path: string, headers: Readonly<Record<string, string>> = {}): Promise<WatchReader> {
    const stop = new AbortController()
    const request = { method: 'GET', path, headers, body: null }
    const { status, body } = await this.server.handle(request, stop.signal)
    ok(status === 200)
    return new WatchReader(body, stop)
  }
}

/** Lines of a watch, one by one. */
export class WatchReader implements AsyncDisposable {
  readonly #body: AsyncIterator<Uint8Array>
  readonly #stop: AbortController
  readonly #lines: Answer['body'][] = []

  constructor(body: AsyncIterable<Uint8Array>, stop: AbortController) {
    this.#body = body[Symbol.asyncIterator]()
    this.#stop = stop
  }

  /** Undefined at its end. */
  async next(): Promise<Answer['body']> {
    if (this.#lines.length === 0) {
      const { done, value } = await this.#body.next()
      if (done === true) return undefined
      const lines = Buffer.from(value).toString().split('\n').slice(0, -1)
      this.#lines.push(...lines.map((line) => JSON.parse(line)))
    }
    return this.#lines.shift()
  }

  /** As `TYPE name` each. */
  async take(count: number): Promise<string[]> {
    const taken: string[] = []
    while (taken.length < count) {
      const line = await this.next()
      taken.push(line === undefined ? 'END' : `${line.type} ${line.object.metadata?.name ?? ''}`)
    }
    return taken
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#body.next().catch(() => {})
  }
}

/** The same every time. */
export function seeded(): { next(): number } {
  let state = 1
  return {
    next() {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return state / 2 ** 32
    },
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
