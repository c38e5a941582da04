/**
 * Applies the body of a PATCH by its content type and says how a bad one is refused.
 *
 * What must stay true: a failed test is a 422 with empty details, which distinguishes it from a
 * validation error; custom resources have no strategic merge.
 *
 * Not here: which fields may be changed (metadata.ts). Server-side apply is taken as a merge: there
 * are no managed fields here.
 */

import type { Kind } from '../kind.ts'
import { type ApiObject, isJsonObject } from '../object.ts'
import { type ApiRequest, contentTypeOf } from '../request.ts'
import { badRequest, patchFailed, unsupportedMediaType } from '../status.ts'
import { applyJsonPatch, type Operation, PatchFailure } from './json-patch.ts'
import { applyMergePatch, applyStrategicMergePatch } from './merge-patch.ts'

export const APPLY = 'application/apply-patch+yaml'
const JSON_PATCH = 'application/json-patch+json'
const MERGE = 'application/merge-patch+json'
const STRATEGIC = 'application/strategic-merge-patch+json'

/** The most operations that one JSON Patch may have, as upstream's. */
const MAX_OPERATIONS = 10_000

export function patched(object: ApiObject, request: ApiRequest, kind: Kind): object {
  const type = contentTypeOf(request)
  const accepted = kind.custom ? [JSON_PATCH, MERGE, APPLY] : [JSON_PATCH, MERGE, STRATEGIC, APPLY]
  if (!accepted.includes(type)) throw unsupportedMediaType(accepted)
  const patch = decoded(request.body ?? '')
  if (type === JSON_PATCH) return byJsonPatch(object, patch)
  if (!isJsonObject(patch)) throw badRequest('error decoding patch: it is no object')
  const result =
    type === STRATEGIC ? applyStrategicMergePatch(object, patch) : applyMergePatch(object, patch)
  return result as object
}

/** The object that server-side apply creates if there is none yet. */
export function applied(request: ApiRequest): Readonly<Record<string, unknown>> {
  const patch = decoded(request.body ?? '')
  if (!isJsonObject(patch)) throw badRequest('error decoding patch: it is no object')
  return patch
}

function byJsonPatch(object: ApiObject, patch: unknown): object {
  if (!Array.isArray(patch)) throw badRequest('error decoding patch: it is no array of operations')
  if (patch.length > MAX_OPERATIONS) throw badRequest('the patch has too many operations')
  try {
    return applyJsonPatch(object, patch as readonly Operation[]) as object
  } catch (error) {
    if (error instanceof PatchFailure) throw patchFailed()
    throw error
  }
}

function decoded(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw badRequest(`error decoding patch: ${String(error)}`)
  }
}
