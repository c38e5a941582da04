/** Checkers of single effects, requests and records (I1 to I8, I12, I13, I18, I27, I31). Not here: what is looked at when all is quiet (rest-checkers.ts). */
import type { Checker } from './checkers.ts'
import { objectionTo } from './oracle.ts'
import { stamp } from './trace.ts'

/** Requests of ours that took effect on one object: references dropped, finalizers taken off, one delete. More is a loop. */
const EFFECTS_OF_ONE = 40
/** From when a pause is on the log until nothing more is sent. */
const PAUSE_MS = 2_000
/** From when a name leads to another cluster until nobody may believe otherwise. */
const IDENTITY_MS = 30_000
/** Planted in Secrets' data and in what is not told of metadata. */
export const CANARY = 'canary-2f1e'

/** Helm's word for what is to stay. */
export const KEEP = 'helm.sh/resource-policy'

const UID = /[0-9a-f]{8}-[0-9a-f-]{27}/

const CHANGING: ReadonlySet<string> = new Set(['DELETE', 'PATCH'])

export const effectCheckers: readonly Checker[] = [
  {
    invariant: 'I1 I2 I3 I4 I6: right by the whole truth, and guarded',
    effect: ({ truth, acting, before, after }) => objectionTo(truth, acting.request, before, after),
  },
  {
    invariant: 'I4: no deletecollection',
    request: (_, { request }) => {
      const [path = ''] = request.path.split('?')
      const isCollection = request.method === 'DELETE' && /\/[a-z]+$/.test(path) && !isNamed(path)
      return isCollection ? `a DELETE of the collection ${path} (I4)` : ''
    },
  },
  {
    invariant: 'I7: nothing is sent to another cluster for longer than an identity is believed',
    request: (world, { request, site }) => {
      if (!CHANGING.has(request.method) || request.body === null) return ''
      const [uid = ''] = UID.exec(request.body) ?? []
      const home = world.homes.get(uid)
      const forMs = world.time.monotonicMs() - world.network.routedMs
      return home !== undefined && home !== site.name && forMs > IDENTITY_MS
        ? `it is about ${home} and was sent to ${site.name} (I7)`
        : ''
    },
  },
  {
    invariant: 'I12: nothing changes unless told to enforce',
    effect: ({ world }) =>
      world.policy.mode === 'enforce' ? '' : `mode is ${world.policy.mode} (I12)`,
  },
  {
    invariant: 'I13: nothing is sent two seconds after a pause is on the log',
    effect: ({ world, site, acting }) => {
      const since = world.pausedMs.get(site.id) ?? world.pausedMs.get('')
      return since !== undefined && acting.sentMs - since > PAUSE_MS
        ? `paused since ${stamp(since)} and sent at ${stamp(acting.sentMs)} (I13)`
        : ''
    },
  },
  {
    invariant: 'I9: nothing goes that a person protects, by namespace',
    effect: ({ world, site, acting, before }) => {
      const since = world.protectedMs.get(`${site.name}/${before.metadata.namespace}`)
      if (acting.request.method !== 'DELETE' || since === undefined) return ''
      return acting.sentMs - since > PAUSE_MS ? `protected since ${stamp(since)} (I9)` : ''
    },
  },
  {
    invariant: 'I9: nothing goes that others marked to be kept, where the policy heeds that',
    effect: ({ world, acting, before }) => {
      const isKept = before.metadata.annotations?.[KEEP] === 'keep'
      const isHeeded = world.policy.protection.othersMarks
      return isKept && isHeeded && acting.request.method === 'DELETE' ? `${KEEP} (I9)` : ''
    },
  },
  {
    invariant: 'I18: no loop over one object',
    effect: ({ truth, before }) => {
      const count = (truth.effects.get(before.metadata.uid) ?? 0) + 1
      truth.effects.set(before.metadata.uid, count)
      return count === EFFECTS_OF_ONE ? `${count} effects on one object (I18)` : ''
    },
  },
  {
    invariant: 'I27: one delete takes effect on one uid',
    effect: ({ truth, acting, before }) => {
      if (acting.request.method !== 'DELETE') return ''
      const count = (truth.deleted.get(before.metadata.uid) ?? 0) + 1
      truth.deleted.set(before.metadata.uid, count)
      return count > 1 ? `delete number ${count} of that uid took effect (I27)` : ''
    },
  },
  {
    invariant: 'I31: nothing secret is told',
    appended: (_, { topic, records }) =>
      // What is put away is put away whole; of whom it may be is looked at there (safeguard-checkers.ts).
      topic !== 'archive' && records.some(({ value }) => value !== null && holds(value, CANARY))
        ? `a canary is in ${topic} (I31)`
        : '',
  },
]

function holds({ buffer, byteOffset, byteLength }: Uint8Array, text: string): boolean {
  return Buffer.from(buffer, byteOffset, byteLength).includes(text)
}

/** An object's path has its name behind the resource; in a namespace that is two segments further. */
function isNamed(path: string): boolean {
  const parts = path.split('/').filter((part) => part !== '')
  const from = parts[0] === 'api' ? 2 : 3
  const rest = parts.slice(from)
  return rest[0] === 'namespaces' && rest.length > 2 ? rest.length === 4 : rest.length === 2
}
