/**
 * An API server's HTTP face, for kubectl and for Kinfold itself.
 *
 * What must stay true: unless another host is given, it listens on loopback only; a reader that is
 * slow holds up only its own answer, and what it has not taken is not produced; a client that
 * disconnects ends its watch.
 *
 * Not here: what is answered (adapters/memory/api-server.ts), TLS and credentials: the playground
 * has nothing to protect.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, isIP } from 'node:net'
import type { ApiRequest, ApiServer } from '../adapters/memory/api-server.ts'
import { jsonFromProtobuf, PROTOBUF, ProtobufError } from './protobuf.ts'

/** As upstream's limit for the body of a request. */
const MAX_BODY_BYTES = 3 * 1024 * 1024
/** Longer than clients keep idle connections, so that it is they who close them. */
const KEEP_ALIVE_MS = 120_000

export interface Address {
  readonly host: string
  /** 0 takes any that is free. */
  readonly port: number
}

export const ANY_HERE: Address = { host: '127.0.0.1', port: 0 }

export interface HttpFace extends AsyncDisposable {
  /** `http://HOST:PORT`, with the host as it was given. */
  readonly url: string
}

export async function serveHttp(api: ApiServer, { host, port }: Address): Promise<HttpFace> {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    void answer(api, request, response)
  })
  server.listen(port, host)
  await once(server, 'listening')
  const address = server.address() as AddressInfo
  return {
    url: `http://${isIP(host) === 6 ? `[${host}]` : host}:${address.port}`,
    [Symbol.asyncDispose]: () => close(server),
  }
}

async function answer(
  api: ApiServer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  try {
    const body = await bodyOf(request)
    if (body === undefined) {
      response.writeHead(413).end('Request entity too large: limit is 3145728')
      return
    }
    const { method = 'GET', url: path = '/' } = request
    const asked = { method, path, ...inJson(headersOf(request), body) }
    const answered = await api.handle(asked, gone.signal)
    response.writeHead(answered.status, answered.headers)
    // The headers of a watch leave at once, its first event may be long in coming.
    if (path.includes('watch=')) response.flushHeaders()
    for await (const chunk of answered.body) {
      if (!response.write(chunk)) await once(response, 'drain', { signal: gone.signal })
    }
    response.end()
  } catch (error) {
    // A client that has gone hears nothing; any other failure shows as a cut answer.
    response.destroy(gone.signal.aborted ? undefined : asError(error))
  }
}

/** Undefined when it is too large. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BODY_BYTES) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** What cannot be read as protobuf goes on as it is, and the API server refuses its type. */
function inJson(
  headers: Readonly<Record<string, string>>,
  body: Buffer,
): Pick<ApiRequest, 'headers' | 'body'> {
  if (body.length === 0) return { headers, body: null }
  try {
    if (headers['content-type'] === PROTOBUF) {
      const json = jsonFromProtobuf(body)
      return { headers: { ...headers, 'content-type': 'application/json' }, body: json }
    }
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error
  }
  return { headers, body: body.toString() }
}

function headersOf(request: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return headers
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}
