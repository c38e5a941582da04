/**
 * What beside an object decides by a rule, in a small world: the others of its group, of which the
 * newest stay, the Node that it names, and the policy that has the rule.
 *
 * What must stay true: it reads the cluster alone, and nothing of the fold.
 *
 * Not here: when an object is due by itself (testing/model/rule-oracle.ts).
 */

import type { ObjectMeta } from '../../core/model/object.ts'
import { ENFORCE_ANNOTATION } from '../../core/model/rule/policy-content.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import { ruleDigest } from '../../core/model/rule/rule.ts'
import type { ModelCluster } from '../../testing/model/model-cluster.ts'
import { dueMsOf } from '../../testing/model/rule-oracle.ts'
import { ruledOf } from '../../testing/model/rule-state-check.ts'

/** Whether so many newer ones of its group are there as stay. By a rule that keeps none it is. */
export function isBeyond(rule: Rule, object: ObjectMeta, others: Iterable<ObjectMeta>): boolean {
  if (rule.keep === null) return true
  const group = groupOf(rule, object)
  const newer = [...others].filter((each) => {
    const isCounted = each.deletedAt === null && dueMsOf(rule, ruledOf(each)) !== undefined
    return isCounted && groupOf(rule, each) === group && isNewer(each, object)
  })
  return group !== undefined && newer.length >= rule.keep.newest
}

function groupOf({ keep }: Rule, object: ObjectMeta): string | undefined {
  const { group, kind, namespace, labels, ownerReferences } = object
  const own = (): string | undefined => {
    switch (keep?.by.type) {
      case 'cluster':
        return ''
      case 'namespace':
        return namespace
      case 'owner': {
        const owner = ownerReferences.find(({ controller }) => controller === true)
        return owner && `${namespace} ${owner.uid}`
      }
      case 'label': {
        const { key } = keep.by
        const label = labels.find((each) => each.key === key)
        return label && `${namespace} ${label.value}`
      }
      case undefined:
        return undefined
    }
  }
  const found = own()
  return found === undefined ? undefined : `${kind}.${group} ${found}`
}

function isNewer(one: ObjectMeta, other: ObjectMeta): boolean {
  const [a, b] = [one.createdAt ?? 0, other.createdAt ?? 0]
  return a > b || (a === b && one.uid > other.uid)
}

/** Whether the Node that it names is not there. By a rule that asks for none it is. */
export function namesNoNode({ absent }: Rule, object: ObjectMeta, cluster: ModelCluster): boolean {
  if (absent === null) return true
  const name = object.projected?.fields.find(({ key }) => key === absent.field)?.value ?? ''
  const { group, kind } = absent
  return name !== '' && cluster.at({ group, kind, namespace: '', name }) === undefined
}

/** Its annotation names the rule as it is. */
export function isEnforcedBy(policy: ObjectMeta | undefined, rule: Rule): boolean {
  const digest = ruleDigest(rule)
  const read = policy?.projected?.policy?.rule
  if (policy === undefined || policy.deletedAt !== null || read == null) return false
  const enforced = policy.annotations.find(({ key }) => key === ENFORCE_ANNOTATION)?.value
  return ruleDigest(read) === digest && enforced === digest
}
