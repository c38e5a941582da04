/**
 * The few calls that the playground's own controllers make of its API server, within the process.
 *
 * What must stay true: they go the way of every request, so they are counted, watched and refused like any other. A refusal is
 * passed over: whoever reconciles looks at what is there and comes back.
 */
import type { ApiServer } from '../adapters/memory/api-server.ts'

const JSON_TYPE = 'application/json'
const MERGE_PATCH = 'application/merge-patch+json'

export class Client {
  readonly #api: ApiServer
  readonly #signal: AbortSignal

  constructor(api: ApiServer, signal: AbortSignal) {
    this.#api = api
    this.#signal = signal
  }

  /** `path` is that of the collection. */
  create(path: string, object: object): Promise<void> {
    return this.#send('POST', path, object, JSON_TYPE)
  }

  merge(path: string, patch: object): Promise<void> {
    return this.#send('PATCH', path, patch, MERGE_PATCH)
  }

  /** In the background, and only the one that is meant. */
  delete(path: string, uid: string): Promise<void> {
    const options = { propagationPolicy: 'Background', preconditions: { uid } }
    return this.#send('DELETE', path, options, JSON_TYPE)
  }

  async #send(method: string, path: string, body: object, type: string): Promise<void> {
    const headers = { accept: JSON_TYPE, 'content-type': type }
    const request = { method, path, headers, body: JSON.stringify(body) }
    await this.#api.handle(request, this.#signal)
  }
}
