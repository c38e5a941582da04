/**
 * POST, PUT and PATCH: a new object, or a new state of an existing one.
 *
 * What must stay true: a write that changes nothing takes no version and is sent to no watch; an
 * update that empties the finalizers of an object that is being deleted removes it; spec and status
 * are changed by their own paths only, where a kind has both.
 *
 * Not here: validation of metadata (metadata.ts), DELETE (removal.ts).
 */
import type { Clock } from '../../../../ports/clock.ts'
import type { Random } from '../../../../ports/random.ts'
import { DEFINITION, groupVersion, type Kind, NAMESPACE } from '../kind.ts'
import { type ApiObject, isSameJson, type JsonObject, timestampOf } from '../object.ts'
import { kept, told } from '../read/version.ts'
import { checkDefinition, type Registry } from '../registry.ts'
import { type Call, contentTypeOf, isDryRun, objectIn } from '../request.ts'
import {
  alreadyExists,
  badRequest,
  forbidden,
  invalid,
  modified,
  notFound,
  Refusal,
} from '../status.ts'
import { type Storage, withMetadata } from '../storage.ts'
import { withDefaults } from './defaults.ts'
import { checkObject, checkUpdate, newMetadata, readObject, updatedMetadata } from './metadata.ts'
import { APPLY, applied, patched } from './patch.ts'
import { isFinished } from './removal.ts'
import { fromScale, scaleOf } from './scale.ts'
import type { Sweeper } from './sweep.ts'
import { newSuffix, newUid } from './uid.ts'

export interface WriteContext {
  readonly storage: Storage
  readonly registry: Registry
  readonly sweeper: Sweeper
  readonly clock: Clock
  readonly random: Random
}

export interface Written {
  readonly code: 200 | 201
  readonly object: ApiObject
  readonly warnings: readonly string[]
}

export function create(context: WriteContext, call: Call): Written {
  return createFrom(context, call, objectIn(call.request, call.kind))
}

export function replace(context: WriteContext, call: Call): Written {
  const { kind, address } = call
  const body = objectIn(call.request, kind)
  if (kind.createdByPut && isMissing(context, call)) return createByPut(context, call, body)
  const before = existing(context, call)
  if (address.subresource === 'scale') return update(context, call, before, fromScale(before, body))
  const given = readObject(body, kind, apiVersionOf(call))
  const { resourceVersion = '', uid = before.metadata.uid } = given.metadata
  if (uid !== before.metadata.uid) {
    const why = `StorageError: invalid object, Code: 4, Key: /registry/${kind.resource}/${before.metadata.namespace ?? ''}/${address.name}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${before.metadata.uid}`
    throw modified(kind, address.name, why)
  }
  if (resourceVersion === '' && (kind.custom || kind.createdByPut)) {
    const message = 'Invalid value: 0: must be specified for an update'
    const field = 'metadata.resourceVersion'
    // Here the server names the resource where elsewhere it names the kind.
    const named = { ...kind, kind: kind.resource }
    throw invalid(named, address.name, [{ reason: 'FieldValueInvalid', message, field }])
  }
  return update(context, call, before, given)
}

export function patch(context: WriteContext, call: Call): Written {
  const { kind, address, request } = call
  const isApply = contentTypeOf(request) === APPLY
  const { storage } = context
  const found = storage.get(kind, address.namespace, address.name)?.object
  if (found === undefined && isApply) return createFrom(context, call, applied(request))
  if (found === undefined) throw notFound(kind, address.name)
  if (address.subresource === 'scale') {
    const scale = patched(scaleOf(found), request, kind)
    return update(context, call, found, fromScale(found, scale))
  }
  const given = patched(told(found, kind, address.version), request, kind) as JsonObject
  return update(context, call, found, readObject(given, kind, apiVersionOf(call)))
}

