/**
 * The two kinds of policies that a cluster may have, as its API serves them.
 *
 * What must stay true: as in the CustomResourceDefinitions, which are made of this.
 *
 * Not here: their kinds and the annotation, which the fold knows (core/model/rule).
 */
import {
  CLUSTER_POLICY_KIND,
  ENFORCE_ANNOTATION,
  POLICY_KIND,
} from '../../core/model/rule/policy-content.ts'
import { shellWord } from '../../core/model/text.ts'

export const POLICY_GROUP: string = POLICY_KIND.group
export const POLICY_VERSION = 'v1alpha1'
export const POLICY_RESOURCES: readonly string[] = [
  policyResource(POLICY_KIND.kind),
  policyResource(CLUSTER_POLICY_KIND.kind),
]

/**
 * As a user of kubectl runs it: by its annotation the object's rule, named `NAMESPACE/NAME` or
 * `*\/NAME`, is enforced as it is; without a digest it is in dry run again.
 */
export function annotateCommand(rule: string, digest: string): string {
  const at = rule.indexOf('/')
  const [namespace, name] = [rule.slice(0, at), rule.slice(at + 1)]
  const isWide = namespace === '*'
  const kind = isWide ? CLUSTER_POLICY_KIND.kind : POLICY_KIND.kind
  const place = isWide ? '' : ` -n ${shellWord(namespace)}`
  const what = `${policyResource(kind)}.${POLICY_GROUP} ${shellWord(name)}`
  const change =
    digest === '' ? `${ENFORCE_ANNOTATION}-` : `--overwrite ${ENFORCE_ANNOTATION}=${digest}`
  return `kubectl annotate${place} ${what} ${change}`
}

export function policyResource(kind: string): string {
  return kind === CLUSTER_POLICY_KIND.kind ? 'clustercleanuppolicies' : 'cleanuppolicies'
}
