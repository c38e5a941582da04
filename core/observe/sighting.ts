/**
 * Sightings of objects: published by watches and relists, and returned by servers in answer to our
 * commands.
 *
 * What must stay true: no event moves a held resourceVersion without confirming the content; older
 * versions change nothing; a deletion is final within an epoch of its cluster.
 *
 * Not here: objects that leave (departure.ts).
 */
import { judgeDependents } from '../graph/agenda.ts'
import { putOwner } from '../graph/gets.ts'
import { placesOf, putNode } from '../graph/link.ts'
import type { Step } from '../graph/outcome.ts'
import { askRelist, currentCluster, drop, markDirty, tell, touch } from '../graph/outcome.ts'
import { leaveIndex } from '../graph/rule/keep-index.ts'
import { stopWaiting } from '../graph/wait.ts'
import { KIND_SILENT_MS, NO_CLUSTER_EPOCH } from '../model/constant.ts'
import type { ObjectAdded, ObjectUpdated, Touched } from '../model/event.ts'
import { withMember } from '../model/hash.ts'
import type { SyncId } from '../model/id.ts'
import type { Node, Phase } from '../model/node.ts'
import {
  deletionOfPresent,
  goingAfter,
  markAfter,
  mayMove,
  nodePhase,
  phaseOf,
} from '../model/node.ts'
import type { GroupKind, ObjectMeta, OwnerReference } from '../model/object.ts'
import {
  compareVersions,
  groupOf,
  isSamePlace,
  isSameReferences,
  projectionHash,
} from '../model/object.ts'
import type { KnownOwner } from '../model/owner.ts'
import { goneOf, orphanMarkOf, wasHere } from '../model/owner.ts'
import { ownerNamedBy } from '../model/rule/elsewhere.ts'
import { isReadFor, readsWithin } from '../model/rule/rule.ts'
import type { ClusterState, Seen } from '../model/state.ts'
import { noteDefinition, noteNamespace } from './cause.ts'
import { forget } from './departure.ts'
import { protectedUntilAfter } from './former-protection.ts'
import { notePolicy, trustPolicy } from './policy-object.ts'
import { noteClock } from './sync.ts'

export function objectSeen(step: Step, event: ObjectAdded | ObjectUpdated): void {
  const state = currentCluster(step, event)
  if (state === undefined) return
  const noted = noteClock(step, state, event.object)
  sight(step, noted, event.object, { sync: event.sync, by: 'watcher' })
}

/** `ours`: a server's answer to taking a finalizer off. `answer`: to anything else. */
interface SeenBy {
  readonly sync: SyncId | null
  readonly by: 'watcher' | 'answer' | 'ours'
}

/** Folds one sighting of an object. */
export function sight(
  step: Step,
  state: ClusterState,
  object: ObjectMeta,
  { sync, by }: SeenBy,
): void {
  if (!isServed(step, object)) return
  const node = step.graph.node(object.uid)
  const isHere = node !== undefined && isSamePlace(node.object, object)
  // An object that is a node here has no other record here.
  const owner = isHere ? undefined : step.graph.owner(object.uid, object)
  // An owner that a GET could not find (not-found) may have been created since.
  const gone = goneOf(owner)
  const isGone = gone?.clusterEpoch === state.clusterEpoch
  if (gone !== null && isGone && !isListedSince(step, object, sync, gone.position)) {
    drop(step, 'it was seen deleted in this epoch of the cluster')
    return
  }
  if (node !== undefined && !isHere) {
    const held = `its uid belongs to ${node.object.kind} "${node.object.name}"`
    if (!isProjection(step, node.object, object)) return drop(step, held)
    forget(step, node, `its uid belongs to ${object.kind} "${object.name}"`)
  }
  const seen = isHere ? step.graph.seen(object, object.uid) : undefined
  const isOfEpoch = seen?.clusterEpoch === state.clusterEpoch
  const compared =
    seen === undefined || !isOfEpoch
      ? 1
      : (compareVersions(object.resourceVersion, seen.resourceVersion) ?? 1)
  const isSetBack = compared < 0 && isHere && isListedSince(step, object, sync, node.position)
  if (compared < 0 && !isSetBack) {
    // It is listed nevertheless, at a version older than one we have seen since.
    if (seen !== undefined && sync !== null) putSeen(step, object, { ...seen, sync })
    // It is older than what a server has answered meanwhile, and was so nevertheless.
    const isGoing = node !== undefined && node.object.deletedAt !== null
    if (isGoing && phaseOf(object) === 'orphaning')
      putNode(step, node, { ...node, going: 'orphaning' })
    return
  }
  putSeen(step, object, {
    type: 'Seen',
    resourceVersion: object.resourceVersion,
    sync: sync ?? seen?.sync ?? 0,
    clusterEpoch: state.clusterEpoch,
  })
  const isListed = sync !== null
  if (node === undefined || !isHere) {
    // If it was forgotten, the time since which it has had its references is forgotten, too.
    const isForgotten = node !== undefined || wasHere(owner)
    const now = step.at.timestamp
    const earliest = isForgotten ? now : isListed ? 0 : now - KIND_SILENT_MS
    if (!isListed && step.graph.rules.length > 0) {
      step.record.observations.push({ type: 'made', cluster: step.cluster, object })
    }
    return appeared(step, object, owner, namedAtBirth(object, earliest, now))
  }
  const wasCurrent = isOfEpoch && !isSetBack
  const isRead = step.graph.unreadableAt(object.namespace) < node.position
  // Of an untrusted one a state that the watcher confirmed was never seen here.
  const isSure = wasCurrent && isRead && node.doubt === null
  const isGap = isListed || by !== 'watcher' || !isSure
  const how = { isNewer: compared !== 0, wasCurrent, isListed, isOurs: by === 'ours', isGap }
  changed(step, node, object, how)
}

