/**
 * Which rules of a cluster's CleanupPolicies and ClusterCleanupPolicies are in force.
 *
 * What must stay true: fold and watcher decide alike from the same objects, since an object is read
 * for exactly the rules that are in force. A rule of a namespace is about that namespace alone. How
 * many there are is bounded, so no author of policies slows all others down.
 *
 * Not here: the state of the fold (core/observe/policy-object.ts), what is read for them
 * (services/watcher/kind/policy-reads.ts).
 */
import type { ObjectMeta, Uid } from '../object.ts'
import { CLUSTER_POLICY_KIND, isPolicyKind } from './policy-content.ts'
import type { Rule } from './rule.ts'

/** CleanupPolicies of a namespace, of all namespaces together, and ClusterCleanupPolicies. */
const MOST_OF_NAMESPACE = 20
const MOST_OF_NAMESPACES = 200
const MOST_OF_CLUSTER = 100

export interface RuledPolicy {
  readonly uid: Uid
  /** Empty for a ClusterCleanupPolicy. */
  readonly namespace: string
  readonly createdAt: number
  readonly rule: Rule
}

/** Null where the object has no rule that may be in force. */
export function ruleOfPolicy(object: ObjectMeta): Rule | null {
  const rule = object.projected?.policy?.rule ?? null
  if (rule === null || object.deletedAt !== null || !isPolicyKind(object)) return null
  return isOwn(object, rule) ? rule : null
}

/** As it counts for its age. */
export function ageOf({ createdAt }: Pick<ObjectMeta, 'createdAt'>): number {
  return createdAt ?? Number.MAX_SAFE_INTEGER
}

/** By its name; and a rule of a namespace is about no other one. */
function isOwn({ kind, namespace, name }: ObjectMeta, rule: Rule): boolean {
  if (kind === CLUSTER_POLICY_KIND.kind) return rule.name === `*/${name}`
  const [only, ...others] = rule.match.namespaces
  return rule.name === `${namespace}/${name}` && only === namespace && others.length === 0
}

/** The oldest first: one that is added takes the place of no other one. */
export function inForce<T extends RuledPolicy>(policies: readonly T[]): readonly T[] {
  const counts = new Map<string, number>()
  let ofNamespaces = 0
  return policies.toSorted(byAge).filter(({ namespace }) => {
    const count = counts.get(namespace) ?? 0
    if (count >= (namespace === '' ? MOST_OF_CLUSTER : MOST_OF_NAMESPACE)) return false
    if (namespace !== '' && ofNamespaces >= MOST_OF_NAMESPACES) return false
    counts.set(namespace, count + 1)
    if (namespace !== '') ofNamespaces += 1
    return true
  })
}

function byAge(a: RuledPolicy, b: RuledPolicy): number {
  if (a.createdAt !== b.createdAt) return a.createdAt - b.createdAt
  return a.uid < b.uid ? -1 : 1
}
