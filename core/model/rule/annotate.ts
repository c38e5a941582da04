/**
 * The command by which a person has the rule of a policy's object carried out, and its resource.
 *
 * What must stay true: the resource is named with its group, since other tools have a CleanupPolicy
 * too; every name is one word of a shell.
 */
import { shellWord } from '../text.ts'
import { CLUSTER_POLICY_KIND, ENFORCE_ANNOTATION, POLICY_KIND } from './policy-content.ts'

/**
 * By its annotation the object's rule, named `NAMESPACE/NAME` or `*\/NAME`, is enforced as it is;
 * without a digest it is in dry run again.
 */
export function annotateCommand(rule: string, digest: string): string {
  const at = rule.indexOf('/')
  const [namespace, name] = [rule.slice(0, at), rule.slice(at + 1)]
  const { group, kind } = namespace === '*' ? CLUSTER_POLICY_KIND : POLICY_KIND
  const place = namespace === '*' ? '' : ` -n ${shellWord(namespace)}`
  const what = `${policyResource(kind)}.${group} ${shellWord(name)}`
  const change =
    digest === '' ? `${ENFORCE_ANNOTATION}-` : `--overwrite ${ENFORCE_ANNOTATION}=${digest}`
  return `kubectl annotate${place} ${what} ${change}`
}

export function policyResource(kind: string): string {
  return kind === CLUSTER_POLICY_KIND.kind ? 'clustercleanuppolicies' : 'cleanuppolicies'
}
