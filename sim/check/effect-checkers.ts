/**
 * Checkers of single effects, requests and records (I1 to I9, I12, I13, I18, I27, I31).
 *
 * What must stay true: I5 has no checker of its own. An answer that is no proof is never taken for
 * an absence if no object that has an owner is deleted (I1), whatever the server answers.
 *
 * Not here: checks when all is quiet (rest-checkers.ts).
 */
import type { AnnotateObject, OrphanDependent, RemoveFinalizer } from '../../core/model/command.ts'
import type { Codec } from '../../ports/record/codec.ts'
import type { Checker, World } from '../model.ts'
import { objectionTo } from '../oracle.ts'
import { isAnnotation } from '../rule/annotation-law.ts'
import { mayBeByOwners, objectionTo as objectionByRule, ruleBehind } from '../rule/rule-law.ts'
import { stamp } from '../trace.ts'
import { CANARY, KEEP } from '../workload.ts'

/**
 * Requests of ours that took effect on one object: references dropped, finalizers removed, one
 * delete. More is a loop.
 */
const EFFECTS_OF_ONE = 40
/** From when a pause is on the log until nothing more is sent. */
const PAUSE_MS = 2_000
/** From when a new epoch of a cluster is on the log until nothing of an older one is sent. */
export const EPOCH_MS = 2_000
/**
 * The time from when a name leads to another cluster until no process may still believe otherwise.
 */
const IDENTITY_MS = 30_000
const UID = /[0-9a-f]{8}-[0-9a-f-]{27}/

const CHANGING: ReadonlySet<string> = new Set(['DELETE', 'PATCH'])

export const effectCheckers: readonly Checker[] = [
  {
    invariant:
      'I1 I2 I3 I4 I6: each change is right by all that the API servers hold, and has its guard',
    effect: (seen) => {
      const { truth, acting, before, after } = seen
      if (isAnnotation(seen)) return ''
      const objection = objectionTo(truth, acting.request, before, after)
      const rule = objection === '' ? undefined : ruleBehind(seen)
      if (rule === undefined) return objection
      // Both may have it deleted, and then either is enough; else only the rule counts (I39).
      return mayBeByOwners(seen) ? objectionByRule(seen, rule) : ''
    },
  },
  {
    invariant: 'I4: no collection is deleted',
    request: (_, { request }) => {
      const [path = ''] = request.path.split('?')
      const isCollection = request.method === 'DELETE' && /\/[a-z]+$/.test(path) && !isNamed(path)
      return isCollection ? `a DELETE of the collection ${path} (I4)` : ''
    },
  },
  {
    invariant: 'I7: 30 s after an address began to lead to another cluster nothing is sent there',
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
    invariant: 'I8: 2 s after a new epoch of the cluster nothing is sent that an older one decided',
    appended: (world, { topic, records }) => {
      for (const { value } of topic === 'commands' || topic === 'control' ? records : []) {
        const record = value === null ? undefined : world.codec.decode(value)
        if (record !== undefined) noteEpoch(world, record)
      }
      return ''
    },
    effect: ({ world, site, acting, before }) => {
      const { begunMs, decided } = epochsOf(world)
      const epoch = decided.get(`${site.id}/${before.metadata.uid}`)
      const begun = begunMs.get(site.id)
      if (epoch === undefined || begun === undefined || epoch >= begun.epoch) return ''
      return acting.sentMs - begun.ms > EPOCH_MS
        ? `decided in epoch ${epoch}, and ${begun.epoch} began at ${stamp(begun.ms)} (I8)`
        : ''
    },
  },
  {
    invariant: 'I12: no object changes unless the mode is enforce',
    effect: ({ world }) =>
      world.policy.mode === 'enforce' ? '' : `mode is ${world.policy.mode} (I12)`,
  },
  {
    invariant: 'I13: 2 s after a pause is on the log nothing is sent',
    effect: ({ world, site, acting }) => {
      const since = world.pausedMs.get(site.id) ?? world.pausedMs.get('')
      return since !== undefined && acting.sentMs - since > PAUSE_MS
        ? `paused since ${stamp(since)} and sent at ${stamp(acting.sentMs)} (I13)`
        : ''
    },
  },
  {
    invariant: 'I9: no object is deleted in a namespace that a person protects',
    effect: ({ world, site, acting, before }) => {
      const since = world.protectedMs.get(`${site.name}/${before.metadata.namespace}`)
      if (acting.request.method !== 'DELETE' || since === undefined) return ''
      return acting.sentMs - since > PAUSE_MS ? `protected since ${stamp(since)} (I9)` : ''
    },
  },
  {
    invariant: 'I9: no object is deleted that a mark of Helm keeps, where the policy respects it',
    effect: ({ world, acting, before }) => {
      const isKept = before.metadata.annotations?.[KEEP] === 'keep'
      const isHeeded = world.policy.protection.othersMarks
      return isKept && isHeeded && acting.request.method === 'DELETE' ? `${KEEP} (I9)` : ''
    },
  },
  {
    invariant: 'I18: Kinfold changes no object 40 times',
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
    invariant: 'I31: no record holds a planted secret, but in the archive',
    appended: (_, { topic, records }) =>
      // An archived object is archived whole; which objects may be archived is checked elsewhere
      // (safeguard-checkers.ts).
      topic !== 'archive' && records.some(({ value }) => value !== null && holds(value, CANARY))
        ? `a canary is in ${topic} (I31)`
        : '',
  },
]

interface Epochs {
  /** Of each cluster the last one, and since when it is on the log. */
  readonly begunMs: Map<string, { readonly epoch: number; readonly ms: number }>
  /** For each object the last epoch in which a command for it was issued. */
  readonly decided: Map<string, number>
}

/** Per log: a person who begins with another log has begun anew. */
const epochs = new WeakMap<object, Epochs>()

export function epochsOf({ broker }: World): Epochs {
  const known = epochs.get(broker.log) ?? { begunMs: new Map(), decided: new Map() }
  epochs.set(broker.log, known)
  return known
}

function noteEpoch(world: World, record: ReturnType<Codec['decode']>): void {
  const { begunMs, decided } = epochsOf(world)
  if (record.type === 'Control' && record.verb === 'epoch') {
    const { cluster, number: epoch } = record
    if (epoch > (begunMs.get(cluster)?.epoch ?? 0))
      begunMs.set(cluster, { epoch, ms: world.time.monotonicMs() })
  }
  if (record.type !== 'DeleteObject' && !isOnPatches(record)) return
  const key = `${record.cluster}/${record.target.uid}`
  decided.set(key, Math.max(decided.get(key) ?? 0, record.clusterEpoch))
}

function isOnPatches(
  record: ReturnType<Codec['decode']>,
): record is OrphanDependent | RemoveFinalizer | AnnotateObject {
  const { type } = record
  return type === 'OrphanDependent' || type === 'RemoveFinalizer' || type === 'AnnotateObject'
}

function holds({ buffer, byteOffset, byteLength }: Uint8Array, text: string): boolean {
  return Buffer.from(buffer, byteOffset, byteLength).includes(text)
}

/**
 * An object's path has its name after the resource; in a namespace that is two segments further.
 */
function isNamed(path: string): boolean {
  const parts = path.split('/').filter((part) => part !== '')
  const from = parts[0] === 'api' ? 2 : 3
  const rest = parts.slice(from)
  return rest[0] === 'namespaces' && rest.length > 2 ? rest.length === 4 : rest.length === 2
}
