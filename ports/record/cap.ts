/**
 * The limits for an object's fields, and the rest of an object beyond them: its identity, marked so
 * that no command is ever issued for it (F27).
 *
 * What must stay true: an object beyond the caps keeps its uid, gets `HOLD_REFERENCE` as its only
 * reference and no finalizer but `orphan`: the request to keep its dependents stays known. No
 * server can serve a kind of that name, so the reference is unresolvable for ever, and an object
 * with one is never deleted for lack of an owner.
 *
 * Not here: reading a server's answers (adapters/kubernetes/meta.ts).
 */

import type { ObjectMeta, OwnerReference } from '../../core/model/object.ts'
import { FINALIZER_ORPHAN } from '../../core/model/object.ts'
import { BEYOND_READS } from '../../core/model/rule/field-path.ts'
import type { PolicyContent } from '../../core/model/rule/policy-content.ts'

export const HOLD_REFERENCE: OwnerReference = {
  apiVersion: 'hold.kinfold.invalid/v1',
  // Kinds are words without spaces.
  kind: 'beyond caps',
  name: 'beyond-caps',
  uid: 'beyond-caps',
  controller: null,
  blockOwnerDeletion: null,
}

/**
 * The API server bounds names, mostly, but no server bounds the texts that users type into
 * references. Characters, unless it says bytes.
 */
const MOST_FINALIZERS = 256
const FINALIZER_LENGTH = 320
export const NAME_LENGTH = 253
export const UID_LENGTH = 128
/** How the digests begin that stand for longer ones in references (adapters/kubernetes/meta.ts). */
export const DIGEST_OF_UID = 'beyond-caps:sha256:'
export const DIGEST_OF_NAME = 'beyond-caps/sha256/'
/** A DNS name, a slash and a label. */
const API_VERSION_LENGTH = 317
const KIND_LENGTH = 63
/** Of the keys that are kept at all: protection may depend on one, so none is left out. */
export const LABEL_LENGTH = 63
export const ANNOTATION_LENGTH = 1_024
/**
 * The bytes of references and finalizers in the largest record about an object: a DELETE, which has
 * each reference and also a claim that its owner is absent. The rest of a record's limit
 * (ports/record/record-limit.ts) is for its other fields. etcd takes 1.5 MiB of an object.
 * References as controllers write them are within this cap up to there, some 20,000 of them; so are
 * 25,000 of the shortest that fit into JSON of that size, in a namespace with a name of usual
 * length.
 */
const RECORD_BYTES = 6 * 1_024 * 1_024
/**
 * Of a reference in a DELETE, beside its own texts, again in the claim, and the namespace: lengths,
 * flags, an offset of its basis, and a resource and a version of 63 bytes.
 */
const REFERENCE_BYTES = 168
/** No UTF-16 unit takes more in UTF-8. */
const UNIT_BYTES = 3

/** So few references and finalizers, each within its own cap, are far below the cap of a record. */
const FEW = 32

export function isBeyondCaps(object: ObjectMeta): boolean {
  const { name, uid, ownerReferences, finalizers, labels, annotations } = object
  if (name.length > NAME_LENGTH || uid.length > UID_LENGTH) return true
  if (finalizers.length > MOST_FINALIZERS) return true
  if (ownerReferences.some(isReferenceBeyondCaps)) return true
  if (finalizers.some(({ length }) => length > FINALIZER_LENGTH)) return true
  if (labels.some(({ value }) => value.length > LABEL_LENGTH)) return true
  if (annotations.some(({ value }) => value.length > ANNOTATION_LENGTH)) return true
  if (ownerReferences.length + finalizers.length <= FEW) return false
  return bytesOf(object) > RECORD_BYTES
}

/**
 * The kept part of one that is: as an owner it exists, or orphans its dependents; as a dependent it
 * stays, also for every rule.
 */
export function identityOf(object: ObjectMeta): ObjectMeta {
  const { name, finalizers } = object
  return {
    ...object,
    name: name.slice(0, NAME_LENGTH).toWellFormed(),
    finalizers: finalizers.includes(FINALIZER_ORPHAN) ? [FINALIZER_ORPHAN] : [],
    ownerReferences: [HOLD_REFERENCE],
    labels: [],
    annotations: [],
    // Also for rules that read nothing in addition: what protects it may be left out here.
    projected: { reads: BEYOND_READS, fields: [], policy: null },
  }
}

/** Bytes of a rule of an object as JSON: so many rules as a cluster may have fit into a record. */
const POLICY_BYTES = 16 * 1_024
const PROBLEM_LENGTH = 1_024

/** A rule that is too long is refused, as one with any other mistake. */
export function cappedPolicy(policy: PolicyContent): PolicyContent {
  const { rule, problem, account } = policy
  const length = utf8Bytes(JSON.stringify([rule, account]))
  if (length > POLICY_BYTES) {
    const text = `the rule has ${length} bytes as JSON, at most ${POLICY_BYTES}`
    return { rule: null, problem: text, account: '' }
  }
  return { rule, problem: problem.slice(0, PROBLEM_LENGTH).toWellFormed(), account }
}

/**
 * A text of it is not known: no patch can compare it with the stored one
 * (services/reaper/decide/guard.ts).
 */
export function isKnownByDigest({ uid, name }: OwnerReference): boolean {
  return uid.startsWith(DIGEST_OF_UID) || name.startsWith(DIGEST_OF_NAME)
}

function isReferenceBeyondCaps({ apiVersion, kind, name, uid }: OwnerReference): boolean {
  return (
    apiVersion.length > API_VERSION_LENGTH ||
    kind.length > KIND_LENGTH ||
    name.length > NAME_LENGTH ||
    uid.length > UID_LENGTH
  )
}

/** In UTF-8, and more than it is where that is within the cap anyway. */
function bytesOf(object: ObjectMeta): number {
  const most = sizeOf(object, ({ length }) => length * UNIT_BYTES)
  return most <= RECORD_BYTES ? most : sizeOf(object, utf8Bytes)
}

function sizeOf(
  { namespace, ownerReferences, finalizers }: ObjectMeta,
  measure: (text: string) => number,
): number {
  const each = REFERENCE_BYTES + measure(namespace)
  let bytes = 0
  for (const { apiVersion, kind, name, uid } of ownerReferences) {
    bytes += each + 2 * (measure(apiVersion) + measure(kind) + measure(name) + measure(uid))
  }
  for (const finalizer of finalizers) bytes += measure(finalizer)
  return bytes
}

function utf8Bytes(text: string): number {
  let bytes = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    // A pair of surrogates is four bytes, two for each.
    const isSurrogate = unit >= 0xd800 && unit <= 0xdfff
    bytes += unit < 0x80 ? 1 : unit < 0x800 || isSurrogate ? 2 : UNIT_BYTES
  }
  return bytes
}
