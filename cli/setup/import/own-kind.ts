/**
 * Kinds of Kubernetes itself, by their plural names: other tools name them so, without a group.
 *
 * What must stay true: a name that is not among them is not guessed.
 */
import { likelyPlural } from '../../config/listed-kind.ts'
import { LeftOut } from './imported.ts'

const KINDS = `
  ConfigMap Endpoints LimitRange Namespace PersistentVolumeClaim Pod PodTemplate
  ReplicationController ResourceQuota Secret Service ServiceAccount
  ControllerRevision.apps DaemonSet.apps Deployment.apps ReplicaSet.apps StatefulSet.apps
  HorizontalPodAutoscaler.autoscaling CronJob.batch Job.batch Lease.coordination.k8s.io
  EndpointSlice.discovery.k8s.io Ingress.networking.k8s.io NetworkPolicy.networking.k8s.io
  PodDisruptionBudget.policy Role.rbac.authorization.k8s.io
  RoleBinding.rbac.authorization.k8s.io
`
  .trim()
  .split(/\s+/)

const BY_PLURAL = new Map(KINDS.map((kind) => [likelyPlural(kind) ?? '', kind]))

/** `Deployment` → `Deployment.apps`. Namespaced kinds, and Namespace. */
export function ownKind(kind: string): string {
  const found = KINDS.find((each) => each === kind || each.startsWith(`${kind}.`))
  if (found !== undefined) return found
  throw new LeftOut(`which group the kind ${JSON.stringify(kind)} is of, it does not say`)
}

/** `deployments`, `group` undefined for any; `''` is the core group. */
export function ownResource(resource: string, group: string | undefined): string {
  const wanted = group === undefined || group === '' ? resource : `${resource}.${group}`
  const found = [...BY_PLURAL].find(
    ([plural]) => plural === wanted || (group === undefined && plural.startsWith(`${resource}.`)),
  )
  if (found !== undefined) return found[1]
  throw new LeftOut(`which kind has the resource ${JSON.stringify(wanted)} is not known`)
}
