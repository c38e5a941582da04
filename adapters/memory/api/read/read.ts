/**
 * LIST: pages of one consistent state in key order.
 *
 * What must stay true: all pages of a list come from the snapshot of its first one; when that is no
 * longer held the list ends with 410 and never with a mixture, unless the client asks for one with
 * the token it gets.
 *
 * Not here: GET (api-server.ts), WATCH (watch.ts), how objects are written (representation.ts).
 */
import { keysOf, type Stored } from '../collection.ts'
import type { Snapshot } from '../ordered-index.ts'
import type { Call } from '../request.ts'
import { badRequest, invalid, listExpired, tooLarge } from '../status.ts'
import type { Storage } from '../storage.ts'
import { type Form, itemText, listHead } from './representation.ts'
import { selectorIn } from './selector.ts'

/** Text gathered before it is sent. */
const CHUNK_CHARS = 64 * 1024

/** A page's version in the token that follows an expired one: the present one. */
const INCONSISTENT = -1

const OPTIONS = { kind: 'ListOptions', group: 'meta.k8s.io' }

interface Token {
  readonly rv: number
  /** The last key sent. */
  readonly start: string
}

export interface Page {
  readonly metadata: object
  readonly items: readonly Stored[]
}

export function pageOf(storage: Storage, call: Call): Page {
  const { kind, address, query } = call
  const [from, to] = keysOf(address.namespace)
  const limit = Number(query.get('limit') ?? 0)
  const token = tokenIn(query)
  const version = token === undefined || token.rv === INCONSISTENT ? storage.version : token.rv
  if (token === undefined) checkVersion(storage, query)
  const snapshot = heldOrExpired(storage, call, version, token)
  const start = token === undefined ? from : `${token.start}\0`
  const selector = selectorIn(query, kind)

  const items: Stored[] = []
  let hasMore = false
  for (const stored of snapshot.range(start, to)) {
    if (selector !== undefined && !selector(stored.object)) continue
    hasMore = limit > 0 && items.length === limit
    if (hasMore) break
    items.push(stored)
  }
  const resourceVersion = String(version)
  if (!hasMore) {
    if (token !== undefined) storage.release(kind, version)
    return { metadata: { resourceVersion }, items }
  }
  storage.hold(kind, version, snapshot)
  const last = items.at(-1)!.key
  // With a selector the number is unknown.
  const remaining = selector === undefined && {
    remainingItemCount: snapshot.count(`${last}\0`, to),
  }
  const rest = { continue: tokenText({ rv: version, start: last }), ...remaining }
  return { metadata: { resourceVersion, ...rest }, items }
}

export async function* pageText(
  call: Call,
  form: Form,
  { metadata, items }: Page,
  nowMs: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { kind, address } = call
  let text = listHead(form, kind, address.version, metadata)
  let separator = ''
  for (const { object } of items) {
    text += separator + itemText(form, kind, address.version, object, nowMs)
    separator = ','
    if (text.length < CHUNK_CHARS) continue
    yield Buffer.from(text)
    text = ''
  }
  yield Buffer.from(`${text}]}`)
}

function heldOrExpired(
  storage: Storage,
  { kind }: Call,
  version: number,
  token: Token | undefined,
): Snapshot<Stored> {
  const held = storage.held(kind, version)
  if (held !== undefined) return held
  throw listExpired(tokenText({ rv: INCONSISTENT, start: token?.start ?? '' }))
}

/** Any version up to the present is answered with the present; one in the future is refused. */
function checkVersion(storage: Storage, query: URLSearchParams): void {
  const given = query.get('resourceVersion') ?? ''
  const match = query.get('resourceVersionMatch') ?? ''
  const field = 'resourceVersionMatch'
  const refuse = (why: string): Error => {
    const message = `Forbidden: ${why}`
    return invalid(OPTIONS, '', [{ reason: 'FieldValueForbidden', message, field }])
  }
  if (given === '' && match !== '') {
    throw refuse('resourceVersionMatch is forbidden unless resourceVersion is provided')
  }
  if (given === '') return
  if (match === 'Exact' && given === '0') {
    throw refuse('resourceVersionMatch "exact" is forbidden for resourceVersion "0"')
  }
  const version = versionIn(given)
  if (version === undefined) throw badRequest(`invalid resource version: "${given}"`)
  if (version > storage.version) throw tooLarge(version, storage.version)
  if (match === 'Exact' && version < storage.version) throw listExpired('')
}

/** Undefined when it is no version. */
export function versionIn(text: string): number | undefined {
  return /^[0-9]+$/.test(text) ? Number(text) : undefined
}

function tokenIn(query: URLSearchParams): Token | undefined {
  const text = query.get('continue') ?? ''
  if (text === '') return undefined
  try {
    const { rv, start } = JSON.parse(Buffer.from(text, 'base64url').toString()) as Partial<Token>
    if (typeof rv === 'number' && typeof start === 'string') return { rv, start }
  } catch {
    // Reported below.
  }
  throw badRequest('invalid continue token: continue key is not valid')
}

function tokenText(token: Token): string {
  return Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', ...token })).toString('base64url')
}
