/**
 * The metadata that a write may contain: fields that only the server sets, refusals (B70, B71), and
 * which differences count as a change.
 *
 * What must stay true: uid, creation and deletion are the server's; nothing that arrives in a body
 * can set or clear them.
 *
 * Not here: spec and status, which are opaque (write.ts).
 */
import { FINALIZER_FOREGROUND, FINALIZER_ORPHAN } from '../../../../core/model/object.ts'
import { DEFINITION, type Kind } from '../kind.ts'
import {
  type ApiObject,
  isJsonObject,
  isSameJson,
  type JsonObject,
  type Metadata,
  objectAt,
  type Reference,
} from '../object.ts'
import { badRequest, type Cause, invalid } from '../status.ts'

const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
const SUBDOMAIN_RULE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
/** These names are any one segment of a path. */
const FREE_NAMES = 'rbac.authorization.k8s.io'
const STANDARD_FINALIZERS: ReadonlySet<string> = new Set([
  FINALIZER_ORPHAN,
  FINALIZER_FOREGROUND,
  'kubernetes',
])

export interface Checked {
  readonly object: ApiObject
  /** For the Warning header. */
  readonly warnings: readonly string[]
}

/**
 * The body of a write as an object of this kind, with what the server would not take from it left
 * out.
 */
export function readObject(body: JsonObject, kind: Kind, apiVersion: string): ApiObject {
  if (kind.custom && typeof body['kind'] !== 'string') {
    const must = `the object provided is unrecognized (must be of type ${kind.kind})`
    throw badRequest(`${must}: Object 'Kind' is missing in '${JSON.stringify(body).slice(0, 100)}'`)
  }
  if (body['kind'] !== undefined && body['kind'] !== kind.kind) {
    throw badRequest(
      `${body['kind']} in version "${body['apiVersion']}" cannot be handled as a ${kind.kind}`,
    )
  }
  if (body['apiVersion'] !== undefined && body['apiVersion'] !== apiVersion) {
    throw badRequest(
      `the API version in the data (${body['apiVersion']}) does not match the expected API version (${apiVersion})`,
    )
  }
  const given: Record<string, unknown> = { ...objectAt(body, 'metadata') }
  for (const field of ['managedFields', 'selfLink']) delete given[field]
  for (const field of Object.keys(given)) if (isEmpty(given[field])) delete given[field]
  for (const field of ['ownerReferences', 'finalizers']) checkList(given[field], field)
  return { ...body, kind: kind.kind, apiVersion, metadata: given as unknown as Metadata }
}

/** Metadata of a new object: the identity is the server's, the rest the client's. */
export function newMetadata(
  kind: Kind,
  given: Metadata,
  identity: Pick<Metadata, 'name' | 'uid' | 'creationTimestamp'> & { readonly namespace: string },
): Metadata {
  const { deletionTimestamp: _1, deletionGracePeriodSeconds: _2, namespace: _3, ...rest } = given
  const { name, namespace, uid, creationTimestamp } = identity
  const generation = kind.countsGenerations ? 1 : given.generation
  return {
    ...rest,
    name,
    ...(namespace !== '' && { namespace }),
    uid,
    resourceVersion: '',
    ...(generation !== undefined && { generation }),
    creationTimestamp,
  }
}

/** Metadata after an update: fields that only the server sets do not change. */
export function updatedMetadata(before: Metadata, given: Metadata): Metadata {
  const {
    creationTimestamp: _1,
    deletionTimestamp: _2,
    deletionGracePeriodSeconds: _3,
    generation: _4,
    ...rest
  } = given
  const { deletionTimestamp, deletionGracePeriodSeconds, generation } = before
  return {
    ...rest,
    name: before.name,
    ...(before.namespace !== undefined && { namespace: before.namespace }),
    ...(before.generateName !== undefined && { generateName: before.generateName }),
    uid: before.uid,
    resourceVersion: before.resourceVersion,
    ...(generation !== undefined && { generation }),
    creationTimestamp: before.creationTimestamp,
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    ...(deletionGracePeriodSeconds !== undefined && { deletionGracePeriodSeconds }),
  }
}

/**
 * Throws Invalid with all that is wrong; drops exact duplicates of references with a warning (B71).
 */
