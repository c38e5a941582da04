/**
 * The few calls that the playground's own controllers make of its API server, within the process.
 *
 * What must stay true: they go the way of every request, so they are counted, watched and refused
 * like any other. A refusal is passed over: a controller reads what exists and tries again.
 */
import type { ApiObject, ApiResponse, ApiServer } from '../adapters/memory/api-server.ts'
import { USER_HEADER } from './audit-log.ts'

const JSON_TYPE = 'application/json'
const MERGE_PATCH = 'application/merge-patch+json'

export class Client {
  readonly #api: ApiServer
  readonly #signal: AbortSignal
  readonly #user: string

  /** `user`: as whom it asks. */
  constructor(api: ApiServer, signal: AbortSignal, user: string) {
    this.#api = api
    this.#signal = signal
    this.#user = user
  }

  /** `path` is that of the collection. The uid of what was made; undefined where it was refused. */
  async create(path: string, object: object): Promise<string | undefined> {
    const { status, body } = await this.#send('POST', path, object, JSON_TYPE)
    if (status !== 201) return undefined
    const made = Buffer.concat(await Array.fromAsync(body)).toString()
    return (JSON.parse(made) as ApiObject).metadata.uid
  }

  async merge(path: string, patch: object): Promise<void> {
    await this.#send('PATCH', path, patch, MERGE_PATCH)
  }

  /** In the background, and only the one that is meant. */
  async delete(path: string, uid: string): Promise<void> {
    const options = { propagationPolicy: 'Background', preconditions: { uid } }
    await this.#send('DELETE', path, options, JSON_TYPE)
  }

  #send(method: string, path: string, body: object, type: string): Promise<ApiResponse> {
    const headers = { accept: JSON_TYPE, 'content-type': type, [USER_HEADER]: this.#user }
    const request = { method, path, headers, body: JSON.stringify(body) }
    return this.#api.handle(request, this.#signal)
  }
}
