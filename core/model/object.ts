/**
 * The nouns: clusters, objects, references and the places they name.
 *
 * What must stay true: a node's key is (cluster, uid); group, kind, scope, namespace and name are
 * attributes, a version is none. Objects are metadata and the few fields that rules declare: no
 * body, no managedFields, no last-applied-configuration ever gets in here.
 *
 * Not here: how an API server spells them (adapters/kubernetes), which partition is their home
 * (partition.ts).
 */
import { hash64 } from './hash.ts'
import type { GroupKind, PropagationPolicy } from './rule/group-kind.ts'
import type { PolicyContent } from './rule/policy-content.ts'
import { digestOf } from './rule/rule.ts'

export type { GroupKind, PropagationPolicy }

/**
 * The uid of a cluster's kube-system namespace. The configured name of a cluster is only a label.
 */
export type ClusterId = string

/** Any text that a user typed into a reference, so not always a UUID. */
export type Uid = string

/** Opaque, but decimal on every server we know; compare with `compareVersions`. */
export type ResourceVersion = string

export type Scope = 'Namespaced' | 'Cluster'

/** Where an owner reference points. `namespace` is empty for a cluster-scoped kind. */
export interface Coordinates extends GroupKind {
  readonly namespace: string
  readonly name: string
}

/**
 * `controller` and `blockOwnerDeletion` are null when absent: the test of a JSON Patch
 * distinguishes absent from false.
 */
export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: Uid
  readonly controller: boolean | null
  readonly blockOwnerDeletion: boolean | null
}

export interface Pair {
  readonly key: string
  readonly value: string
}

export interface ObjectMeta extends Coordinates {
  readonly uid: Uid
  /** The version it was seen under; not part of its identity. */
  readonly version: string
  /** Plural resource name in paths, such as `deployments`. */
  readonly resource: string
  readonly scope: Scope
  readonly resourceVersion: ResourceVersion
  readonly generation: number | null
  /** Milliseconds since 1970. */
  readonly createdAt: number | null
  readonly deletedAt: number | null
  readonly graceSeconds: number | null
  readonly finalizers: readonly string[]
  readonly ownerReferences: readonly OwnerReference[]
  /** An allow-list only; pairs and not a map, since keys are users' text. */
  readonly labels: readonly Pair[]
  readonly annotations: readonly Pair[]
  /** What rules read of it; null where none does, or where it was read without that. */
  readonly projected: Projected | null
}

/** The fields of an object that rules declare, as they were read. */
export interface Projected {
  /** `KindReads.digest`: all that was read, labels and annotations included. */
  readonly reads: string
  /** By their paths; a field that the object does not have is not among them. */
  readonly fields: readonly Pair[]
  /** Of a CleanupPolicy or a ClusterCleanupPolicy: its rule. Null for every other object. */
  readonly policy: PolicyContent | null
}

export const FINALIZER_ORPHAN = 'orphan'
export const FINALIZER_FOREGROUND = 'foregroundDeletion'

/** A collector removes these two; each of the others its own controller. */
export function isOfCollector(finalizer: string): boolean {
  return finalizer === FINALIZER_FOREGROUND || finalizer === FINALIZER_ORPHAN
}

export function foreignFinalizers(finalizers: readonly string[]): readonly string[] {
  return finalizers.filter((each) => !isOfCollector(each))
}

/** `apps/v1` gives `apps`, `v1` gives the core group. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/')
  return slash < 0 ? '' : apiVersion.slice(0, slash)
}

/** `apps/v1` gives `v1`. */
export function versionOf(apiVersion: string): string {
  return apiVersion.slice(apiVersion.indexOf('/') + 1)
}

export function apiVersionOf(group: string, version: string): string {
  return group === '' ? version : `${group}/${version}`
}

/**
 * No state in which it is being deleted is older. Milliseconds since 1970, by its server's clock;
 * null while it lives.
 */
export function deletionAskedAt({ deletedAt, graceSeconds }: ObjectMeta): number | null {
  return deletedAt === null ? null : Math.max(0, deletedAt - (graceSeconds ?? 0) * 1_000)
}

export function isSamePlace(a: Coordinates, b: Coordinates): boolean {
  return (
    a.name === b.name && a.kind === b.kind && a.namespace === b.namespace && a.group === b.group
  )
}

/** The same references, in the same order. */
export function isSameReferences(
  a: readonly OwnerReference[],
  b: readonly OwnerReference[],
): boolean {
  if (a === b) return true
  return a.length === b.length && a.every((each, index) => isSameReference(each, b[index]))
}

function isSameReference(a: OwnerReference, b: OwnerReference | undefined): boolean {
  if (b === undefined || a.uid !== b.uid || a.name !== b.name) return false
  if (a.kind !== b.kind || a.apiVersion !== b.apiVersion) return false
  return a.controller === b.controller && a.blockOwnerDeletion === b.blockOwnerDeletion
}

export function isSamePairs(a: readonly Pair[], b: readonly Pair[]): boolean {
  if (a === b) return true
  return (
    a.length === b.length &&
    a.every(({ key, value }, index) => key === b[index]?.key && value === b[index]?.value)
  )
}

/**
 * Orders two resourceVersions of one resource: negative, zero or positive; undefined when either is
 * not a decimal number, and then nothing may be concluded. (Comparable by KEP-5504, Kubernetes
 * 1.35; so in practice long before.)
 */
export function compareVersions(a: ResourceVersion, b: ResourceVersion): number | undefined {
  if (a === b) return 0
  if (!isDecimal(a) || !isDecimal(b)) return undefined
  if (a.length !== b.length) return a.length - b.length
  return a < b ? -1 : 1
}

function isDecimal(version: string): boolean {
  return /^(0|[1-9][0-9]*)$/.test(version)
}

/**
 * Hash of everything a fold reads from an object: all but resourceVersion, version and generation.
 * A `Touched` entry with an equal hash confirms that the content we hold is the content the server
 * holds.
 */
export function projectionHash(object: ObjectMeta): string {
  return hash64(
    JSON.stringify([
      object.group,
      object.kind,
      object.resource,
      object.scope,
      object.namespace,
      object.name,
      object.uid,
      object.createdAt,
      object.deletedAt,
      object.graceSeconds,
      object.finalizers,
      object.ownerReferences.map((reference) => [
        reference.apiVersion,
        reference.kind,
        reference.name,
        reference.uid,
        reference.controller,
        reference.blockOwnerDeletion,
      ]),
      object.labels.map((pair) => [pair.key, pair.value]),
      object.annotations.map((pair) => [pair.key, pair.value]),
      ...(object.projected === null ? [] : [projectedParts(object.projected)]),
    ]),
  )
}

function projectedParts({ reads, fields, policy }: Projected): unknown {
  const pairs = fields.map(({ key, value }) => [key, value])
  if (policy === null) return [reads, pairs]
  return [reads, pairs, policy.rule && digestOf(policy.rule), policy.problem, policy.account]
}