export function checkObject(kind: Kind, object: ApiObject): Checked {
  const { metadata } = object
  const causes = [
    ...nameCauses(kind, metadata),
    ...referenceCauses(metadata.ownerReferences ?? []),
    ...finalizerCauses(kind, metadata.finalizers ?? []),
  ]
  if (causes.length > 0) throw invalid(kind, metadata.name ?? '', causes)
  const { ownerReferences = [] } = metadata
  /** By uid: an object may have tens of thousands. */
  const earlier = new Map<unknown, unknown[]>()
  const distinct = ownerReferences.filter((reference) => {
    const alike = earlier.get(reference.uid) ?? []
    if (alike.some((it) => isSameJson(it, reference))) return false
    alike.push(reference)
    earlier.set(reference.uid, alike)
    return true
  })
  const warnings = kind.warning === '' ? [] : [kind.warning]
  if (distinct.length === ownerReferences.length) return { object, warnings }
  const twice = ownerReferences.filter((reference) => !distinct.includes(reference))
  const uids = [...new Set(twice.map(({ uid }) => uid))].join(', ')
  const warning = `.metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${uids}`
  return {
    object: { ...object, metadata: { ...metadata, ownerReferences: distinct } },
    warnings: [...warnings, warning],
  }
}

/**
 * The limits of an update: it may not change the identity, or add a finalizer to an object that is
 * being deleted (B70).
 */
export function checkUpdate(kind: Kind, before: Metadata, given: Metadata): void {
  const causes: Cause[] = []
  if (given.uid !== undefined && given.uid !== before.uid) {
    const message = `Invalid value: "${given.uid}": field is immutable`
    causes.push({ reason: 'FieldValueInvalid', message, field: 'metadata.uid' })
  }
  const added = (given.finalizers ?? []).filter((it) => !before.finalizers?.includes(it))
  if (before.deletionTimestamp !== undefined && added.length > 0) {
    const list = added.map((finalizer) => `"${finalizer}"`).join(', ')
    const message = `Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`
    causes.push({ reason: 'FieldValueForbidden', message, field: 'metadata.finalizers' })
  }
  if (causes.length > 0) throw invalid(kind, before.name, causes)
}

function checkList(value: unknown, field: string): void {
  if (value === undefined || Array.isArray(value)) return
  throw badRequest(`cannot unmarshal ObjectMeta.metadata.${field}: it is no list`)
}

function nameCauses(kind: Kind, { name }: Metadata): readonly Cause[] {
  if (kind.group === FREE_NAMES || SUBDOMAIN.test(name)) return []
  const message = `Invalid value: "${name}": ${SUBDOMAIN_RULE}`
  return [{ reason: 'FieldValueInvalid', message, field: 'metadata.name' }]
}

function referenceCauses(references: readonly Reference[]): readonly Cause[] {
  const field = 'metadata.ownerReferences'
  const causes: Cause[] = []
  for (const reference of references) {
    if (!isJsonObject(reference)) throw badRequest(`${field}: not an object`)
    const { apiVersion, kind } = reference
    if (!apiVersion) causes.push(empty(`${field}.apiVersion`, 'version must not be empty'))
    for (const part of ['kind', 'name', 'uid'] as const) {
      if (!reference[part]) causes.push(empty(`${field}.${part}`, 'must not be empty'))
    }
    if (kind === 'Event' && (apiVersion === 'v1' || apiVersion?.startsWith('events.k8s.io/'))) {
      const message = `Invalid value: ${JSON.stringify(reference)}: ${apiVersion}, Kind=Event is disallowed from being an owner`
      causes.push({ reason: 'FieldValueInvalid', message, field })
    }
  }
  const [one, other] = references.filter(({ controller }) => controller === true)
  if (one !== undefined && other !== undefined) {
    const message = `Invalid value: ${JSON.stringify(references)}: Only one reference can have Controller set to true. Found "true" in references for ${one.kind}/${one.name} and ${other.kind}/${other.name}`
    causes.push({ reason: 'FieldValueInvalid', message, field })
  }
  return causes
}

function finalizerCauses(kind: Kind, finalizers: readonly string[]): readonly Cause[] {
  const causes: Cause[] = []
  finalizers.forEach((finalizer, at) => {
    if (finalizer.includes('/') || STANDARD_FINALIZERS.has(finalizer)) return
    // CustomResourceDefinitions and custom resources may have finalizers of any name.
    if (kind.custom || kind === DEFINITION) return
    const message = `Invalid value: "${finalizer}": name is neither a standard finalizer name nor is it fully qualified`
    causes.push({ reason: 'FieldValueInvalid', message, field: `metadata.finalizers[${at}]` })
  })
  if (finalizers.includes(FINALIZER_ORPHAN) && finalizers.includes(FINALIZER_FOREGROUND)) {
    const message = `Invalid value: ${JSON.stringify(finalizers)}: finalizer ${FINALIZER_ORPHAN} and ${FINALIZER_FOREGROUND} cannot be both set`
    causes.push({ reason: 'FieldValueInvalid', message, field: 'metadata.finalizers' })
  }
  return causes
}

function empty(field: string, why: string): Cause {
  return { reason: 'FieldValueInvalid', message: `Invalid value: "": ${why}`, field }
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return true
  return typeof value === 'object' && Object.keys(value).length === 0
}
