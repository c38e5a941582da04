/**
 * The shapes of the objects of the in-memory API server: JSON with typed metadata, and nothing
 * more. A body is opaque.
 *
 * What must stay true: an object that is stored is never changed in place; a change makes a new
 * one, so lists, histories and answers may share it.
 *
 * Not here: what a request may change (metadata.ts), how an object is written (representation.ts).
 */

export interface Reference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

export interface Metadata {
  readonly name: string
  readonly generateName?: string
  readonly namespace?: string
  readonly uid: string
  readonly resourceVersion: string
  readonly generation?: number
  readonly creationTimestamp: string
  readonly deletionTimestamp?: string
  readonly deletionGracePeriodSeconds?: number
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly ownerReferences?: readonly Reference[]
  readonly finalizers?: readonly string[]
}

export interface ApiObject {
  readonly kind: string
  readonly apiVersion: string
  readonly metadata: Metadata
  readonly [field: string]: unknown
}

export type JsonObject = Readonly<Record<string, unknown>>

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A field that should be an object; an empty one if it is not. */
export function objectAt(value: unknown, field: string): JsonObject {
  const found = isJsonObject(value) ? value[field] : undefined
  return isJsonObject(found) ? found : {}
}

export function arrayAt(value: unknown, field: string): readonly unknown[] {
  const found = isJsonObject(value) ? value[field] : undefined
  return Array.isArray(found) ? found : []
}

/** Equality of JSON values: order of fields does not matter, an undefined field is no field. */
export function isSameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false
    return a.every((item, index) => isSameJson(item, b[index]))
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false
  for (const field in a) if (!isSameJson(a[field], b[field])) return false
  for (const field in b) if (b[field] !== undefined && a[field] === undefined) return false
  return true
}

export function hasFinalizers(metadata: Metadata): boolean {
  return (metadata.finalizers?.length ?? 0) > 0
}

/** As the API prints times: whole seconds. */
export function timestampOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}
