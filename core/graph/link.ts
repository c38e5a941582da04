/**
 * Nodes with their edges from owners to dependents, and the edges' counts.
 *
 * What must stay true: a node has exactly the edges its `places` say, and each count is the number
 * of edges under it. An edge names its owner's coordinates, so a reference with the right uid and a
 * wrong kind, name or namespace is never mistaken for another's. Nodes are written here only.
 */
import type { EdgePlace, Node } from '../model/node.ts'
import { nodePhase, phaseAsOwner } from '../model/node.ts'
import type { ClusterId, Coordinates, GroupKind, ObjectMeta, Uid } from '../model/object.ts'
import { groupOf, isSamePlace, isSameReferences } from '../model/object.ts'
import type { Count } from '../model/state.ts'
import type { ClusterFacts } from './facts.ts'
import { noteHeld } from './held-plan.ts'
import { edgeKey } from './key.ts'
import type { Step } from './outcome.ts'
import { markDirty } from './outcome.ts'
import { ownerPlace } from './owner-place.ts'
import { subjectOf } from './row.ts'
import { noteElsewhere } from './rule/elsewhere-index.ts'
import { noteNamed } from './rule/name-index.ts'
import { noteRuleTurn } from './rule/rule-turn.ts'
import { noteUses } from './rule/use-index.ts'

export interface Link {
  readonly owner: Uid
  readonly place: Coordinates
  readonly blocking: boolean
  /** It blocks, and waits for dependents of its own. */
  readonly waiting: boolean
  /** Its kind is absent from discovery, so no client can remove the reference. */
  readonly unserved: boolean
}

/** The places that a node keeps so that its edges can be found again. */
export function placesOf(step: Step, object: ObjectMeta): Node['places'] {
  return object.ownerReferences.map((reference) => {
    const { place } = ownerPlace(step.graph, object, reference)
    return place === undefined ? null : { kind: place.kind, namespace: place.namespace }
  })
}

export function isSameEdge(a: EdgePlace | null | undefined, b: EdgePlace | null): boolean {
  return a?.kind === b?.kind && a?.namespace === b?.namespace
}

export function putNode(step: Step, before: Node | null, after: Node): void {
  step.graph.setNode(after.object.uid, after)
  noteNamed(step, before, after)
  noteElsewhere(step, before, after)
  noteUses(step, before, after)
  noteHeld(step, before, after)
  noteRuleTurn(step, before, after)
  if (before === null || isLinkedOtherwise(before, after)) relink(step, before, after)
}

export function removeNode(step: Step, node: Node): void {
  step.graph.setNode(node.object.uid, null)
  noteNamed(step, node, null)
  noteElsewhere(step, node, null)
  const { uid } = node.object
  if (step.graph.verification(uid) !== undefined) step.graph.setVerification(uid, null)
  noteUses(step, node, null)
  noteHeld(step, node, null)
  noteRuleTurn(step, node, null)
  relink(step, node, null)
}

function isLinkedOtherwise(before: Node, after: Node): boolean {
  const { ownerReferences } = after.object
  if (!isSameReferences(before.object.ownerReferences, ownerReferences)) return true
  if (ownerReferences.length === 0) return false
  const isSame =
    isSamePlaces(before.places, after.places) &&
    isBlocked(before) === isBlocked(after) &&
    isUnserved(before) === isUnserved(after) &&
    (phaseAsOwner(before) === 'waiting') === (phaseAsOwner(after) === 'waiting')
  return !isSame
}

function isSamePlaces(a: Node['places'], b: Node['places']): boolean {
  return a === b || b.every((place, index) => isSameEdge(a[index], place))
}

/**
 * A dependent that is never deleted by itself, since it cannot be known whether its owner was
 * deleted, keeps no owner waiting.
 */
function isBlocked({ verdict }: Node): boolean {
  return verdict?.type === 'blocked'
}

/** Its kind left discovery. */
function isUnserved(node: Node): boolean {
  return node.doubt === 'unserved'
}

