/**
 * Edges from owners to their dependents, and their counts.
 *
 * What must stay true: a node has exactly the edges its `places` say, and each count is the number of edges under it. An edge names
 * its owner's coordinates, so a reference with the right uid and a wrong kind, name or namespace is never mistaken for another's.
 */
import { countOf, kindOf } from './graph.ts'
import { coordinatesPart, countKey, edgeKey } from './key.ts'
import type { ClusterId, Coordinates, ObjectMeta, Uid } from './object.ts'
import type { Step } from './outcome.ts'
import { kindOfReference, placeOf } from './standing.ts'
import type { CountPlace } from './state.ts'

export interface Link {
  readonly owner: Uid
  readonly place: Coordinates
  readonly blocking: boolean
}

/** For each reference the namespace of its edge, or null: what a node keeps so that its edges can be found again. */
export function placesOf(
  step: Step,
  cluster: ClusterId,
  object: ObjectMeta,
): readonly (string | null)[] {
  return object.ownerReferences.map((reference) => {
    const kind = kindOf(step.graph, cluster, kindOfReference(reference))
    return placeOf(kind, object, reference)?.namespace ?? null
  })
}

/** Replaces the edges of a node; null stands for no node before or after. */
export function relink(
  step: Step,
  cluster: ClusterId,
  uid: Uid,
  before: Linked | null,
  after: Linked | null,
): void {
  const old = linksOf(cluster, uid, before)
  const now = linksOf(cluster, uid, after)
  for (const [key, link] of old) {
    const next = now.get(key)
    if (next === undefined) {
      step.graph.remove(key)
      count(step, cluster, link, -1, link.blocking ? -1 : 0)
    } else if (next.blocking !== link.blocking) {
      step.graph.put(key, { type: 'Edge', blocking: next.blocking })
      count(step, cluster, link, 0, next.blocking ? 1 : -1)
    }
  }
  for (const [key, link] of now) {
    if (old.has(key)) continue
    step.graph.put(key, { type: 'Edge', blocking: link.blocking })
    count(step, cluster, link, 1, link.blocking ? 1 : 0)
  }
}

export interface Linked {
  readonly object: ObjectMeta
  readonly places: readonly (string | null)[]
}

/** Two references may name one owner; they make one edge, which blocks if either does. */
export function linksOf(cluster: ClusterId, uid: Uid, linked: Linked | null): Map<string, Link> {
  const links = new Map<string, Link>()
  if (linked === null) return links
  linked.object.ownerReferences.forEach((reference, index) => {
    const namespace = linked.places[index] ?? null
    if (namespace === null) return
    const place = { ...kindOfReference(reference), namespace, name: reference.name }
    const key = edgeKey(cluster, reference.uid, place, uid)
    const blocking = reference.blockOwnerDeletion === true || links.get(key)?.blocking === true
    links.set(key, { owner: reference.uid, place, blocking })
  })
  return links
}

function count(
  step: Step,
  cluster: ClusterId,
  { owner, place }: Link,
  dependents: number,
  blocking: number,
): void {
  const coordinates = coordinatesPart(place)
  const places = countOf(step.graph, cluster, owner)?.places ?? []
  const old = places.find((each) => each.coordinates === coordinates)
  const changed: CountPlace = {
    coordinates,
    dependents: (old?.dependents ?? 0) + dependents,
    blocking: (old?.blocking ?? 0) + blocking,
  }
  const others = places.filter((each) => each !== old)
  const next = changed.dependents === 0 ? others : [...others, changed]
  const key = countKey(cluster, owner)
  if (next.length === 0) step.graph.remove(key)
  else step.graph.put(key, { type: 'Count', places: next })
}
