/**
 * Reads the metadata of an object as an API server sends it, whole objects included, and keeps the
 * fields that Kinfold needs.
 *
 * What must stay true: nothing of a body, of managedFields or of an annotation gets through but
 * what the projection names. Metadata is read exactly or not at all; the returned object can be
 * written and read again unchanged. Of an object beyond the caps only its identity is kept
 * (ports/record/cap.ts). An object has `projected` of a digest only if all was read that the digest
 * is of.
 *
 * Not here: how a field is read (field.ts).
 */

import { createHash } from 'node:crypto'
import {
  groupOf,
  type ObjectMeta,
  type OwnerReference,
  type Pair,
  type Projected,
} from '../../core/model/object.ts'
import { BEYOND_READS, MOST_PROJECTED } from '../../core/model/rule/field-path.ts'
import { ENFORCE_ANNOTATION } from '../../core/model/rule/policy-content.ts'
import type { KindReads } from '../../core/model/rule/rule.ts'
import type { Resource } from '../../ports/cluster.ts'
import {
  ANNOTATION_LENGTH,
  cappedPolicy,
  DIGEST_OF_NAME,
  DIGEST_OF_UID,
  identityOf,
  isBeyondCaps,
  LABEL_LENGTH,
  NAME_LENGTH,
  UID_LENGTH,
} from '../../ports/record/cap.ts'
import { MARK_LENGTH } from '../../ports/record/manager-mark.ts'
import { type Projection, readsIn } from '../../ports/record/projection.ts'
import { isCompiled, mayBeRead, needsBody, readFields } from './field.ts'
import { isJson, type Json } from './json.ts'
import { readUses } from './use.ts'

/**
 * An object whose identity cannot be published is no object: no server returns one, and its fields
 * would be a key or a part of one.
 */
const MOST_IDENTITY_LENGTH = 1_024

/** The kind of an object that has its metadata alone. */
const METADATA_ALONE = 'PartialObjectMetadata'

/** Null when this is no object's metadata. `isBare`: it is from a list of metadata alone. */
export function readMeta(
  raw: unknown,
  resource: Resource,
  projection: Projection,
  isBare: boolean = false,
): ObjectMeta | null {
  if (!isJson(raw) || !isJson(raw['metadata'])) return null
  const metadata = raw['metadata']
  const { name, uid, resourceVersion } = metadata
  // Where one has a namespace that should not, the kind was created again in another scope:
  // discovery will show it.
  const namespace = metadata['namespace'] ?? (resource.scope === 'Cluster' ? '' : undefined)
  if (!isText(name) || !isText(uid) || !isText(resourceVersion)) return null
  if (typeof namespace !== 'string' || (namespace === '') !== (resource.scope === 'Cluster'))
    return null
  if ([namespace, uid, resourceVersion].some((text) => text.length > MOST_IDENTITY_LENGTH))
    return null
  const references = readReferences(metadata['ownerReferences'])
  const finalizers = readFinalizers(metadata['finalizers'])
  const createdAt = readTime(metadata['creationTimestamp'])
  const deletedAt = readTime(metadata['deletionTimestamp'])
  if (references === null || finalizers === null) return null
  if (createdAt === undefined || deletedAt === undefined) return null
  const reads = readsIn(projection, { ...resource, namespace })
  const ruled = reads !== undefined && mayBeRead(reads) ? reads : NOTHING
  const labels = keptPairs(metadata['labels'], projection.labels, {
    keys: ruled.labels,
    most: LABEL_LENGTH,
    marks: projection.marks.labels,
  })
  const annotations = keptPairs(metadata['annotations'], projection.annotations, {
    keys: isCompiled(projection, resource)
      ? [...ruled.annotations, ENFORCE_ANNOTATION]
      : ruled.annotations,
    most: ANNOTATION_LENGTH,
    marks: projection.marks.annotations,
  })
  const isCut = labels.isCut || annotations.isCut
  const object: ObjectMeta = {
    group: resource.group,
    kind: resource.kind,
    namespace: wellFormed(namespace),
    name: wellFormed(name),
    uid: wellFormed(uid),
    version: resource.version,
    resource: resource.resource,
    scope: resource.scope,
    resourceVersion: wellFormed(resourceVersion),
    generation: readNumber(metadata['generation']),
    createdAt,
    deletedAt,
    graceSeconds: readNumber(metadata['deletionGracePeriodSeconds']),
    finalizers,
    ownerReferences: references,
    labels: labels.pairs,
    annotations: annotations.pairs,
    projected: reads === undefined ? null : isCut ? BEYOND : projectedOf(raw, reads, isBare),
  }
  const compiled = isCut || isBare ? object : withPolicy(object, raw, projection)
  return isBeyondCaps(compiled) ? identityOf(compiled) : compiled
}

/** Of a policy, that came whole: with its rule. */
function withPolicy(object: ObjectMeta, raw: Json, projection: Projection): ObjectMeta {
  const { policyContent } = projection
  if (policyContent === undefined || !isCompiled(projection, object)) return object
  if (raw['kind'] === METADATA_ALONE) return object
  const { reads, fields } = object.projected ?? { reads: '', fields: NONE }
  return { ...object, projected: { reads, fields, policy: cappedPolicy(policyContent(raw)) } }
}

