/**
 * The Restorer over an Exchange: POST to a collection, in addition to the calls of Cluster.
 *
 * What must stay true: an object that was perhaps created is never reported as refused; nothing but
 * a POST, and a GET for new credentials, is sent from here. A patch is the Cluster's, so it begins
 * with a test of the uid.
 */
import type { Target } from '../../core/model/command.ts'
import type { NamedResource, UnknownAnswer } from '../../ports/cluster.ts'
import { type Exchange, ExchangeError } from '../../ports/exchange.ts'
import { RESTORED_FROM } from '../../ports/record/restored-mark.ts'
import { type CreateAnswer, FORMER_RESTORED_FROM, type Restorer } from '../../ports/restorer.ts'
import { parsed, type Reply, reasonOf, unanswered } from './answer.ts'
import { call, HalfReply, PLAIN } from './call.ts'
import { openCluster } from './cluster.ts'
import { isJson } from './json.ts'
import { collectionPath, objectPath } from './path.ts'

const FIELD_MANAGER = 'kinfold-restore'

export interface RestorerOptions {
  readonly name: string
  /** Closed with the restorer. */
  readonly exchange: Exchange
}

export function openRestorer({ name, exchange }: RestorerOptions): Restorer {
  const annotationAllowList = [RESTORED_FROM, FORMER_RESTORED_FROM]
  const cluster = openCluster({ name, exchange, annotationAllowList, fieldManager: FIELD_MANAGER })
  return {
    name,
    identify: (signal) => cluster.identify(signal),
    discover: (signal) => cluster.discover(signal),
    get: (target, signal) => cluster.get(target, signal),
    patch: (target, operations, dryRun, signal) =>
      cluster.patch(target, operations, dryRun, signal),
    create: (place, body, dryRun, signal) => create(exchange, place, body, dryRun, signal),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  }
}

async function create(
  exchange: Exchange,
  place: NamedResource,
  body: string,
  dryRun: boolean,
  signal: AbortSignal,
): Promise<CreateAnswer> {
  const target: Target = { ...place, uid: '', resourceVersion: '', aggregated: false }
  // Also for its check of every part of the path.
  const own = objectPath(target)
  if (own === null) {
    return { type: 'Refused', code: 0, reason: `no object can be called ${place.name}` }
  }
  const query = `fieldManager=${FIELD_MANAGER}${dryRun ? '&dryRun=All' : ''}`
  const path = `${pathOf(place)}?${query}`
  const headers = { accept: PLAIN, 'content-type': PLAIN }
  try {
    const request = { method: 'POST', path, headers, body, purpose: 'write' } as const
    const reply = await call(exchange, request, signal)
    if (reply.status !== 401) return readCreate(reply, target)
    // Nothing was created, and a restore passes no gate: once a read has waited for new
    // credentials, it is sent once more.
    await call(exchange, { ...request, method: 'GET', path: own, body: null }, signal)
    return readCreate(await call(exchange, request, signal), target)
  } catch (error) {
    if (error instanceof HalfReply) return unanswered(error.cause, error.status)
    if (error instanceof ExchangeError) return unanswered(error, null)
    throw error
  }
}

function pathOf({ namespace, ...served }: NamedResource): string {
  const collection = collectionPath(served)
  if (namespace === '') return collection
  const at = collection.lastIndexOf('/')
  return `${collection.slice(0, at)}/namespaces/${encodeURIComponent(namespace)}${collection.slice(at)}`
}

function readCreate(reply: Reply, target: Target): CreateAnswer {
  const { status: code } = reply
  if (code === 200 || code === 201 || code === 202) {
    const uid = uidIn(parsed(reply), target)
    return uid === undefined ? unknown(reply, false) : { type: 'Created', uid, code }
  }
  const reason = reasonOf(reply, parsed(reply))
  if (code === 409) return { type: 'Exists', code, reason }
  if (code === 429 || code === 408 || code >= 500) return unknown(reply, true)
  return code >= 400 ? { type: 'Refused', code, reason } : unknown(reply, false)
}

/** The answer to a dry run has a uid, but no version. */
function uidIn(body: unknown, { kind, name }: Target): string | undefined {
  if (!isJson(body) || body['kind'] !== kind || !isJson(body['metadata'])) return undefined
  const { name: made, uid } = body['metadata']
  return made === name && typeof uid === 'string' && uid !== '' ? uid : undefined
}

function unknown(reply: Reply, transient: boolean): UnknownAnswer {
  const reason = reasonOf(reply, parsed(reply))
  return { type: 'Unknown', code: reply.status, reason, transient, retryAfterMs: null }
}
