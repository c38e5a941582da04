/**
 * Reads the metadata of an object as an API server sends it, whole objects included, and keeps what Kinfold keeps.
 *
 * What must stay true: nothing of a body, of managedFields or of an annotation that is not on the list gets through. Metadata is read
 * exactly or not at all. An object beyond the caps keeps its identity, gets `HOLD_REFERENCE` as its only reference and no finalizer:
 * its kind is served by nobody, so the fold finds it unresolvable and never has the object deleted or changed.
 */
import type { ObjectMeta, OwnerReference, Pair } from '../../core/object.ts'
import type { Resource } from '../../ports/cluster.ts'

/** Keys that are kept, in the order in which they are told. */
export interface AllowList {
  readonly labels: readonly string[]
  readonly annotations: readonly string[]
}

export const HOLD_REFERENCE: OwnerReference = {
  apiVersion: 'hold.kinfold.invalid/v1',
  kind: 'BeyondCaps',
  name: 'beyond-caps',
  uid: 'beyond-caps',
  controller: null,
  blockOwnerDeletion: null,
}

/** The API server bounds names, but nobody bounds what users type into references. */
const MAX_REFERENCES = 1_024
const MAX_FINALIZERS = 256
const MAX_FINALIZER_LENGTH = 320
const MAX_NAME_LENGTH = 253
const MAX_UID_LENGTH = 128
/** A DNS name, a slash and a label. */
const MAX_API_VERSION_LENGTH = 317
const MAX_KIND_LENGTH = 63
/** Of a value that is longer only the beginning is kept: that there is one may protect the object. */
const MAX_VALUE_LENGTH = 1_024

/** JSON as it comes: any field may be missing or of another type. */
export type Json = { readonly [key: string]: unknown }

/** Null when this is no object's metadata. */
export function readMeta(raw: unknown, resource: Resource, allow: AllowList): ObjectMeta | null {
  if (!isJson(raw) || !isJson(raw['metadata'])) return null
  const metadata = raw['metadata']
  const { name, uid, resourceVersion } = metadata
  const namespace = resource.scope === 'Cluster' ? '' : metadata['namespace']
  if (!isText(name) || !isText(uid) || !isText(resourceVersion)) return null
  if (typeof namespace !== 'string' || (namespace === '') !== (resource.scope === 'Cluster'))
    return null
  const references = readReferences(metadata['ownerReferences'])
  const finalizers = readFinalizers(metadata['finalizers'])
  const createdAt = readTime(metadata['creationTimestamp'])
  const deletedAt = readTime(metadata['deletionTimestamp'])
  if (references === null || finalizers === null) return null
  if (createdAt === undefined || deletedAt === undefined) return null
  const isHeld = isBeyondCaps(name, uid, references, finalizers)
  return {
    group: resource.group,
    kind: resource.kind,
    namespace,
    name,
    uid,
    version: resource.version,
    resource: resource.resource,
    scope: resource.scope,
    resourceVersion,
    generation: readNumber(metadata['generation']),
    createdAt,
    deletedAt,
    graceSeconds: readNumber(metadata['deletionGracePeriodSeconds']),
    finalizers: isHeld ? NONE : finalizers,
    ownerReferences: isHeld ? HELD : references,
    labels: pairs(metadata['labels'], allow.labels),
    annotations: pairs(metadata['annotations'], allow.annotations),
  }
}

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const NONE: readonly never[] = []
const HELD: readonly OwnerReference[] = [HOLD_REFERENCE]

function readReferences(raw: unknown): readonly OwnerReference[] | null {
  if (raw === undefined || raw === null) return NONE
  if (!Array.isArray(raw)) return null
  const references: OwnerReference[] = []
  for (const it of raw) {
    if (!isJson(it)) return null
    const { apiVersion, kind, name, uid } = it
    if (typeof apiVersion !== 'string' || typeof kind !== 'string') return null
    if (typeof name !== 'string' || typeof uid !== 'string') return null
    const controller = readFlag(it['controller'])
    const blockOwnerDeletion = readFlag(it['blockOwnerDeletion'])
    if (controller === undefined || blockOwnerDeletion === undefined) return null
    references.push({ apiVersion, kind, name, uid, controller, blockOwnerDeletion })
  }
  return references
}

function readFinalizers(raw: unknown): readonly string[] | null {
  if (raw === undefined || raw === null) return NONE
  if (!Array.isArray(raw)) return null
  return raw.every((it) => typeof it === 'string') ? raw : null
}

/** Undefined when it is no flag. */
function readFlag(raw: unknown): boolean | null | undefined {
  if (raw === undefined || raw === null) return null
  return typeof raw === 'boolean' ? raw : undefined
}

/** Undefined when it is no time. */
function readTime(raw: unknown): number | null | undefined {
  if (raw === undefined || raw === null) return null
  const time = typeof raw === 'string' ? Date.parse(raw) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}

function readNumber(raw: unknown): number | null {
  return typeof raw === 'number' ? raw : null
}

function isBeyondCaps(
  name: string,
  uid: string,
  references: readonly OwnerReference[],
  finalizers: readonly string[],
): boolean {
  return (
    name.length > MAX_NAME_LENGTH ||
    uid.length > MAX_UID_LENGTH ||
    references.length > MAX_REFERENCES ||
    finalizers.length > MAX_FINALIZERS ||
    references.some(isReferenceBeyondCaps) ||
    finalizers.some((it) => it.length > MAX_FINALIZER_LENGTH)
  )
}

function isReferenceBeyondCaps({ apiVersion, kind, name, uid }: OwnerReference): boolean {
  return (
    apiVersion.length > MAX_API_VERSION_LENGTH ||
    kind.length > MAX_KIND_LENGTH ||
    name.length > MAX_NAME_LENGTH ||
    uid.length > MAX_UID_LENGTH
  )
}

function pairs(raw: unknown, keys: readonly string[]): readonly Pair[] {
  if (keys.length === 0 || !isJson(raw)) return NONE
  const kept: Pair[] = []
  for (const key of keys) {
    const value = Object.hasOwn(raw, key) ? raw[key] : undefined
    if (typeof value === 'string') kept.push({ key, value: cut(value) })
  }
  return kept
}

function cut(value: string): string {
  // Half a character would come back from the log as another one.
  return value.length <= MAX_VALUE_LENGTH ? value : value.slice(0, MAX_VALUE_LENGTH).toWellFormed()
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
