/**
 * A few letters for a kind, so that a tree is read at a glance: the short names of the built-in
 * kinds, initials of all others.
 *
 * What must stay true: it is shown beside the full name of the kind or its title, and is never read
 * aloud instead of it.
 */
import { type ComponentChild, h } from 'preact'
import { kindText, lineOf, type Named } from './text.ts'

/** As `kubectl api-resources` has them, where it has one. */
const MARKS: Readonly<Record<string, string>> = {
  ...{ Pod: 'po', 'ReplicaSet.apps': 'rs', 'Deployment.apps': 'deploy', 'StatefulSet.apps': 'sts' },
  ...{ 'DaemonSet.apps': 'ds', 'Job.batch': 'job', 'CronJob.batch': 'cj', Service: 'svc' },
  ...{ ConfigMap: 'cm', Secret: 'sec', ServiceAccount: 'sa', Namespace: 'ns', Node: 'no' },
  ...{ PersistentVolumeClaim: 'pvc', PersistentVolume: 'pv', Endpoints: 'ep', Event: 'ev' },
  ...{ 'EndpointSlice.discovery.k8s.io': 'eps', 'Ingress.networking.k8s.io': 'ing' },
  ...{ 'NetworkPolicy.networking.k8s.io': 'netpol', 'ControllerRevision.apps': 'rev' },
  ...{ 'HorizontalPodAutoscaler.autoscaling': 'hpa', 'PodDisruptionBudget.policy': 'pdb' },
  ...{
    'CustomResourceDefinition.apiextensions.k8s.io': 'crd',
    'Lease.coordination.k8s.io': 'lease',
  },
}
const MOST_LETTERS = 6

export function markOf(of: Pick<Named, 'group' | 'kind'>): string {
  const known = MARKS[kindText(of)]
  if (known !== undefined) return known
  const initials = of.kind.replaceAll(/[^A-Z]/g, '')
  const short = initials.length > 1 ? initials : of.kind.slice(0, 3)
  return lineOf(short).slice(0, MOST_LETTERS)
}

export function KindMark({ of }: { readonly of: Pick<Named, 'group' | 'kind'> }): ComponentChild {
  const title = lineOf(kindText(of))
  return h('span', { class: 'kind-mark', 'aria-hidden': 'true', title }, markOf(of))
}
