/**
 * The fields that the server fills in at creation, for the few kinds where kubectl or a controller
 * would stumble without.
 *
 * Not here: full defaulting (bodies are opaque), values that depend on other objects.
 */
import { DEFINITION, type Kind, NAMESPACE } from '../kind.ts'
import { type ApiObject, objectAt } from '../object.ts'
import { establishedStatus, kindOf } from '../registry.ts'
import { withMetadata } from '../storage.ts'
import { DEFINITION_FINALIZER } from './sweep.ts'

export function withDefaults(kind: Kind, object: ApiObject): ApiObject {
  if (kind === NAMESPACE) return asNamespace(object)
  if (kind === DEFINITION) return asDefinition(object)
  if (kind.custom) return object
  switch (kind.kind) {
    case 'Pod':
      return withFields(object, { restartPolicy: 'Always' }, { phase: 'Pending' })
    case 'Deployment':
    case 'ReplicaSet':
    case 'StatefulSet':
    case 'ReplicationController':
      return withFields(object, { replicas: 1 }, {})
    case 'Job':
      return withFields(object, { parallelism: 1, completions: 1, backoffLimit: 6 }, {})
    case 'CronJob':
      return withFields(object, { suspend: false }, {})
    case 'Service':
      return withFields(object, { type: 'ClusterIP' }, { loadBalancer: {} })
    case 'PersistentVolume':
    case 'PersistentVolumeClaim':
      return withFields(object, { volumeMode: 'Filesystem' }, { phase: 'Pending' })
    case 'Secret':
      return asSecret(object)
    default:
      return object
  }
}

function withFields(object: ApiObject, spec: object, status: object): ApiObject {
  return {
    ...object,
    spec: { ...spec, ...objectAt(object, 'spec') },
    status: { ...status, ...objectAt(object, 'status') },
  }
}

function asNamespace(object: ApiObject): ApiObject {
  const { name, labels } = object.metadata
  const labelled = withMetadata(object, {
    labels: { ...labels, 'kubernetes.io/metadata.name': name },
  })
  return { ...labelled, spec: { finalizers: ['kubernetes'] }, status: { phase: 'Active' } }
}

function asDefinition(object: ApiObject): ApiObject {
  const { creationTimestamp, finalizers = [] } = object.metadata
  const { singular, kind } = kindOf(object)
  const spec = objectAt(object, 'spec')
  const names = { singular, listKind: `${kind}List`, ...objectAt(spec, 'names') }
  return {
    ...withMetadata(object, { finalizers: [...finalizers, DEFINITION_FINALIZER] }),
    spec: { conversion: { strategy: 'None' }, ...spec, names },
    status: establishedStatus(object, creationTimestamp),
  }
}

function asSecret({ stringData, ...object }: ApiObject): ApiObject {
  const encoded = Object.entries(objectAt({ stringData }, 'stringData')).map(([field, value]) => [
    field,
    Buffer.from(String(value)).toString('base64'),
  ])
  const data = { ...objectAt(object, 'data'), ...Object.fromEntries(encoded) }
  const hasData = Object.keys(data).length > 0
  return { type: 'Opaque', ...(object as ApiObject), ...(hasData && { data }) }
}