/**
 * An aggregated server shows objects of the cluster's own once more, under their uids (Projects are
 * Namespaces): whichever is published first, the cluster's own counts.
 */
function isProjection(step: Step, shown: GroupKind, own: GroupKind): boolean {
  const isAggregated = (kind: GroupKind): boolean => step.graph.kind(kind)?.aggregated === true
  return isAggregated(shown) && !isAggregated(own)
}

/**
 * A relist that began after the object was last seen, deleted or at a later version, holds it: a
 * restore that no version of the cluster shows brought it back as it was, or an earlier list was
 * wrong. What the list holds counts, for lists are never older than their beginning; a DELETE names
 * its version.
 */
function isListedSince(
  step: Step,
  kind: GroupKind,
  sync: SyncId | null,
  position: bigint,
): boolean {
  const known = step.graph.kind(kind)
  return sync !== null && known?.openSync === sync && known.relistedAt > position
}

/**
 * An event about a kind before it is served, or after it left discovery, is confirmed by no server.
 */
function isServed(step: Step, kind: GroupKind): boolean {
  const phase = step.graph.kind(kind)?.phase ?? 'unserved'
  if (phase !== 'unserved') return true
  drop(step, `${kind.kind} is not served`)
  return false
}

function appeared(
  step: Step,
  object: ObjectMeta,
  owner: KnownOwner | undefined,
  namedAt: number,
): void {
  const places = placesOf(step, object)
  putNode(step, null, {
    type: 'Node',
    object,
    hash: projectionHash(object),
    doubt: null,
    deletion: null,
    position: step.at.position,
    places,
    namedAt: object.ownerReferences.map(() => namedAt),
    orphanedAt:
      object.deletedAt === null
        ? null
        : (orphanMarkOf(owner) ?? markAfter(null, object, false, step.at.timestamp)),
    isFreed: false,
    letGoAt: null,
    going: goingAfter(null, object, true),
    ringed: false,
    protectedUntil: null,
    isWarned: false,
    warnedAt: [],
    dueBy: '',
    verdict: null,
    hold: null,
    attempt: null,
  })
  step.graph.setMembers(object, withMember(step.graph.members(object), object.uid))
  if (owner !== undefined) putOwner(step, { uid: object.uid, place: object }, null)
  noteNamespace(step, null, object)
  noteDefinition(step, null, object)
  notePolicy(step, null, object)
  touch(step, object.uid)
  tell(step, object, 'created', describe(object), { phase: phaseOf(object) })
  judgeDependents(step, object.uid, object)
  markDirty(step, object.uid)
}

