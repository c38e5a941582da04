/**
 * Reads all that a plan of a restore needs to know of a cluster: the objects at the coordinates of
 * an object and of its owners.
 *
 * What must stay true: one live GET for all coordinates that are the same, and any unclear answer
 * is unknown.
 *
 * Not here: what follows from it (restore-plan.ts).
 */
import { groupOf, type ObjectMeta, type OwnerReference } from '../../core/model/object.ts'
import type { DiscoveredKind, NamedResource } from '../../ports/cluster.ts'
import type { Restorer } from '../../ports/restorer.ts'
import type { ArchivedObject } from './archive-reader.ts'
import type { ServedAs } from './selection.ts'

/** What is at some coordinates now. */
export type Look =
  | { readonly type: 'Found'; readonly object: ObjectMeta }
  | { readonly type: 'Absent' }
  | { readonly type: 'Unknown'; readonly reason: string }

export interface Survey {
  /** At the object's own coordinates; `Unknown` too when it cannot be created there. */
  at(object: ArchivedObject): Look
  /** At the coordinates that a reference of the object names. */
  owner(object: ArchivedObject, reference: OwnerReference): Look
}

/** Live GETs under way at once. */
const AT_ONCE = 16

/**
 * By group and kind; also by the kind in lower case, where but one is written so: references may
 * name it that way.
 */
export type Kinds = ReadonlyMap<string, DiscoveredKind>

/** What the cluster serves. */
export async function kindsOf(restorer: Restorer, signal: AbortSignal): Promise<Kinds> {
  const { kinds } = await restorer.discover(signal)
  const byLower = Map.groupBy(kinds, ({ group, kind }) => keyOf(group, kind.toLowerCase()))
  const served = new Map<string, DiscoveredKind>()
  for (const [lower, [kind, ...others]] of byLower) {
    if (kind !== undefined && others.length === 0) served.set(lower, kind)
  }
  for (const kind of kinds) served.set(keyOf(kind.group, kind.kind), kind)
  return served
}

export function servedAs(kinds: Kinds): ServedAs {
  return ({ group, kind }) => kinds.get(keyOf(group, kind))
}

export async function surveyFor(
  chosen: readonly ArchivedObject[],
  kinds: Kinds,
  restorer: Restorer,
  signal: AbortSignal,
): Promise<Survey> {
  const looks = new Map<string, Look>()
  const wanted = new Map<string, NamedResource>()
  const want = (place: Place): string => {
    if (place.type === 'Nowhere') return place.key
    wanted.set(place.key, place.at)
    return place.key
  }
  for (const object of chosen) {
    for (const place of placesOf(kinds, object)) {
      if (place.type === 'Nowhere') looks.set(place.key, { type: 'Unknown', reason: place.reason })
      want(place)
    }
  }
  const queue = [...wanted]
  const worker = async (): Promise<void> => {
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      looks.set(next[0], await look(restorer, next[1], signal))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  const stateAt = ({ key }: Place): Look =>
    looks.get(key) ?? { type: 'Unknown', reason: 'it was not looked at' }
  return {
    at(object) {
      const namespace = stateAt(namespaceOf(object))
      if (object.namespace !== '' && namespace.type === 'Absent') {
        return { type: 'Unknown', reason: `namespace ${object.namespace} is not there: make it` }
      }
      return stateAt(ownPlace(kinds, object))
    },
    owner: (object, reference) => stateAt(ownerPlace(kinds, object, reference)),
  }
}

/** Where an object of the archive is made, as far as the cluster serves it. */
export type Place =
  | { readonly type: 'At'; readonly key: string; readonly at: NamedResource }
  | { readonly type: 'Nowhere'; readonly key: string; readonly reason: string }

function* placesOf(kinds: Kinds, object: ArchivedObject): Iterable<Place> {
  yield ownPlace(kinds, object)
  if (object.namespace !== '') yield namespaceOf(object)
  for (const reference of object.ownerReferences) yield ownerPlace(kinds, object, reference)
}

function ownPlace(kinds: Kinds, object: ArchivedObject): Place {
  const { group, kind, version, namespace, name } = object
  const key = JSON.stringify([group, kind, version, namespace, name])
  const served = kinds.get(keyOf(group, kind))
  if (served?.versions.includes(version) !== true) {
    const reason = `${group === '' ? version : `${group}/${version}`} ${kind} is not served`
    return { type: 'Nowhere', key, reason }
  }
  return { type: 'At', key, at: named(served, version, namespace, name) }
}

function ownerPlace(kinds: Kinds, object: ArchivedObject, reference: OwnerReference): Place {
  const { apiVersion, kind, name } = reference
  const served = kinds.get(keyOf(groupOf(apiVersion), kind))
  const namespace = served?.scope === 'Cluster' ? '' : object.namespace
  const key = JSON.stringify(['owner', apiVersion, kind, namespace, name])
  const version = served?.versions[0]
  if (served === undefined || version === undefined || served.ambiguous) {
    return { type: 'Nowhere', key, reason: `${apiVersion} ${kind} is not served` }
  }
  return { type: 'At', key, at: named(served, version, namespace, name) }
}

function namespaceOf({ namespace: name }: ArchivedObject): Place {
  const at: NamedResource = {
    ...{ group: '', version: 'v1', kind: 'Namespace', resource: 'namespaces' },
    ...{ scope: 'Cluster', namespace: '', name },
  }
  return { type: 'At', key: JSON.stringify(['namespace', name]), at }
}

function named(
  { group, kind, resource, scope }: DiscoveredKind,
  version: string,
  namespace: string,
  name: string,
): NamedResource {
  return { group, kind, resource, scope, version, namespace, name }
}

function keyOf(group: string, kind: string): string {
  return `${group}/${kind}`
}

export async function look(
  restorer: Restorer,
  place: NamedResource,
  signal: AbortSignal,
): Promise<Look> {
  const target = { ...place, uid: '', resourceVersion: '', aggregated: false }
  const answer = await restorer.get(target, signal)
  switch (answer.type) {
    case 'Found':
      return { type: 'Found', object: answer.object }
    case 'Absent':
      return { type: 'Absent' }
    case 'Unknown':
      return { type: 'Unknown', reason: answer.reason }
  }
}