/** The version that was meant says nothing here; a uid does. */
function createByPut(context: WriteContext, call: Call, body: JsonObject): Written {
  const { kind, address } = call
  const { metadata } = readObject(body, kind, apiVersionOf(call))
  if (metadata.name !== address.name) {
    throw badRequest(
      `the name of the object (${metadata.name ?? ''}) does not match the name on the URL (${address.name})`,
    )
  }
  const { uid, resourceVersion: _, ...fresh } = metadata
  if (uid !== undefined) {
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: `
    throw modified(kind, address.name, why)
  }
  return createFrom(context, call, { ...body, metadata: fresh })
}

function createFrom(context: WriteContext, call: Call, body: JsonObject): Written {
  const { kind, address, query } = call
  const { storage, clock, random } = context
  const given = readObject(body, kind, apiVersionOf(call))
  checkNewMetadata(call, given)
  checkNamespace(context, call, given.metadata.name)
  const identity = {
    name: given.metadata.name ?? newName(context, call, given.metadata.generateName!),
    namespace: address.namespace,
    uid: newUid(random),
    creationTimestamp: timestampOf(clock.now()),
  }
  const metadata = newMetadata(kind, given.metadata, identity)
  const { object, warnings } = checkObject(kind, kept({ ...given, metadata }, kind))
  if (kind === DEFINITION) checkDefinition(object)
  const complete = withDefaults(kind, object)
  if (storage.get(kind, address.namespace, identity.name) !== undefined) {
    throw alreadyExists(kind, identity.name)
  }
  if (isDryRun(query)) return { code: 201, object: withoutVersion(complete), warnings }
  const stored = storage.put(kind, complete)
  if (kind === DEFINITION) context.registry.serve(stored)
  return { code: 201, object: stored, warnings }
}

function checkNewMetadata(call: Call, { metadata }: ApiObject): void {
  const { kind, address } = call
  if (metadata.resourceVersion) {
    throw new Refusal(500, 'resourceVersion should not be set on objects to be created')
  }
  if (metadata.namespace !== undefined && metadata.namespace !== address.namespace) {
    throw badRequest(
      'the namespace of the provided object does not match the namespace sent on the request',
    )
  }
  if (metadata.name === undefined && metadata.generateName === undefined) {
    const message = 'Required value: name or generateName is required'
    throw invalid(kind, '', [{ reason: 'FieldValueRequired', message, field: 'metadata.name' }])
  }
}

/**
 * It must be there, and may not be on its way out; nor may the CustomResourceDefinition of a custom
 * kind.
 */
function checkNamespace({ storage }: WriteContext, { kind, address }: Call, name = ''): void {
  if (kind.custom) {
    const definition = storage.get(DEFINITION, '', kind.store)?.object
    if (definition?.metadata.deletionTimestamp !== undefined) {
      const why = 'create not allowed while custom resource definition is terminating'
      throw forbidden(kind, name, why)
    }
  }
  const { namespace } = address
  if (namespace === '') return
  const found = storage.get(NAMESPACE, '', namespace)?.object
  if (found === undefined) throw notFound(NAMESPACE, namespace)
  if (found.metadata.deletionTimestamp === undefined) return
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`
  const message = `namespace ${namespace} is being terminated`
  const cause = { reason: 'NamespaceTerminating', message, field: 'metadata.namespace' }
  throw forbidden(kind, name, why, [cause])
}

function update(context: WriteContext, call: Call, before: ApiObject, given: ApiObject): Written {
  const { kind, query, address } = call
  const { storage } = context
  const { resourceVersion } = given.metadata
  if (resourceVersion && resourceVersion !== before.metadata.resourceVersion) {
    throw modified(kind, address.name)
  }
  if (given.metadata.name !== undefined && given.metadata.name !== address.name) {
    throw badRequest(
      `the name of the object (${given.metadata.name}) does not match the name on the URL (${address.name})`,
    )
  }
  checkUpdate(kind, before.metadata, given.metadata)
  const metadata = updatedMetadata(before.metadata, given.metadata)
  const { object, warnings } = checkObject(kind, kept({ ...given, metadata }, kind))
  const next = counted(kind, before, bySubresource(call, before, object))
  if (isDryRun(query)) return { code: 200, object: next, warnings }
  if (isFinished(kind, next)) {
    storage.remove(kind, before)
    context.sweeper.unserveGone(kind, before)
    return { code: 200, object: next, warnings }
  }
  if (isSameJson(next, before)) return { code: 200, object: before, warnings }
  const stored = storage.put(kind, next)
  if (kind === DEFINITION) context.registry.serve(stored)
  return { code: 200, object: stored, warnings }
}

/** Each path changes its own part. */
function bySubresource({ kind, address }: Call, before: ApiObject, given: ApiObject): ApiObject {
  switch (address.subresource) {
    case 'status':
      return { ...before, status: given['status'] }
    case 'finalize':
      return { ...before, spec: given['spec'] }
    default:
      return kind.hasStatus ? { ...given, status: before['status'] } : given
  }
}

function counted(kind: Kind, before: ApiObject, next: ApiObject): ApiObject {
  if (!kind.countsGenerations) return next
  const { metadata: _1, status: _2, ...contentBefore } = before
  const { metadata: _3, status: _4, ...content } = next
  if (isSameJson(contentBefore, content)) return next
  return withMetadata(next, { generation: (before.metadata.generation ?? 0) + 1 })
}

function isMissing({ storage }: WriteContext, { kind, address }: Call): boolean {
  return storage.get(kind, address.namespace, address.name) === undefined
}

function existing({ storage }: WriteContext, { kind, address }: Call): ApiObject {
  const found = storage.get(kind, address.namespace, address.name)
  if (found === undefined) throw notFound(kind, address.name)
  return found.object
}

function newName({ storage, random }: WriteContext, { kind, address }: Call, base: string): string {
  for (;;) {
    const name = base + newSuffix(random)
    if (storage.get(kind, address.namespace, name) === undefined) return name
  }
}

function apiVersionOf({ kind, address }: Call): string {
  return groupVersion(kind, address.version)
}

/** A dry run gives no version. */
function withoutVersion(object: ApiObject): ApiObject {
  const { resourceVersion: _, ...metadata } = object.metadata
  return { ...object, metadata: metadata as ApiObject['metadata'] }
}
