/**
 * The starts of data directories that delete in a cluster, as annotations of one Lease there.
 *
 * What must stay true: a write takes effect only if the object is as it was read, or is still
 * missing where it was missing. What others wrote there is kept.
 *
 * Not here: what an entry means (cli/process/copied-data.ts).
 */
import { type ClusterError, type KnownStarts, STARTS } from '../../ports/cluster.ts'
import { isNotFound, parsed, type Reply } from './answer.ts'
import { refused, unreadable } from './call.ts'
import { isJson, type Json } from './json.ts'

const GROUP = 'coordination.k8s.io'
const LEASE = { group: GROUP, kind: 'Lease', resource: 'leases', name: STARTS.name } as const
const KEY = 'data.kinfold.dev/'

export const STARTS_PATH: string = `/apis/${GROUP}/v1/namespaces/${STARTS.namespace}/leases/${STARTS.name}`

/** Throws a `ClusterError` for anything but a Lease, or its absence. */
export function startsIn(reply: Reply, now: number): KnownStarts {
  if (isNotFound(reply, LEASE)) return { entries: {}, read: null }
  const object = leaseIn(reply, now, 'GET')
  const metadata = isJson(object['metadata']) ? object['metadata'] : {}
  const annotations = isJson(metadata['annotations']) ? metadata['annotations'] : {}
  const entries = Object.entries(annotations).flatMap(([key, value]) =>
    key.startsWith(KEY) && typeof value === 'string' ? [[key.slice(KEY.length), value]] : [],
  )
  return { entries: Object.fromEntries(entries) as Record<string, string>, read: object }
}

/** The body of the PUT that puts these entries in the place of the ones that were read. */
export function startsBody({ read }: KnownStarts, entries: KnownStarts['entries']): string {
  const former = isJson(read) ? read : {}
  const metadata = isJson(former['metadata']) ? former['metadata'] : { ...STARTS }
  const annotations = isJson(metadata['annotations']) ? metadata['annotations'] : {}
  const others = Object.entries(annotations).filter(([key]) => !key.startsWith(KEY))
  const own = Object.entries(entries).map(([key, value]) => [KEY + key, value])
  return JSON.stringify({
    ...former,
    apiVersion: `${GROUP}/v1`,
    kind: 'Lease',
    metadata: { ...metadata, annotations: Object.fromEntries([...others, ...own]) },
    spec: isJson(former['spec']) ? former['spec'] : {},
  })
}

/** False: another client wrote since it was read. */
export function isWritten(reply: Reply, { read }: KnownStarts, now: number): boolean {
  if (reply.status === 409 || (read === null && reply.status === 422)) return false
  leaseIn(reply, now, 'PUT')
  return true
}

function leaseIn(reply: Reply, now: number, verb: 'GET' | 'PUT'): Json {
  const { status } = reply
  if (status !== 200 && status !== 201) throw refusedBy(reply, now, verb)
  const object = parsed(reply)
  if (isJson(object) && object['kind'] === 'Lease') return object
  throw unreadable(STARTS_PATH, 'it is no Lease')
}

function refusedBy(reply: Reply, now: number, verb: 'GET' | 'PUT'): ClusterError {
  return refused(reply, STARTS_PATH, now, verb)
}
