/**
 * What is never deleted for want of an owner: kinds, namespaces, labels and annotations, by policy, by directive, and by what users already wrote.
 *
 * What must stay true: decided from the object, the policy and the directives alone, so the gate asks the same question of an object that it has read.
 * Whoever bears a mark is spared whatever is known of its owners; the policy's kinds, and the namespaces of the system, are spared where no deletion was seen.
 *
 * Not here: how reapers learn of it at once (services/reaper/control.ts), what of an object is kept to be looked at (adapters/kubernetes/meta.ts).
 */
import { PROTECTED_FOR_MS } from './constant.ts'
import type { StateReader } from './graph.ts'
import { clusterOf, directivesOf, policyOf } from './graph.ts'
import { markOf } from './mark.ts'
import type { Node } from './node.ts'
import type { ClusterId, Coordinates, GroupKind, ObjectMeta } from './object.ts'
import type { Protection } from './policy.ts'
import type { EvidenceClass } from './proof.ts'
import type { FormerProtection, PolicyState } from './state.ts'
import { has, isPlaceOf, isSubject, namespacesOf, readKeyValue } from './subject.ts'

/** Spared by evidence E2 to E4 in `guarded`: what runs the cluster itself. Its cascades that were seen to begin go on, or no update would ever end. */
export const SYSTEM_NAMESPACES: readonly string[] = [
  'kube-system',
  'kube-public',
  'kube-node-lease',
]

/** What counts in one cluster. */
export interface Guarding {
  readonly policy: Protection
  /** Of directives, as `readSubject` takes them. */
  readonly subjects: readonly GuardedSubject[]
  readonly namespacesWhereUnseen: readonly string[]
}

export interface GuardedSubject {
  readonly subject: string
  readonly who: string
  readonly why: string
}

/** Every reason begins with it. */
const PREFIX = 'protected by '

/** Why an object is spared, and until when in log time if that ends by itself. */
export interface Spared {
  readonly because: string
  readonly until: number | null
}

/** Null when it is not. */
export function protectedBecause(
  graph: StateReader,
  cluster: ClusterId,
  node: Pick<Node, 'object' | 'protectedUntil'>,
  evidence: EvidenceClass,
): Spared | null {
  const guarding = guardingOf(graph, cluster)
  const now = protectedNow(node.object, evidence, guarding)
  if (now !== '') return { because: now, until: null }
  const until = sparedUntil(graph, cluster, node, evidence)
  if (until === null) return null
  const because = `${PREFIX}what was taken back in the last ten minutes; it goes when they are over`
  return { because, until }
}

function guardingOf(graph: StateReader, cluster: ClusterId): Guarding {
  const { policy } = policyOf(graph)
  const subjects = directivesOf(graph).protections.filter(
    (each) => each.liftedAt === null && (each.cluster === '' || each.cluster === cluster),
  )
  const namespacesWhereUnseen = policy.preset === 'guarded' ? SYSTEM_NAMESPACES : []
  return { policy: policy.protection, subjects, namespacesWhereUnseen }
}

/** The log time until which something that was taken back counts still; null when nothing does. */
function sparedUntil(
  graph: StateReader,
  cluster: ClusterId,
  { object, protectedUntil }: Pick<Node, 'object' | 'protectedUntil'>,
  evidence: EvidenceClass,
): number | null {
  const { policy, former } = policyOf(graph)
  if (policy.preset !== 'guarded') return null
  let until = protectedUntil ?? 0
  if (former !== null && protectedNow(object, evidence, formerly(former)) !== '') {
    until = Math.max(until, former.until)
  }
  for (const each of directivesOf(graph).protections) {
    if (each.liftedAt === null || (each.cluster !== '' && each.cluster !== cluster)) continue
    if (isSubject(object, each.subject)) until = Math.max(until, each.liftedAt + PROTECTED_FOR_MS)
  }
  return until > (clusterOf(graph, cluster)?.now ?? 0) ? until : null
}

/** What counts now, and what counts still of what was taken back. */
function lately(graph: StateReader, cluster: ClusterId, now: number): Guarding {
  const guarding = guardingOf(graph, cluster)
  const { former } = policyOf(graph)
  const isNew = (liftedAt: number | null): boolean =>
    liftedAt === null || liftedAt + PROTECTED_FOR_MS > now
  const subjects = directivesOf(graph).protections.filter(
    (each) => isNew(each.liftedAt) && (each.cluster === '' || each.cluster === cluster),
  )
  const isOver = former === null || former.until <= now
  const policy = isOver ? guarding.policy : bothOf(former.protection, guarding.policy)
  return { ...guarding, policy, subjects }
}

function formerly({ protection }: FormerProtection): Guarding {
  return { policy: protection, subjects: [], namespacesWhereUnseen: [] }
}

