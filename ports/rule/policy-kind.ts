/**
 * The two kinds of policies that a cluster may have, as its API calls them.
 *
 * What must stay true: as in the CustomResourceDefinitions of deploy/, which a test compares.
 */
export const POLICY_GROUP = 'kinfold.dev'
export const POLICY_VERSION = 'v1alpha1'
export const NAMESPACED_POLICY = 'CleanupPolicy'
export const CLUSTER_POLICY = 'ClusterCleanupPolicy'

/** Its value is the digest of the rule that it enforces: an edited rule is in dry run again. */
export const ENFORCE_ANNOTATION = 'kinfold.dev/enforce'

export function policyResource(kind: string): string {
  return kind === CLUSTER_POLICY ? 'clustercleanuppolicies' : 'cleanuppolicies'
}
