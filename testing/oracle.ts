/**
 * What must be left of a cluster, said naively and without any of the graph's code: for tests of the whole loop.
 *
 * What must stay true: it looks at the server's own objects only, and reads each reference at its coordinates, as the API defines
 * ownership: same namespace or no namespace, right uid, kind and name, a served version.
 */
import type { ObjectMeta, OwnerReference } from '../core/object.ts'
import { apiVersionOf, FINALIZER_FOREGROUND, FINALIZER_ORPHAN, groupOf } from '../core/object.ts'
import { UNMONITORED, UNSERVED } from './model-cluster.ts'
import type { KindNotation } from './notation.ts'
import { KINDS } from './notation.ts'

export type Ground = 'live' | 'waiting' | 'orphaning' | 'absent' | 'unresolvable'

/** All objects of the server. */
export type Truth = Iterable<ObjectMeta>

export function groundOf(truth: Truth, dependent: ObjectMeta, reference: OwnerReference): Ground {
  const kind = servedKind(reference)
  if (kind === undefined) return 'unresolvable'
  if (kind.scope === 'Namespaced' && dependent.scope === 'Cluster') return 'unresolvable'
  const namespace = kind.scope === 'Namespaced' ? dependent.namespace : ''
  for (const owner of truth) {
    const isIt =
      owner.uid === reference.uid &&
      owner.kind === reference.kind &&
      owner.group === kind.group &&
      owner.name === reference.name &&
      owner.namespace === namespace
    if (isIt) return stateOf(owner)
  }
  return 'absent'
}

function servedKind({ apiVersion, kind }: OwnerReference): KindNotation | undefined {
  return Object.entries(KINDS).find(
    ([short, served]) =>
      !UNSERVED.includes(short) &&
      served.kind === kind &&
      (served.group === '' ? served.version : `${served.group}/${served.version}`) === apiVersion,
  )?.[1]
}

function stateOf({ deletedAt, finalizers }: ObjectMeta): Ground {
  if (deletedAt === null) return 'live'
  if (finalizers.includes(FINALIZER_ORPHAN)) return 'orphaning'
  return finalizers.includes(FINALIZER_FOREGROUND) ? 'waiting' : 'live'
}

/** Why the server may not be asked to delete it; empty when it may. */
export function objection(truth: Truth, object: ObjectMeta): string {
  if (object.ownerReferences.length === 0) return 'it has no owner references (I2)'
  for (const reference of object.ownerReferences) {
    const ground = groundOf(truth, object, reference)
    if (ground === 'unresolvable') return `${reference.name} cannot be resolved (I6)`
    if (ground === 'live') return `${reference.name} lives (I1)`
    if (ground === 'orphaning') return `${reference.name} is orphaning (I1)`
  }
  return ''
}

/** What is left to do when all is quiet; empty when nothing is. */
export function leftovers(truth: ReadonlyMap<string, ObjectMeta>): readonly string[] {
  return [...truth.values()].filter(isWatched).flatMap((object) => {
    const stuck = stuckness(truth, object)
    if (stuck !== '') return [stuck]
    const grounds = object.ownerReferences.map((each) => groundOf(truth.values(), object, each))
    const isBlocked = grounds.includes('unresolvable')
    // An owner that no watch tells of is asked for only when the answer can decide something.
    const isAsked = !isBlocked && object.deletedAt === null
    const isOrphaned = object.ownerReferences.some(
      (each, index) => grounds[index] === 'orphaning' && (isAsked || isWatched(each)),
    )
    if (isOrphaned) return [`${object.uid} still names an orphaning owner`]
    if (object.deletedAt !== null || grounds.length === 0) return []
    if (isBlocked) return []
    if (!grounds.includes('live')) return [`${object.uid} has no owner left (I16)`]
    const isMixed = grounds.some((ground) => ground !== 'live')
    return isMixed ? [`${object.uid} names an absent owner beside a live one`] : []
  })
}

/** An owner that waits for dependents though there are none, or none but those that wait for it in turn (I17). */
function stuckness(truth: ReadonlyMap<string, ObjectMeta>, object: ObjectMeta): string {
  const state = stateOf(object)
  if (state === 'orphaning') {
    const hasDependents = dependentsOf(truth, object).length > 0
    return hasDependents ? '' : `${object.uid} is orphaning and has no dependents`
  }
  if (state !== 'waiting') return ''
  const reached = new Set<ObjectMeta>([object])
  for (const each of reached) {
    if (stateOf(each) !== 'waiting') return ''
    for (const dependent of dependentsOf(truth, each))
      if (mayBlock(truth, dependent, each)) reached.add(dependent)
  }
  return `${object.uid} waits for nothing but what waits`
}

/** Of those that a watch tells of. */
function dependentsOf(truth: ReadonlyMap<string, ObjectMeta>, owner: ObjectMeta): ObjectMeta[] {
  return [...truth.values()].filter(
    (object) => isWatched(object) && referencesTo(object, owner).length > 0,
  )
}

function referencesTo(object: ObjectMeta, owner: ObjectMeta): OwnerReference[] {
  return object.ownerReferences.filter((each) => {
    // Whatever version it names: what is going already is waited for, and nobody asks by it.
    const reference = { ...each, apiVersion: apiVersionOf(owner.group, owner.version) }
    const isOfGroup = groupOf(each.apiVersion) === owner.group
    const ground = groundOf([owner], object, reference)
    return isOfGroup && ground !== 'absent' && ground !== 'unresolvable'
  })
}

/** One that nobody can ever reap blocks nobody, unless it is going already. */
function mayBlock(
  truth: ReadonlyMap<string, ObjectMeta>,
  object: ObjectMeta,
  owner: ObjectMeta,
): boolean {
  const grounds = object.ownerReferences.map((each) => groundOf(truth.values(), object, each))
  const isBlocked =
    object.deletedAt === null && grounds.includes('unresolvable') && !grounds.includes('orphaning')
  return !isBlocked && referencesTo(object, owner).some((each) => each.blockOwnerDeletion === true)
}

/** What no watch tells of is nobody's dependent. */
function isWatched({ kind }: { readonly kind: string }): boolean {
  return !UNMONITORED.some((short) => KINDS[short]?.kind === kind)
}