/** What a policy leaves to be spared for a while when another one takes its place. */
export function formerAfter(
  { policy, former, position }: PolicyState,
  next: Protection,
  now: number,
): FormerProtection | null {
  const left = former !== null && former.until > now ? former : null
  const before = policy.protection
  const together = bothOf(before, next)
  if (position < 0n || isSameSize(together, bothOf(next, next))) return left
  const protection = left === null ? before : bothOf(left.protection, before)
  return { protection, until: Math.max(left?.until ?? 0, now + PROTECTED_FOR_MS) }
}

/** Each thing once. */
function bothOf(one: Protection, other: Protection): Protection {
  const isAmong = ({ group, kind }: GroupKind): boolean =>
    other.kinds.some((each) => each.group === group && each.kind === kind)
  const texts = (these: readonly string[], those: readonly string[]): readonly string[] => [
    ...new Set([...those, ...these]),
  ]
  return {
    kinds: [...other.kinds, ...one.kinds.filter((each) => !isAmong(each))],
    namespaces: texts(one.namespaces, other.namespaces),
    labels: texts(one.labels, other.labels),
    annotations: texts(one.annotations, other.annotations),
    othersMarks: one.othersMarks || other.othersMarks,
  }
}

function isSameSize(one: Protection, other: Protection): boolean {
  const sizeOf = ({ kinds, namespaces, labels, annotations }: Protection): number =>
    kinds.length + namespaces.length + labels.length + annotations.length
  return sizeOf(one) === sizeOf(other) && one.othersMarks === other.othersMarks
}

/** Until when a mark counts that this sighting does not show any more. */
export function protectedUntilAfter(
  graph: StateReader,
  cluster: ClusterId,
  { object: before, protectedUntil }: Pick<Node, 'object' | 'protectedUntil'>,
  after: ObjectMeta,
  now: number,
): number | null {
  if (before.labels.length === 0 && before.annotations.length === 0) return protectedUntil
  // What nothing asks for any more is not told any more: what a policy or an order named until just now is gone from the object by the next list.
  const all = lately(graph, cluster, now)
  const isTakenOff = markOn(before, all) !== '' && markOn(after, all) === ''
  return isTakenOff ? now + PROTECTED_FOR_MS : protectedUntil
}

/** Why an object, as it is, may not be deleted; empty when it may. */
export function protectedNow(
  object: ObjectMeta,
  evidence: EvidenceClass,
  guarding: Guarding,
): string {
  return markOn(object, guarding) || protectedPlace(object, evidence, guarding)
}

/** By what it bears. */
function markOn(object: ObjectMeta, { policy, subjects }: Guarding): string {
  const { labels, annotations } = object
  if (labels.length === 0 && annotations.length === 0) return ''
  const mark = markOf(object, policy.othersMarks)
  if (mark !== undefined) {
    const whose = mark.name === 'Kinfold' ? '' : ` of ${mark.name}`
    return `${PREFIX}${mark.on} ${mark.key}${whose}; it goes once that is taken off`
  }
  const label = policy.labels.find((each) => has(labels, readKeyValue(each)))
  if (label !== undefined) return `${PREFIX}label ${label}, as the policy says`
  const annotation = policy.annotations.find((each) => has(annotations, readKeyValue(each)))
  if (annotation !== undefined) return `${PREFIX}annotation ${annotation}, as the policy says`
  for (const each of subjects) {
    const isPlace = each.subject.startsWith('namespace/') || each.subject.startsWith('kind/')
    if (!isPlace && isSubject(object, each.subject)) return bySubject(each)
  }
  return ''
}

/** By where it is and of what kind: also of one that nobody has read. */
export function protectedPlace(
  place: Coordinates,
  evidence: EvidenceClass,
  { policy, subjects, namespacesWhereUnseen }: Guarding,
): string {
  const { group, kind } = place
  for (const each of subjects) {
    const isPlace = each.subject.startsWith('namespace/') || each.subject.startsWith('kind/')
    if (isPlace && isPlaceOf(place, each.subject)) return bySubject(each)
  }
  const within = namespacesOf(place)
  const listed = policy.namespaces.find((each) => within.includes(each))
  if (listed !== undefined) return `${PREFIX}its namespace ${listed}, as the policy says`
  if (evidence !== 'E2' && evidence !== 'E3' && evidence !== 'E4') return ''
  const unseen = `, since nobody saw its owner go (${evidence}); delete it by hand if that is right`
  const unseenIn = namespacesWhereUnseen.find((each) => within.includes(each))
  if (unseenIn !== undefined) return `${PREFIX}its namespace ${unseenIn}${unseen}`
  const isKind = policy.kinds.some((each) => each.kind === kind && each.group === group)
  return isKind ? `${PREFIX}its kind ${kind}${unseen}` : ''
}

function bySubject({ subject, who, why }: GuardedSubject): string {
  const reason = why === '' ? '' : ` (${why})`
  return `${PREFIX}${who}${reason}; "kinfold unprotect ${subject}" lets it go`
}