function changed(
  step: Step,
  node: Node,
  object: ObjectMeta,
  how: {
    readonly isNewer: boolean
    readonly wasCurrent: boolean
    readonly isListed: boolean
    readonly isOurs: boolean
    readonly isGap: boolean
  },
): void {
  const going = how.isNewer ? goingAfter(node, object, how.isGap) : node.going
  const hash = projectionHash(object)
  if (hash === node.hash && how.wasCurrent && !how.isNewer && isConfirming(node)) {
    if (how.isListed) listedStill(step, node)
    return
  }
  const before = nodePhase(node)
  const after = phaseOf(object)
  if (hash === node.hash && how.wasCurrent && before === after) {
    if (going !== node.going) putNode(step, node, { ...node, going })
    return
  }
  // By a reaper that has not read the rules yet: what is known of this version is more.
  if (how.wasCurrent && !how.isNewer && isReadWorse(step, node.object, object)) return
  // An equal version with another content is no answer of an honest server.
  const isRead = hash === node.hash || how.isNewer || isOtherReading(node.object, object)
  const isTrusted = isRead && mayMove(before, after)
  const phase = isTrusted ? after : 'suspect'
  const isSure = hash === node.hash && how.wasCurrent && node.doubt === null
  const places = isSure ? node.places : placesOf(step, object)
  const orphanedAt = markAfter(node, object, how.isOurs, step.at.timestamp)
  // A decision of another epoch of the cluster is made anew.
  const isDecided = isTrusted && how.wasCurrent
  // Other references are another question, so what it has waited for begins anew.
  const isNamingAlike = isSameReferences(object.ownerReferences, node.object.ownerReferences)
  putNode(step, node, {
    ...node,
    object,
    hash,
    places,
    namedAt: isNamingAlike ? node.namedAt : namedAtAfter(node, object, step.at.timestamp),
    position: step.at.position,
    letGoAt: node.letGoAt !== null && namesOneOf(object, node.object) ? node.letGoAt : null,
    isWarned: node.isWarned && isNamingAlike,
    deletion: object.deletedAt === null ? null : deletionOfPresent(node),
    going,
    protectedUntil: protectedUntilAfter(step.graph, node, object, step.at.timestamp),
    orphanedAt: isTrusted ? orphanedAt : node.orphanedAt,
    isFreed: node.isFreed && (!isTrusted || orphanedAt !== null),
    doubt: isTrusted ? null : 'content',
    dueBy: isDecided ? node.dueBy : '',
    verdict: isDecided ? node.verdict : null,
    hold: isDecided && isNamingAlike && isOfSameElsewhere(object, node.object) ? node.hold : null,
    attempt: isTrusted ? node.attempt : null,
    ringed: isDecided && node.ringed && phase === 'waiting',
  })
  noteNamespace(step, node.object, object)
  noteDefinition(step, node.object, object)
  notePolicy(step, node.object, object)
  if (isTrusted && (node.doubt !== null || !how.wasCurrent)) trustPolicy(step, object)
  if (hash !== node.hash) stopWaiting(step, node.object, object)
  // Until it is judged, which may be later, it is not known whether it still counts.
  if (!isTrusted || hash !== node.hash) leaveIndex(step, object.uid)
  if (!isTrusted) askRelist(step, object, `${object.name} contradicts itself`)
  tellChange(step, node, object, phase)
  const isOtherOwner = phase !== before || orphanedAt !== node.orphanedAt || !how.wasCurrent
  if (isOtherOwner) judgeDependents(step, object.uid, object)
  markDirty(step, object.uid)
}

/** It names the same owner in another cluster, or none: by another one it has not waited yet. */
function isOfSameElsewhere(after: ObjectMeta, before: ObjectMeta): boolean {
  const [is, was] = [ownerNamedBy(after.annotations), ownerNamedBy(before.annotations)]
  return is?.cluster === was?.cluster && is?.uid === was?.uid
}

/** The same version, read for other rules: only what both readings have can contradict. */
function isOtherReading(before: ObjectMeta, after: ObjectMeta): boolean {
  if (before.projected?.reads === after.projected?.reads) return false
  const bare = { labels: [], annotations: [], projected: null }
  return projectionHash({ ...before, ...bare }) === projectionHash({ ...after, ...bare })
}

/** The same version, read with less than rules read. */
function isReadWorse({ graph }: Step, before: ObjectMeta, after: ObjectMeta): boolean {
  const reads = readsWithin(graph.rules, before)
  if (reads === null || !isReadFor(before, { reads }) || isReadFor(after, { reads })) return false
  return isOtherReading(before, after)
}

