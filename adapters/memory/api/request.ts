/**
 * The meaning of a request, read from its method, path and query as kube-apiserver reads them.
 *
 * What must stay true: an address is only syntax; the registry decides whether a kind is served
 * there.
 *
 * Not here: bodies (body.ts), Accept (representation.ts).
 */
import type { Kind } from './kind.ts'
import { isJsonObject } from './object.ts'
import { badRequest, unsupportedMediaType } from './status.ts'

/** The part of an exchange that an API server sees. */
export interface ApiRequest {
  readonly method: string
  /** With its query, percent-encoded. */
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

export interface ApiResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: AsyncIterable<Uint8Array>
}

/** Where a path below a group and version points; empty strings for parts it lacks. */
export interface Address {
  readonly group: string
  readonly version: string
  readonly namespace: string
  readonly resource: string
  readonly name: string
  readonly subresource: string
}

/** A request for a kind that is served. */
export interface Call {
  readonly request: ApiRequest
  readonly address: Address
  readonly kind: Kind
  readonly query: URLSearchParams
}

/** Subresources of namespaces: anything else below a namespace is a resource in it. */
const OF_NAMESPACES: ReadonlySet<string> = new Set(['status', 'finalize'])

/** A request's path, taken apart. */
export interface RequestTarget {
  readonly pathname: string
  readonly query: URLSearchParams
  /** Undefined for a path that is not below `/api/VERSION/` or `/apis/GROUP/VERSION/`. */
  readonly address: Address | undefined
}

/** The same few are requested again and again: identity, leases, discovery. */
const MOST_TARGETS = 500
const targets = new Map<string, RequestTarget>()

export function targetOf(path: string): RequestTarget {
  const known = targets.get(path)
  if (known !== undefined) return known
  const { pathname, searchParams: query } = new URL(path, 'http://localhost')
  const target = { pathname, query, address: addressOf(pathname) }
  if (targets.size >= MOST_TARGETS) targets.clear()
  targets.set(path, target)
  return target
}

/** Undefined for a path that is not below `/api/VERSION/` or `/apis/GROUP/VERSION/`. */
function addressOf(pathname: string): Address | undefined {
  const parts = pathname.split('/').slice(1).map(decoded)
  const prefix = parts.shift()
  if (prefix !== 'api' && prefix !== 'apis') return undefined
  const group = prefix === 'api' ? '' : (parts.shift() ?? '')
  const version = parts.shift() ?? ''
  if (parts.length === 0 || parts.includes('')) return undefined
  const isWithin = parts[0] === 'namespaces' && parts.length > 2 && !OF_NAMESPACES.has(parts[2]!)
  const namespace = isWithin ? parts[1]! : ''
  const [resource = '', name = '', ...rest] = isWithin ? parts.slice(2) : parts
  return { group, version, namespace, resource, name, subresource: rest.join('/') }
}

/** As its metrics name a request: `LIST pods`. */
export function verbOf(method: string, address: Address, query: URLSearchParams): string {
  if (method === 'GET' && isWatch(query)) return 'WATCH'
  if (method === 'GET' && address.name === '') return 'LIST'
  if (method === 'DELETE' && address.name === '') return 'DELETECOLLECTION'
  return method
}

function isWatch(query: URLSearchParams): boolean {
  return isTrue(query.get('watch'))
}

export function isTrue(value: string | null): boolean {
  return value === 'true' || value === '1'
}

export function isDryRun(query: URLSearchParams): boolean {
  return query.getAll('dryRun').includes('All')
}

/** The parsed body of a write; it must be one JSON object. */
export function objectIn(request: ApiRequest, kind: Kind): Readonly<Record<string, unknown>> {
  const type = contentTypeOf(request)
  if (type !== '' && type !== 'application/json') {
    throw unsupportedMediaType(['application/json'])
  }
  const must = `the object provided is unrecognized (must be of type ${kind.kind})`
  const body = parsed(request.body ?? '', must)
  if (!isJsonObject(body)) throw badRequest(`${must}: it is no object`)
  return body
}

export function parsed(text: string, complaint: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw badRequest(`${complaint}: couldn't get version/kind; json parse error: ${String(error)}`)
  }
}

/** Without its parameters; empty when none is sent. */
export function contentTypeOf(request: ApiRequest): string {
  return (request.headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase()
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
