/**
 * Protection that was revoked: by a policy, by a directive, or with a mark that a user removed. It
 * counts for ten minutes more, but in mode observe: nothing was held there.
 *
 * What must stay true: each is remembered with the fact that revoked it, so that none is lost when
 * several are revoked one after the other.
 *
 * Not here: what is protected now (guarding.ts).
 */
import type { ClusterFacts } from '../graph/facts.ts'
import type { Guarding } from '../graph/guarding.ts'
import { guardingOf, markOn, protectedNow } from '../graph/guarding.ts'
import { scopeFlag } from '../graph/scope-flag.ts'
import { PROTECTED_FOR_MS } from '../model/constant.ts'
import type { Node } from '../model/node.ts'
import type { GroupKind, ObjectMeta } from '../model/object.ts'
import { isSamePairs, isSameReferences } from '../model/object.ts'
import type { Protection } from '../model/policy.ts'
import type { Evidence } from '../model/proof.ts'
import type { FormerProtection, PolicyState } from '../model/state.ts'
import { isSubject } from '../model/subject.ts'

/** The protection of a policy that lasts for a while when another policy replaces it. */
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

/** Until when a mark counts that this sighting no longer shows. */
export function protectedUntilAfter(
  facts: ClusterFacts,
  { object: before, protectedUntil }: Pick<Node, 'object' | 'protectedUntil'>,
  after: ObjectMeta,
  now: number,
): number | null {
  if (before.labels.length === 0 && before.annotations.length === 0) return protectedUntil
  if (isMarkedAlike(before, after)) return protectedUntil
  // A key that nothing asks for is no longer published: what a policy or a directive named until
  // just now is missing from the object after the next list.
  const all = lately(facts, now)
  const isTakenOff = markOn(before, all) !== '' && markOn(after, all) === ''
  return isTakenOff ? now + PROTECTED_FOR_MS : protectedUntil
}

/** Whether an object is a copy, whose marks count otherwise, is said by its references. */
function isMarkedAlike(before: ObjectMeta, after: ObjectMeta): boolean {
  return (
    isSamePairs(before.labels, after.labels) &&
    isSamePairs(before.annotations, after.annotations) &&
    isSameReferences(before.ownerReferences, after.ownerReferences)
  )
}

/** The log time until which a revoked protection still counts; null when nothing does. */
export function sparedUntil(
  facts: ClusterFacts,
  { object, protectedUntil }: Pick<Node, 'object' | 'protectedUntil'>,
  evidence: Evidence,
): number | null {
  const { policy, former } = facts.policy
  // Facts are remembered in each mode, so entering `enforce` within ten minutes spares the object.
  if (policy.preset !== 'guarded' || policy.mode === 'observe') return null
  let until = protectedUntil ?? 0
  if (former !== null && protectedNow(object, evidence, formerly(former)) !== '') {
    until = Math.max(until, former.until)
  }
  for (const each of facts.directives.protections) {
    if (each.liftedAt === null || (each.cluster !== '' && each.cluster !== facts.cluster)) continue
    if (isSubject(object, each.subject)) until = Math.max(until, each.liftedAt + PROTECTED_FOR_MS)
  }
  return until > (facts.state?.now ?? 0) ? until : null
}

/** The present protection, and revoked protection that still counts. */
function lately(facts: ClusterFacts, now: number): Guarding {
  const guarding = guardingOf(facts)
  const { former } = facts.policy
  const isNew = (liftedAt: number | null): boolean =>
    liftedAt === null || liftedAt + PROTECTED_FOR_MS > now
  const subjects = facts.directives.protections.filter(
    (each) => isNew(each.liftedAt) && (each.cluster === '' || each.cluster === facts.cluster),
  )
  const isOver = former === null || former.until <= now
  const policy = isOver ? guarding.policy : bothOf(former.protection, guarding.policy)
  const scoped = subjects.map((each) => ({ ...each, scope: scopeFlag(each.cluster) }))
  return { ...guarding, policy, subjects: scoped }
}

function formerly({ protection }: FormerProtection): Guarding {
  return { policy: protection, subjects: [], namespacesWhereUnseen: [] }
}
