/**
 * Carries one request out against the storage, from its path to its answer.
 *
 * What must stay true: it runs in one turn, without awaiting; only bodies are produced later, from
 * what was fixed here.
 *
 * Not here: faults and hooks (api-server.ts).
 */

import { type Kind, NAMESPACE } from './kind.ts'
import type { ApiObject } from './object.ts'
import { discoveryAt } from './read/discovery.ts'
import { openApiAt } from './read/openapi.ts'
import { pageOf, pageText } from './read/read.ts'
import { formOf, objectText } from './read/representation.ts'
import { openWatch } from './read/watch.ts'
import {
  type Address,
  type ApiRequest,
  type ApiResponse,
  type Call,
  parsed,
  targetOf,
  verbOf,
} from './request.ts'
import { methodNotAllowed, noSuchPath, notFound, type Refusal } from './status.ts'
import { deleteOptionsIn } from './write/deletion.ts'
import { remove, removedStatus } from './write/removal.ts'
import { scaleOf } from './write/scale.ts'
import { create, patch, replace, type WriteContext, type Written } from './write/write.ts'

const GIT_VERSION = 'v1.36.3'
const JSON_TYPE = { 'content-type': 'application/json' }
const TEXT_TYPE = { 'content-type': 'text/plain; charset=utf-8' }
const HEALTH: ReadonlySet<string> = new Set(['/healthz', '/livez', '/readyz'])
const REVIEW = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'

const TOKEN_MS = 3_600_000

/** Discovery documents that are kept; there are a few for each group. */
const MOST_TOLD = 200

interface Told {
  readonly type: { readonly 'content-type': string }
  readonly text: string
}

export interface HandlerContext extends WriteContext {
  readonly bookmarkMs: number
}

export class Handler {
  /** By `VERB resource`. */
  readonly counts: Map<string, number> = new Map()
  readonly #context: HandlerContext
  /** Discovery as it was last sent, by path and Accept, and of which state of the registry. */
  readonly #told = new Map<string, Told>()
  #toldAt = 0

  constructor(context: HandlerContext) {
    this.#context = context
  }

  /** A refusal is thrown. */
  route(request: ApiRequest, signal: AbortSignal): ApiResponse {
    const { pathname, query, address } = targetOf(request.path)
    if (address === undefined) return this.#document(request, pathname)
    const verb = verbOf(request.method, address, query)
    const counted = `${verb} ${address.resource}`
    this.counts.set(counted, (this.counts.get(counted) ?? 0) + 1)
    if (pathname === REVIEW && request.method === 'POST') return this.#review(request)
    if (request.method === 'POST' && address.subresource === 'token')
      return this.#token(request, address)
    const kind = this.#served(address)
    const call: Call = { request, address, kind, query }
    return this.#carryOut(verb, call, signal)
  }

