/**
 * Keys of annotations that a rule may set: marks that people and tools of their own read.
 *
 * What must stay true: no rule sets a key by which Kubernetes, Kinfold or a tool that deploys acts,
 * or that protects an object; whatever a log says, since a reaper asks here, too. The lock refuses
 * the same domains (cli/setup/lock-policy.ts).
 *
 * Not here: which key a rule names (ports/rule/rule-annotate.ts).
 */
import { ALL_MARKS } from '../mark.ts'

/** Each with all that end with a dot and it. */
export const ACTING_DOMAINS: readonly string[] = [
  ...['kubernetes.io', 'k8s.io', 'x-k8s.io', 'kinfold.dev', 'kinfold.io', 'openshift.io'],
  ...['helm.sh', 'argoproj.io', 'fluxcd.io', 'crossplane.io', 'kyverno.io', 'cert-manager.io'],
  ...['istio.io', 'karmada.io', 'kruise.io'],
]

/** Of a label or an annotation, in a domain of its own. */
const KEY =
  /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?)\/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/

/** Why no rule sets it; empty where one may. */
export function refusedKey(key: string): string {
  const domain = KEY.exec(key)?.[1]
  if (domain === undefined) return 'it is no key in a domain, such as example.com/stale'
  const acting = ACTING_DOMAINS.find((each) => domain === each || domain.endsWith(`.${each}`))
  if (acting !== undefined) return `keys of ${acting} have effects of their own`
  return ALL_MARKS.some((mark) => mark.key === key) ? 'it protects what has it' : ''
}