const BEYOND: Projected = { reads: BEYOND_READS, fields: [], policy: null }

/** Null where there are fields to be read, and metadata alone came. */
function projectedOf(raw: Json, reads: KindReads, isBare: boolean): Projected | null {
  if (!mayBeRead(reads)) return BEYOND
  if (needsBody(reads) && (isBare || raw['kind'] === METADATA_ALONE)) return null
  const fields = readFields(raw, reads)
  if (fields === null) return BEYOND
  const { uses = [], digest } = reads
  if (uses.length === 0) return { reads: digest, fields, policy: null }
  const length = fields.reduce((sum, { key, value }) => sum + key.length + value.length, 0)
  const used = readUses(raw, uses, MOST_PROJECTED - length)
  return { reads: digest, fields: [...fields, ...used], policy: null }
}

const NONE: readonly never[] = []
const NOTHING = { labels: NONE, annotations: NONE }

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
    references.push({
      apiVersion: wellFormed(apiVersion),
      kind: wellFormed(kind),
      name: nameOf(wellFormed(name), groupOf(apiVersion)),
      uid: uidOf(wellFormed(uid)),
      ...{ controller, blockOwnerDeletion },
    })
  }
  return references
}

/**
 * A text that no object can have: the reference names an owner that never was, and is decided like
 * any other such, so a digest stands for it. A patch removes such an entry by the object's version.
 *
 * A uid is made by the API server. An aggregated one may make longer ones: what is found with such
 * a uid proves nothing (answer.ts).
 */
function uidOf(text: string): string {
  return text.length <= UID_LENGTH ? text : DIGEST_OF_UID + digestOf(text)
}

/**
 * As a name the digest has a slash, which no path can have. Only in the core group is every name a
 * DNS name: elsewhere a living owner may have a longer one (a ClusterRole, an object of an
 * aggregated server), so the name stays, and with it the object is beyond the caps.
 */
function nameOf(text: string, group: string): string {
  const isOfNobody = text.length > NAME_LENGTH && group === ''
  return isOfNobody ? DIGEST_OF_NAME + digestOf(text) : text
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function readFinalizers(raw: unknown): readonly string[] | null {
  if (raw === undefined || raw === null) return NONE
  if (!Array.isArray(raw)) return null
  return raw.every((it) => typeof it === 'string') ? raw.map(wellFormed) : null
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
  return time >= FIRST_TIME && time <= LAST_TIME ? time : undefined
}

/** The years 0 to 9999. */
const FIRST_TIME = Date.UTC(-1, 12)
const LAST_TIME = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/** JSON has numbers that are no counts: 1e400, 0.5. */
function readNumber(raw: unknown): number | null {
  return Number.isSafeInteger(raw) && (raw as number) >= 0 ? (raw as number) : null
}

/** Halves of characters would be others once they were written and read again. */
function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed()
}

interface Ruled {
  /** Exact keys. */
  readonly keys: readonly string[]
  readonly most: number
  /** Exact keys, too. */
  readonly marks: readonly string[]
}

/**
 * `keys` of the projection first, then those that rules read in addition. `isCut`: one of these is
 * too long. It holds nothing, as one that may protect does: no rule decides about the object.
 */
function keptPairs(raw: unknown, keys: readonly string[], ruled: Ruled) {
  const kept = pairs(raw, keys)
  const more = pairs(
    raw,
    ruled.keys.filter((key) => !key.endsWith('/') && !kept.some((pair) => pair.key === key)),
  )
  const short = more.filter(({ value }) => value.length <= ruled.most)
  const isCut = short.length < more.length
  const read = short.length === 0 ? kept : [...kept, ...short]
  const left = ruled.marks.filter(
    (key) => !ruled.keys.includes(key) && !kept.some((pair) => pair.key === key),
  )
  const most = Math.min(ruled.most, MARK_LENGTH)
  const marks = pairs(raw, left).filter(({ value }) => value.length <= most)
  return { pairs: marks.length === 0 ? read : [...read, ...marks], isCut }
}

function pairs(raw: unknown, keys: readonly string[]): readonly Pair[] {
  if (keys.length === 0 || !isJson(raw)) return NONE
  const kept: Pair[] = []
  for (const key of keys.flatMap((each) => keysIn(raw, each))) {
    const value = Object.hasOwn(raw, key) ? raw[key] : undefined
    if (typeof value === 'string') kept.push({ key, value: wellFormed(value) })
  }
  return kept
}

/** Of a prefix some, each of a text that is short: nothing that is decided depends on any. */
function keysIn(raw: Json, key: string): readonly string[] {
  if (!key.endsWith('/')) return [key]
  return Object.keys(raw)
    .filter((each) => each.startsWith(key) && `${raw[each]}`.length <= PREFIXED_LENGTH)
    .sort()
    .slice(0, MOST_PREFIXED)
}

const MOST_PREFIXED = 64
/** A kind, a group and a name of the usual lengths. */
const PREFIXED_LENGTH = 640

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
