/**
 * The Scale of a workload: its replicas, seen alone.
 *
 * Not here: custom kinds' own paths to their replicas (theirs are taken to be `.spec.replicas`,
 * `.status.replicas`).
 */
import { type ApiObject, objectAt } from '../object.ts'

export function scaleOf(object: ApiObject): ApiObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata
  const labels = objectAt(objectAt(object['spec'], 'selector'), 'matchLabels')
  const selector = Object.entries(labels).map(([label, value]) => `${label}=${value}`)
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      uid,
      resourceVersion,
      creationTimestamp,
    },
    spec: { replicas: replicasIn(object, 'spec') },
    status: { replicas: replicasIn(object, 'status'), selector: selector.join(',') },
  }
}

/** The object with the replicas of a Scale; only they and the version count. */
export function fromScale(object: ApiObject, scale: object): ApiObject {
  const { replicas } = objectAt(scale, 'spec') as { readonly replicas?: unknown }
  const resourceVersion = String(objectAt(scale, 'metadata')['resourceVersion'] ?? '')
  return {
    ...object,
    metadata: { ...object.metadata, resourceVersion },
    spec: { ...objectAt(object, 'spec'), replicas },
  }
}

function replicasIn(object: ApiObject, part: 'spec' | 'status'): number {
  const { replicas } = objectAt(object, part) as { readonly replicas?: unknown }
  return typeof replicas === 'number' ? replicas : 0
}