/**
 * Since when a new object has had its references, at the latest. Its server's clock says in which
 * second it was created, ours when it was seen: not later than that, and if a watch reports it,
 * earlier at most by the time that a watch may be silent. An object in a list may be of any age
 * (decision 0030).
 */
function namedAtBirth({ createdAt }: ObjectMeta, earliest: number, now: number): number {
  return Math.min(now, Math.max((createdAt ?? now) + 999, earliest))
}

/** An added reference is as old as the sighting that shows it. */
function namedAtAfter(node: Node, after: ObjectMeta, now: number): readonly number[] {
  if (node.object.ownerReferences.length === 0) return after.ownerReferences.map(() => now)
  const identityOf = ({ apiVersion, kind, name, uid }: OwnerReference): string =>
    JSON.stringify([groupOf(apiVersion), kind, name, uid])
  const known = new Map(
    node.object.ownerReferences.map((each, index) => [identityOf(each), node.namedAt[index] ?? 0]),
  )
  return after.ownerReferences.map((each) => known.get(identityOf(each)) ?? now)
}

/**
 * References that it gets after it lost all it had are a new claim: an owner that orphaned it
 * before that has no say in it.
 */
function namesOneOf(after: ObjectMeta, before: ObjectMeta): boolean {
  const uids = new Set(before.ownerReferences.map(({ uid }) => uid))
  return after.ownerReferences.some(({ uid }) => uids.has(uid))
}

function isConfirming(node: Node): boolean {
  return node.attempt?.state === 'confirming'
}

/**
 * A relist still holds, unchanged, an object that a server said is deleted: that answer is not
 * believed again before its wait is over.
 */
function listedStill(step: Step, node: Node): void {
  const { object, attempt } = node
  const [before, phase] = [nodePhase(node), phaseOf(object)]
  if (attempt === null) return
  const reason = 'a relist still holds it'
  putNode(step, node, {
    ...node,
    deletion: deletionOfPresent(node),
    attempt: { ...attempt, state: 'backoff', reason },
  })
  // It counts again, and its rule may be another by now.
  if (node.verdict?.rule != null) markDirty(step, object.uid)
  if (phase === before) return
  touch(step, object.uid)
  tell(step, object, 'phase', `${before} → ${phase}: ${reason}`, { phase })
}

function tellChange(step: Step, node: Node, object: ObjectMeta, phase: Phase): void {
  touch(step, object.uid)
  const former = nodePhase(node)
  if (phase !== former) tell(step, object, 'phase', `${former} → ${phase}`, { phase })
  if (isSameReferences(node.object.ownerReferences, object.ownerReferences)) return
  const before = referencesText(node.object)
  const after = referencesText(object)
  if (before !== after) tell(step, object, 'references', `${before} → ${after}`)
}

export function touched(step: Step, event: Touched): void {
  const state = currentCluster(step, event)
  if (state === undefined || !isServed(step, event)) return
  for (const entry of event.entries) {
    const seen = step.graph.seen(event, entry.uid)
    const node = step.graph.node(entry.uid)
    if (seen === undefined || node === undefined) {
      // The watcher believes that it has published it; a full relist does, unless the object was
      // deleted since.
      askRelist(step, event, `${entry.uid} was touched and is not known`)
      continue
    }
    const isCurrent = seen.clusterEpoch === state.clusterEpoch
    const order = isCurrent
      ? (compareVersions(entry.resourceVersion, seen.resourceVersion) ?? 1)
      : 1
    const sync = event.sync ?? seen.sync
    const isSetBack = order < 0 && isListedSince(step, node.object, event.sync, node.position)
    if (order < 0 && !isSetBack) {
      if (sync !== seen.sync) putSeen(step, node.object, { ...seen, sync })
    } else if (entry.hash === node.hash) {
      const { resourceVersion } = entry
      const { clusterEpoch } = state
      putSeen(step, node.object, {
        type: 'Seen',
        resourceVersion,
        sync,
        clusterEpoch,
      })
      // Between what was there and a list there may have been others.
      const isMissed = event.sync !== null && order > 0 && node.going === 'whole'
      const known: Node = isMissed ? { ...node, going: 'part' } : node
      if (isMissed) putNode(step, node, known)
      if (known.doubt !== null || !isCurrent || isSetBack) vouch(step, known)
      else if (event.sync !== null && isConfirming(known)) listedStill(step, known)
    } else if (order > 0 || isSetBack) {
      if (sync !== seen.sync) putSeen(step, node.object, { ...seen, sync })
      suspect(step, node, 'its content is not what the watcher vouched for')
    } else if (isReadOtherwise(step, node.object)) {
      askRelist(step, event, `${node.object.name} was read without what rules read`)
    }
  }
}

