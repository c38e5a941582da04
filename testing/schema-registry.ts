/**
 * A schema registry as small as one can be, as far as Kinfold and its consumers ask one: subjects,
 * ids, no persistence.
 *
 * What must stay true: one schema has one id, whatever its subjects, as in Confluent's.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { canonicalForm, type Schema } from '../adapters/avro/schema.ts'

interface Reply {
  readonly status: number
  readonly body: object
}

export class SchemaRegistry implements AsyncDisposable {
  readonly url: string
  readonly #server: Server
  readonly #schemas: string[] = []
  readonly #subjects = new Map<string, Set<number>>()
  /** Subjects that take no further version. */
  readonly closed: Set<string> = new Set()
  credentials: string | undefined

  private constructor(server: Server) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  static async start(): Promise<SchemaRegistry> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const registry = new SchemaRegistry(server)
    server.on('request', async (request, response) => {
      const { status, body } = await registry.#answer(request)
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
    return registry
  }

  get subjects(): readonly string[] {
    return [...this.#subjects.keys()]
  }

  /** As if another program had registered it. */
  add(subject: string, schema: Schema): number {
    const id = this.#idOf(schema) ?? this.#schemas.push(JSON.stringify(schema))
    const ids = this.#subjects.get(subject) ?? new Set()
    this.#subjects.set(subject, ids.add(id))
    return id
  }

  async #answer(request: IncomingMessage): Promise<Reply> {
    const expected = this.credentials && Buffer.from(this.credentials).toString('base64')
    if (expected && request.headers.authorization !== `Basic ${expected}`) {
      return { status: 401, body: { error_code: 401, message: 'Unauthorized' } }
    }
    const { pathname } = new URL(request.url ?? '/', this.url)
    const [, kind, name = '', last] = pathname.split('/').map(decodeURIComponent)
    if (kind === 'schemas') return this.#schema(Number(last))
    if (request.method !== 'POST') {
      return { status: 404, body: { error_code: 404, message: 'HTTP 404 Not Found' } }
    }
    const { schema } = JSON.parse(await textOf(request)) as { schema: string }
    const parsed = JSON.parse(schema) as Schema
    return last === 'versions' ? this.#register(name, parsed) : this.#lookUp(name, parsed)
  }

  #schema(id: number): Reply {
    const schema = this.#schemas[id - 1]
    if (schema === undefined) return { status: 404, body: { message: 'Schema not found' } }
    return { status: 200, body: { schema } }
  }

  #register(subject: string, schema: Schema): Reply {
    const known = this.#idOf(schema)
    const isKnown = known !== undefined && this.#subjects.get(subject)?.has(known)
    if (this.closed.has(subject) && !isKnown) {
      const message = 'Schema being registered is incompatible with an earlier schema'
      return { status: 409, body: { error_code: 409, message } }
    }
    return { status: 200, body: { id: this.add(subject, schema) } }
  }

  #lookUp(subject: string, schema: Schema): Reply {
    const id = this.#idOf(schema)
    if (id !== undefined && this.#subjects.get(subject)?.has(id)) {
      return { status: 200, body: { subject, id } }
    }
    return { status: 404, body: { error_code: 40_403, message: 'Schema not found' } }
  }

  #idOf(schema: Schema): number | undefined {
    const form = canonicalForm(schema)
    const at = this.#schemas.findIndex((each) => canonicalForm(JSON.parse(each)) === form)
    return at < 0 ? undefined : at + 1
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
