/**
 * Makes of an object as it was one that a server takes as new.
 *
 * What must stay true: nothing that only a server or another object can give is sent: a uid, a
 * version, an address, a place on a node. All that a person wrote stays. The status stays too: a
 * server drops it by itself wherever it is not a person's to write.
 *
 * Not here: which owners it names (restore-plan.ts), what its mark says
 * (restored-mark.ts).
 */
import type { OwnerReference } from '../../core/model/object.ts'
import { isObject, type JsonObject } from '../../runtime/exact-json.ts'

/** Of the metadata: given by the server, or said of the delete. */
const SERVERS = [
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
  'ownerReferences',
  'finalizers',
  'selfLink',
]
/**
 * Of a DELETE with a policy, whose object was held until its dependents were dealt with: on a new
 * object they would be that policy again.
 */
const POLICIES = ['foregroundDeletion', 'orphan']
/** A volume's binder would take these for its own word. */
const BOUND = ['pv.kubernetes.io/bind-completed', 'pv.kubernetes.io/bound-by-controller']
/** A Job's controller names itself by them, by its uid. */
const JOB_LABELS = [
  'controller-uid',
  'batch.kubernetes.io/controller-uid',
  'job-name',
  'batch.kubernetes.io/job-name',
]

/** Null: it is left out. */
export interface Annotation {
  readonly key: string
  readonly value: string | null
}

export function freshObject(
  body: JsonObject,
  references: readonly OwnerReference[],
  marks: readonly Annotation[],
): JsonObject {
  const metadata = child(body, 'metadata')
  const replaced = marks.map(({ key }) => key)
  const written = without(child(metadata, 'annotations'), [...BOUND, ...replaced])
  const set = marks.flatMap(({ key, value }) => (value === null ? [] : [[key, value]]))
  const annotations = { ...written, ...Object.fromEntries(set) }
  const owners = references.length === 0 ? {} : { ownerReferences: references.map(storedEntry) }
  const finalizers = finalizersOf(metadata)
  const spec = body['spec']
  return {
    ...body,
    metadata: { ...without(metadata, SERVERS), annotations, ...owners, ...finalizers },
    ...(isObject(spec) && { spec: freshSpec(`${body['apiVersion']} ${body['kind']}`, spec) }),
  }
}

function finalizersOf({ finalizers }: JsonObject): JsonObject {
  if (!Array.isArray(finalizers)) return {}
  const kept = finalizers.filter((each) => !POLICIES.includes(each))
  return kept.length === 0 ? {} : { finalizers: kept }
}

/** Of the known kinds only: which fields of a user's own kind are of this sort is unknown here. */
function freshSpec(kind: string, spec: JsonObject): JsonObject {
  switch (kind) {
    case 'v1 Pod':
      return without(spec, ['nodeName'])
    case 'v1 Service':
      return spec['clusterIP'] === 'None'
        ? spec
        : without(spec, ['clusterIP', 'clusterIPs', 'healthCheckNodePort'])
    case 'batch/v1 Job':
      return spec['manualSelector'] === true ? spec : freshJob(spec)
    default:
      return spec
  }
}

function freshJob(spec: JsonObject): JsonObject {
  const template = child(spec, 'template')
  const metadata = child(template, 'metadata')
  const labels = without(child(metadata, 'labels'), JOB_LABELS)
  return {
    ...without(spec, ['selector']),
    template: { ...template, metadata: { ...metadata, labels } },
  }
}

/** A field that was absent stays so: absent and false differ. */
export function storedEntry(reference: OwnerReference): JsonObject {
  const { controller, blockOwnerDeletion, apiVersion, kind, name, uid } = reference
  return {
    apiVersion,
    kind,
    name,
    uid,
    ...(controller !== null && { controller }),
    ...(blockOwnerDeletion !== null && { blockOwnerDeletion }),
  }
}

function child(object: JsonObject, key: string): JsonObject {
  const value = object[key]
  return isObject(value) ? value : {}
}

function without(object: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)))
}