/** By a reaper that did not know the rules yet: the watcher has read it with what they read. */
function isReadOtherwise({ graph }: Step, object: ObjectMeta): boolean {
  const reads = readsWithin(graph.rules, object)
  return reads !== null && !isReadFor(object, { reads })
}

/**
 * The untrusted content is confirmed as the server's, and so is its mark: a restore may have undone
 * the request.
 */
function vouch(step: Step, node: Node): void {
  const orphanedAt = markAfter(node, node.object, false, step.at.timestamp)
  const phase = phaseOf(node.object)
  putNode(step, node, {
    ...node,
    places: placesOf(step, node.object),
    doubt: null,
    deletion: node.object.deletedAt === null ? null : deletionOfPresent(node),
    orphanedAt,
    isFreed: node.isFreed && orphanedAt !== null,
    going: goingAfter(node, node.object, true),
    dueBy: '',
    verdict: null,
    hold: null,
  })
  tellChange(step, node, node.object, phase)
  judgeDependents(step, node.object.uid, node.object)
  trustPolicy(step, node.object)
  markDirty(step, node.object.uid)
}

/**
 * No verdict, and nothing under way, until a relist; the objects that waited for it in an ownership
 * cycle may be others by then.
 */
const IN_DOUBT = {
  doubt: 'content',
  dueBy: '',
  verdict: null,
  hold: null,
  attempt: null,
  ringed: false,
} as const

export function suspect(
  step: Step,
  node: Node,
  why: string,
  more: Pick<Node, 'doubt' | 'verdict'> | null = null,
): void {
  if (node.doubt !== null) {
    if (more !== null) putNode(step, node, { ...node, ...more })
    return
  }
  const deletion = deletionOfPresent(node)
  putNode(step, node, { ...node, ...IN_DOUBT, deletion, ...more })
  leaveIndex(step, node.object.uid)
  touch(step, node.object.uid)
  tell(step, node.object, 'phase', `${nodePhase(node)} → suspect: ${why}`, {
    phase: 'suspect',
  })
  // One that is not served cannot be listed; it is when it is served again.
  if (step.graph.kind(node.object)?.phase !== 'unserved') {
    askRelist(step, node.object, why)
  }
  // A status can no longer rest on it.
  judgeDependents(step, node.object.uid, node.object)
}

/**
 * Its kind is no longer served: an object that is missing when it is served again was deleted
 * without a DELETE of its own, a bulk deletion.
 */
export function suspectOfGoneKind(step: Step, node: Node): void {
  const seen = step.graph.seen(node.object, node.object.uid)
  if (seen !== undefined) {
    putSeen(step, node.object, { ...seen, clusterEpoch: NO_CLUSTER_EPOCH })
  }
  const because = 'its kind is no longer served'
  // Blocked: no reaper can delete it, so no owner waits for it.
  const basis = [step.at.position, step.graph.policy.position]
  const verdict = { type: 'blocked', evidence: null, because, basis, rule: null } as const
  suspect(step, node, because, { doubt: 'unserved', verdict })
}

function putSeen(step: Step, object: ObjectMeta, seen: Seen): void {
  step.graph.setSeen(object, object.uid, seen)
}

function describe(object: ObjectMeta): string {
  const references = referencesText(object)
  const deleting = object.deletedAt === null ? '' : ', being deleted'
  return `version ${object.resourceVersion}, owners: ${references}${deleting}`
}

/** Of owners, in a text: an object may have thousands. */
const MOST_NAMED = 5

function referencesText(object: ObjectMeta): string {
  const { ownerReferences } = object
  const [first] = ownerReferences
  if (first === undefined) return 'none'
  if (ownerReferences.length === 1) return referenceText(first)
  const texts = ownerReferences.slice(0, MOST_NAMED).map(referenceText)
  const more = ownerReferences.length - texts.length
  return [...texts, ...(more > 0 ? [`and ${more} more`] : [])].join(', ')
}

function referenceText({ kind, name, uid }: OwnerReference): string {
  return `${kind}/${name} (${uid})`
}
