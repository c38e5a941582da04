/**
 * Which objects of a cluster are protected, by policy and by directive, and why: kinds, namespaces,
 * labels and annotations.
 *
 * What must stay true: decided from the object, the policy and the directives alone, so the gate
 * can decide the same for an object that it has read.
 *
 * Not here: protection that was revoked (former-protection.ts), what it holds (protection.ts), how
 * reapers apply it immediately (services/reaper/control.ts), which labels and annotations of an
 * object are kept (adapters/kubernetes/meta.ts).
 */
import { markOf } from '../model/mark.ts'
import type { Coordinates, ObjectMeta } from '../model/object.ts'
import type { Protection } from '../model/policy.ts'
import type { Evidence } from '../model/proof.ts'
import { has, isPlaceOf, isSubject, namespacesOf, readKeyValue } from '../model/subject.ts'
import { shellWord } from '../model/text.ts'
import type { ClusterFacts } from './facts.ts'
import { scopeFlag } from './scope-flag.ts'

/**
 * Spared by evidence `missing`, `not-found` and `bulk` in `guarded`: the components of the cluster
 * itself. Their cascades whose beginning was observed continue, or no update would ever end.
 */
export const SYSTEM_NAMESPACES: readonly string[] = [
  'kube-system',
  'kube-public',
  'kube-node-lease',
]

/** The protection that applies in one cluster. */
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
  /** As in scope-flag.ts. */
  readonly scope: string
}

/** Every reason begins with it. */
export const PREFIX = 'protected by '

export function guardingOf(facts: ClusterFacts): Guarding {
  const { policy } = facts.policy
  // In mode observe a directive holds nothing, as it cannot stop the other collector: a comparison
  // with that one must not count what a person ordered as a difference.
  const ordered = policy.mode === 'observe' ? [] : facts.directives.protections
  const subjects = ordered.filter(
    (each) => each.liftedAt === null && (each.cluster === '' || each.cluster === facts.cluster),
  )
  const guarded = subjects.map((each) => ({ ...each, scope: scopeFlag(each.cluster) }))
  const namespacesWhereUnseen = policy.preset === 'guarded' ? SYSTEM_NAMESPACES : []
  return { policy: policy.protection, subjects: guarded, namespacesWhereUnseen }
}

/** Why an object, as it is, may not be deleted; empty when it may. */
export function protectedNow(object: ObjectMeta, evidence: Evidence, guarding: Guarding): string {
  return markOn(object, guarding) || protectedPlace(object, evidence, guarding)
}

/** By its labels and annotations. */
export function markOn(object: ObjectMeta, { policy, subjects }: Guarding): string {
  const { labels, annotations } = object
  if (labels.length === 0 && annotations.length === 0) return ''
  const mark = markOf(object, policy.othersMarks)
  if (mark !== undefined) {
    const whose = mark.name === 'Kinfold' ? '' : ` of ${mark.name}`
    return `${PREFIX}${mark.on} ${mark.key}${whose}; it is released once that is removed`
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

/** By its coordinates alone: also for an object that nothing has read. */
export function protectedPlace(
  place: Coordinates,
  evidence: Evidence,
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
  if (evidence !== 'missing' && evidence !== 'not-found' && evidence !== 'bulk') return ''
  const unseen = `, since evidence ${evidence} is not enough; delete it by hand if that is right`
  const unseenIn = namespacesWhereUnseen.find((each) => within.includes(each))
  if (unseenIn !== undefined) return `${PREFIX}its namespace ${unseenIn}${unseen}`
  const isKind = policy.kinds.some((each) => each.kind === kind && each.group === group)
  return isKind ? `${PREFIX}its kind ${kind}${unseen}` : ''
}

function bySubject({ subject, who, why, scope }: GuardedSubject): string {
  const reason = why === '' ? '' : ` (${why})`
  return `${PREFIX}${who}${reason}; "kinfold unprotect ${shellWord(subject)}${scope}" releases it`
}