  #served(address: Address): Kind {
    const { registry } = this.#context
    const { group, version, resource, namespace, name, subresource } = address
    const kind = registry.find(group, version, resource)
    const isNamespaced = kind?.scope === 'Namespaced'
    const isMisplaced = isNamespaced ? namespace === '' && name !== '' : namespace !== ''
    if (kind === undefined || isMisplaced || !hasSubresource(kind, subresource)) {
      throw registry.refusal(group)
    }
    return kind
  }

  #carryOut(verb: string, call: Call, signal: AbortSignal): ApiResponse {
    const { kind, address } = call
    const isOnCollection = address.name === ''
    const isEverywhere = kind.scope === 'Namespaced' && address.namespace === ''
    switch (verb) {
      case 'GET':
        return this.#get(call)
      case 'LIST':
        return this.#list(call)
      case 'WATCH':
        return this.#watch(call, signal)
      case 'POST':
        if (!isOnCollection || isEverywhere) throw methodNotAllowed()
        return this.#written(call, create(this.#context, call))
      case 'PUT':
        if (isOnCollection) throw methodNotAllowed()
        return this.#written(call, replace(this.#context, call))
      case 'PATCH':
        if (isOnCollection) throw methodNotAllowed()
        return this.#written(call, patch(this.#context, call))
      case 'DELETE':
        if (address.subresource !== '') throw methodNotAllowed()
        return this.#delete(call)
      case 'DELETECOLLECTION':
        if (isEverywhere || !kind.verbs.includes('deletecollection')) throw methodNotAllowed()
        return this.#deleteCollection(call)
      default:
        throw methodNotAllowed()
    }
  }

  #get(call: Call): ApiResponse {
    const { kind, address } = call
    const found = this.#context.storage.get(kind, address.namespace, address.name)
    if (found === undefined) throw notFound(kind, address.name)
    return this.#one(200, call, found.object)
  }

  #list(call: Call): ApiResponse {
    const form = formOf(acceptOf(call), call.query, 'list')
    const page = pageOf(this.#context.storage, call)
    return this.#respond(200, pageText(call, form, page, this.#context.clock.now()))
  }

  #watch(call: Call, signal: AbortSignal): ApiResponse {
    const form = formOf(acceptOf(call), call.query, 'one')
    return this.#respond(200, openWatch(this.#context, call, form, signal))
  }

  #delete(call: Call): ApiResponse {
    const { kind, address, request, query } = call
    const options = deleteOptionsIn(request, query)
    const found = this.#context.storage.get(kind, address.namespace, address.name)
    if (found === undefined) throw notFound(kind, address.name)
    formOf(acceptOf(call), query, 'one')
    const { object, isGone } = remove(this.#context, kind, found.object, options)
    if (!isGone || kind.answersRemoved) return this.#one(200, call, object)
    return this.#respond(200, bytes(JSON.stringify(removedStatus(kind, object))))
  }

  #deleteCollection(call: Call): ApiResponse {
    const { kind, request, query } = call
    const options = deleteOptionsIn(request, query)
    const form = formOf(acceptOf(call), query, 'list')
    const page = pageOf(this.#context.storage, call)
    for (const { object } of page.items) remove(this.#context, kind, object, options)
    return this.#respond(200, pageText(call, form, page, this.#context.clock.now()))
  }

  #written(call: Call, { code, object, warnings }: Written): ApiResponse {
    const warning = warnings.map((it) => `299 - ${JSON.stringify(it)}`).join(', ')
    return this.#one(code, call, object, warning === '' ? {} : { warning })
  }

  #one(
    status: number,
    call: Call,
    object: ApiObject,
    headers: Readonly<Record<string, string>> = {},
  ): ApiResponse {
    const { kind, address, query } = call
    const form = formOf(acceptOf(call), query, 'one')
    if (address.subresource === 'scale') {
      return this.#respond(status, bytes(JSON.stringify(scaleOf(object))), headers)
    }
    const now = this.#context.clock.now()
    const text = objectText(form, kind, address.version, object, now)
    return this.#respond(status, bytes(text), headers)
  }

  /** Everything that is no object: discovery, health, version, schemas. */
  #document({ method, headers }: ApiRequest, pathname: string): ApiResponse {
    if (method !== 'GET') throw methodNotAllowed()
    if (HEALTH.has(pathname)) return this.#respond(200, bytes('ok'), TEXT_TYPE)
    if (pathname === '/version') return this.#respond(200, bytes(JSON.stringify(versionInfo())))
    const { registry } = this.#context
    const document = this.#discovery(pathname, headers['accept'] ?? '')
    if (document !== undefined) return this.#respond(200, bytes(document.text), document.type)
    const schemas = openApiAt(pathname, headers['accept'] ?? '', registry)
    if (schemas !== undefined) {
      return this.#respond(200, bytes(schemas.text), { 'content-type': schemas.contentType })
    }
    const [root, group = ''] = pathname.split('/').slice(1)
    throw root === 'api' || root === 'apis'
      ? registry.refusal(root === 'api' ? '' : group)
      : noSuchPath()
  }

  #discovery(pathname: string, accept: string): Told | undefined {
    const { registry } = this.#context
    if (this.#toldAt !== registry.changes || this.#told.size >= MOST_TOLD) this.#told.clear()
    this.#toldAt = registry.changes
    const asked = `${pathname} ${accept}`
    const known = this.#told.get(asked)
    if (known !== undefined) return known
    const document = discoveryAt(pathname, accept, registry)
    if (document === undefined) return undefined
    const type = { 'content-type': document.contentType }
    const told = { type, text: JSON.stringify(document.body) }
    this.#told.set(asked, told)
    return told
  }

  /** Every user may do everything. */
  #review({ body }: ApiRequest): ApiResponse {
    const asked = parsed(body ?? '', 'the review is unrecognized')
    const review = { ...(asked as object), metadata: {}, status: { allowed: true } }
    return this.#respond(201, bytes(JSON.stringify(review)))
  }

  /** A TokenRequest. Each client may do everything here, so any word is as good as a token. */
  #token({ body }: ApiRequest, address: Address): ApiResponse {
    const kind = this.#served({ ...address, subresource: '' })
    const { name, namespace } = address
    const found = this.#context.storage.get(kind, namespace, name)
    if (kind.resource !== 'serviceaccounts' || found === undefined) throw notFound(kind, name)
    const asked = parsed(body ?? '', 'the token request is unrecognized')
    const { clock } = this.#context
    const expirationTimestamp = new Date(clock.now() + TOKEN_MS).toISOString()
    const answer = { ...(asked as object), status: { token: 'any', expirationTimestamp } }
    return this.#respond(201, bytes(JSON.stringify(answer)))
  }

  refuse(refusal: Refusal): ApiResponse {
    const { code, plain, details } = refusal
    if (plain !== undefined) return this.#respond(code, bytes(plain), TEXT_TYPE)
    const after = details?.retryAfterSeconds
    const headers = after === undefined ? {} : { 'retry-after': String(after) }
    return this.#respond(code, bytes(JSON.stringify(refusal.status())), headers)
  }

  #respond(
    status: number,
    body: AsyncIterable<Uint8Array>,
    headers: Readonly<Record<string, string>> = {},
  ): ApiResponse {
    const date = new Date(this.#context.clock.now()).toUTCString()
    return { status, headers: { ...JSON_TYPE, date, ...headers }, body }
  }
}

function hasSubresource(kind: Kind, subresource: string): boolean {
  switch (subresource) {
    case '':
      return true
    case 'status':
      return kind.hasStatus
    case 'scale':
      return kind.hasScale
    case 'finalize':
      return kind === NAMESPACE
    default:
      return false
  }
}

function acceptOf({ request }: Call): string {
  return request.headers['accept'] ?? ''
}

async function* bytes(text: string): AsyncGenerator<Uint8Array, void, undefined> {
  yield Buffer.from(text)
}

function versionInfo(): object {
  const [major, minor] = GIT_VERSION.slice(1).split('.')
  return {
    major,
    minor,
    gitVersion: `${GIT_VERSION}+kinfold`,
    gitCommit: '',
    gitTreeState: '',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: 'node',
    compiler: 'none',
    platform: 'node',
  }
}
