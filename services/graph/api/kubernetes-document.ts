/**
 * Documents as an API server would answer them: discovery of one group, its objects, and what is
 * wrong with a request.
 *
 * What must stay true: the name of an object has its resource, too, since objects of two kinds may
 * share a name, and clients know objects by namespace and name.
 *
 * Not here: which objects there are (query/ask/kubernetes-question.ts).
 */
import { STATUS_CODES } from 'node:http'
import { apiVersionOf, type ObjectMeta } from '../../../core/model/object.ts'
import { timeOf } from './document.ts'
import type {
  APIGroup,
  APIGroupList,
  APIResourceList,
  APIVersions,
  OwnedObject,
  Status,
} from './kubernetes-schema.ts'

export const GROUP = 'kinfold.dev'
export const VERSION = 'v1'
export const API_VERSION = 'kinfold.dev/v1'

const THE_VERSION = { groupVersion: API_VERSION, version: VERSION }
const THE_GROUP = { name: GROUP, versions: [THE_VERSION], preferredVersion: THE_VERSION }
const VERBS = ['get', 'list']

export const API_VERSIONS: APIVersions = {
  ...{ kind: 'APIVersions', apiVersion: 'v1', versions: [], serverAddressByClientCIDRs: [] },
}
export const API_GROUP_LIST: APIGroupList = {
  kind: 'APIGroupList',
  apiVersion: 'v1',
  groups: [THE_GROUP],
}
export const API_GROUP: APIGroup = { kind: 'APIGroup', apiVersion: 'v1', ...THE_GROUP }
export const API_RESOURCE_LIST: APIResourceList = {
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion: API_VERSION,
  resources: [
    {
      ...{ name: 'ownedobjects', singularName: 'ownedobject', namespaced: true },
      ...{ kind: 'OwnedObject', verbs: VERBS, shortNames: ['oo'] },
    },
    {
      ...{ name: 'clusterownedobjects', singularName: 'clusterownedobject', namespaced: false },
      ...{ kind: 'ClusterOwnedObject', verbs: VERBS, shortNames: ['coo'] },
    },
  ],
}

type OwnedReference = NonNullable<OwnedObject['metadata']['ownerReferences']>[number]

/** The state of an object that is shown beside its metadata. */
export interface Standing {
  readonly phase: string
  readonly verdict: { readonly type: string; readonly because: string } | null
  readonly admission: { readonly by: string; readonly because: string } | null
}

export function ownedObject(
  object: ObjectMeta,
  { phase, verdict, admission }: Standing,
): OwnedObject {
  const { group, version, kind, namespace, name, uid, resourceVersion, finalizers } = object
  const { createdAt, deletedAt, ownerReferences } = object
  const creationTimestamp = secondsOf(createdAt)
  const deletionTimestamp = secondsOf(deletedAt)
  return {
    apiVersion: API_VERSION,
    kind: namespace === '' ? 'ClusterOwnedObject' : 'OwnedObject',
    metadata: {
      name: ownedName(object),
      ...(namespace !== '' && { namespace }),
      uid,
      resourceVersion,
      ...(creationTimestamp !== null && { creationTimestamp }),
      ...(deletionTimestamp !== null && { deletionTimestamp }),
      ...(finalizers.length > 0 && { finalizers }),
      ...(ownerReferences.length > 0 && { ownerReferences: ownerReferences.map(withoutNull) }),
    },
    object: { apiVersion: apiVersionOf(group, version), kind, name },
    status: {
      phase,
      ...(verdict !== null && { verdict: { ...verdict } }),
      ...(admission !== null && { admission: { by: admission.by, because: admission.because } }),
    },
  }
}

/** `pods:web`, `deployments.apps:web`. */
export function ownedName({
  group,
  resource,
  name,
}: Pick<ObjectMeta, 'group' | 'resource' | 'name'>): string {
  return `${group === '' ? resource : `${resource}.${group}`}:${name}`
}

/** The name of the object; undefined where it is no name of that kind. */
export function nameIn(text: string): string | undefined {
  const at = text.indexOf(':')
  return at <= 0 || at === text.length - 1 ? undefined : text.slice(at + 1)
}

/** As API servers write times. */
function secondsOf(ms: number | null): string | null {
  const time = timeOf(ms)
  return time === null ? null : `${time.slice(0, 19)}Z`
}

function withoutNull(reference: ObjectMeta['ownerReferences'][number]): OwnedReference {
  const { controller, blockOwnerDeletion, ...rest } = reference
  return {
    ...rest,
    ...(controller !== null && { controller }),
    ...(blockOwnerDeletion !== null && { blockOwnerDeletion }),
  }
}

/** As apimachinery has them. */
const REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  409: 'Conflict',
  429: 'TooManyRequests',
  503: 'ServiceUnavailable',
}

export function statusOf(code: number, message: string): Status {
  return {
    ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' },
    ...{ message: message || (STATUS_CODES[code] ?? ''), code },
    reason: REASONS[code] ?? (code < 500 ? 'BadRequest' : 'InternalError'),
  }
}

/** RFC 9110, 5.5: kubectl prints it as a warning. */
export function warningOf(text: string): string {
  const safe = text.replaceAll(/[^\x20-\x7e]/g, '?').replaceAll(/["\\]/g, '\\$&')
  return `299 - "${safe}"`
}