function relink(step: Step, before: Node | null, after: Node | null): void {
  const old = linksOf(step.cluster, before)
  const now = linksOf(step.cluster, after)
  const dependent = after?.object ?? before?.object
  if (dependent === undefined) return
  old.forEach((link, key) => {
    const next = now.get(key)
    if (next === undefined) {
      step.graph.setEdge(key, false)
      count(step, dependent, link, -1, link)
    } else if (!isSameLink(next, link)) {
      count(step, dependent, next, 0, link)
    }
  })
  now.forEach((link, key) => {
    if (old.has(key)) return
    step.graph.setEdge(key, true)
    count(step, dependent, link, 1, null)
  })
}

function isSameLink(a: Link, b: Link): boolean {
  return a.blocking === b.blocking && a.waiting === b.waiting && a.unserved === b.unserved
}

const NO_LINKS: ReadonlyMap<string, Link> = new Map()

/** Two references may name one owner; they make one edge, which blocks if either does. */
export function linksOf(cluster: ClusterId, node: Node | null): ReadonlyMap<string, Link> {
  if (node === null || node.object.ownerReferences.length === 0) return NO_LINKS
  const links = new Map<string, Link>()
  const mayBlock = !isBlocked(node)
  const waits = phaseAsOwner(node) === 'waiting'
  const unserved = isUnserved(node)
  node.object.ownerReferences.forEach((reference, index) => {
    const at = node.places[index] ?? null
    if (at === null) return
    const { kind, namespace } = at
    const place = { group: groupOf(reference.apiVersion), kind, namespace, name: reference.name }
    const key = edgeKey(cluster, reference.uid, place, node.object.uid)
    const asks = reference.blockOwnerDeletion === true && mayBlock
    const blocking = asks || links.get(key)?.blocking === true
    const waiting = blocking && waits
    links.set(key, { owner: reference.uid, place, blocking, waiting, unserved })
  })
  return links
}

/** Whether the dependent of this row of an owner's dependents blocks the owner. */
export function isBlocking(facts: ClusterFacts, row: string): boolean {
  const node = facts.node(subjectOf(row)) ?? null
  return linksOf(facts.cluster, node).get(row)?.blocking === true
}

/**
 * Adds `dependents` edges like `link` (0: the edge changed, -1: it was removed); `before` is what
 * it was.
 */
function count(
  step: Step,
  dependent: ObjectMeta,
  link: Link,
  dependents: -1 | 0 | 1,
  before: Link | null,
): void {
  const { owner, place } = link
  const now = dependents < 0 ? NO_LINK : link
  const was = before ?? NO_LINK
  const old = step.graph.count(owner, place) ?? NO_COUNT
  const changed: Count = {
    type: 'Count',
    dependents: old.dependents + dependents,
    blocking: old.blocking + Number(now.blocking) - Number(was.blocking),
    waiting: old.waiting + Number(now.waiting) - Number(was.waiting),
    unserved: old.unserved + Number(now.unserved) - Number(was.unserved),
  }
  step.graph.setCount(owner, place, changed.dependents === 0 ? null : changed)
  if (now.blocking && !was.blocking) rememberBlocker(step, place, dependent)
  // Nothing is left that it waits for, except objects that may wait for it in turn; or that is
  // over.
  if (changed.blocking === changed.waiting || old.blocking === old.waiting) {
    judgeWaitingOwner(step, owner, place)
  }
}

function judgeWaitingOwner(step: Step, uid: Uid, place: Coordinates): void {
  const owner = step.graph.node(uid)
  const phase = owner && nodePhase(owner)
  if (owner === undefined || (phase !== 'waiting' && phase !== 'orphaning')) return
  if (isSamePlace(owner.object, place)) markDirty(step, uid)
}

const NO_COUNT: Count = { type: 'Count', dependents: 0, blocking: 0, waiting: 0, unserved: 0 }

const NO_LINK = { blocking: false, waiting: false, unserved: false } as const

/** An owner of that kind is not released while this kind's watch is not in sync. */
function rememberBlocker(step: Step, owner: GroupKind, dependent: GroupKind): void {
  const kind = step.graph.kind(owner)
  if (kind === undefined) return
  const isKnown = kind.blockers.some(
    (each) => each.kind === dependent.kind && each.group === dependent.group,
  )
  if (isKnown) return
  const blockers = [...kind.blockers, { group: dependent.group, kind: dependent.kind }]
  step.graph.setKind(owner, { ...kind, blockers })
}
