/**
 * The two kinds of policies that a cluster may have, as its API serves them.
 *
 * What must stay true: as in the CustomResourceDefinitions, which are made of this.
 *
 * Not here: their kinds and the annotation, which the fold knows (core/model/rule).
 */
import { policyResource } from '../../core/model/rule/annotate.ts'
import { CLUSTER_POLICY_KIND, POLICY_KIND } from '../../core/model/rule/policy-content.ts'

export const POLICY_GROUP: string = POLICY_KIND.group
export const POLICY_VERSION = 'v1alpha1'
export const POLICY_RESOURCES: readonly string[] = [
  policyResource(POLICY_KIND.kind),
  policyResource(CLUSTER_POLICY_KIND.kind),
]
