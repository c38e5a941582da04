/**
 * Makes, lists and removes objects on a real API server, many at once: the owners and dependents of
 * cluster tests.
 *
 * What must stay true: every refusal of the server is an error here, so a test never continues with
 * fewer objects than it requested.
 */
import type { PropagationPolicy } from '../../core/model/object.ts'
import type { Answer } from '../cluster/api-client.ts'
import { eventually } from '../eventually.ts'

/** The operations of a control plane. */
export interface Requests {
  request<T = unknown>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<Answer<T>>
}

export interface Kind {
  readonly apiVersion: string
  readonly kind: string
  readonly resource: string
  readonly namespaced: boolean
  /** The fields besides metadata that its validation demands. */
  readonly body?: object
}

const POD_TEMPLATE = {
  selector: { matchLabels: { app: 'a' } },
  template: {
    metadata: { labels: { app: 'a' } },
    spec: { containers: [{ name: 'a', image: 'b' }] },
  },
}

export const CONFIG_MAP: Kind = kind('v1', 'ConfigMap', 'configmaps')
export const SECRET: Kind = kind('v1', 'Secret', 'secrets')
export const NAMESPACE: Kind = { ...kind('v1', 'Namespace', 'namespaces'), namespaced: false }
export const CLUSTER_ROLE: Kind = {
  ...kind('rbac.authorization.k8s.io/v1', 'ClusterRole', 'clusterroles'),
  namespaced: false,
}
export const DEPLOYMENT: Kind = {
  ...kind('apps/v1', 'Deployment', 'deployments'),
  body: { spec: POD_TEMPLATE },
}
export const REPLICA_SET: Kind = {
  ...kind('apps/v1', 'ReplicaSet', 'replicasets'),
  body: { spec: POD_TEMPLATE },
}
/** They are unwatched. */
export const EVENT: Kind = {
  ...kind('v1', 'Event', 'events'),
  body: { involvedObject: { namespace: 'default' }, reason: 'Test' },
}
/** On no node, so a DELETE removes it at once. */
export const POD: Kind = {
  ...kind('v1', 'Pod', 'pods'),
  body: { spec: POD_TEMPLATE.template.spec },
}

export function kind(apiVersion: string, name: string, resource: string): Kind {
  return { apiVersion, kind: name, resource, namespaced: true }
}

export interface Reference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

export interface Draft {
  readonly kind: Kind
  readonly name: string
  /** `default` unless given. */
  readonly namespace?: string
  readonly owners?: readonly (Made | Reference)[]
  /** To find them by. */
  readonly set?: string
  readonly finalizers?: readonly string[]
}

export interface Made {
  readonly kind: Kind
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
}

interface Stored {
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly resourceVersion: string
    readonly ownerReferences?: readonly Reference[]
  }
}

/** Concurrent requests; a server on two cores handles no more. */
const AT_ONCE = 24
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'

export function collectionPath(
  { apiVersion, resource, namespaced }: Kind,
  namespace: string,
): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  return namespaced ? `${root}/namespaces/${namespace}/${resource}` : `${root}/${resource}`
}

export function pathOf({
  kind: of,
  namespace,
  name,
}: Pick<Made, 'kind' | 'namespace' | 'name'>): string {
  return `${collectionPath(of, namespace)}/${name}`
}

export function referenceTo(owner: Made): Reference {
  const { kind: of, name, uid } = owner
  return { apiVersion: of.apiVersion, kind: of.kind, name, uid }
}

export async function make(plane: Requests, draft: Draft): Promise<Made> {
  const { kind: of, name, namespace = 'default', owners = [], set, finalizers } = draft
  const ownerReferences = owners.map((owner) =>
    'kind' in owner && isMade(owner) ? referenceTo(owner) : owner,
  )
  const { status, body } = await plane.request<Stored>('POST', collectionPath(of, namespace), {
    apiVersion: of.apiVersion,
    kind: of.kind,
    metadata: {
      name,
      ...(set !== undefined && { labels: { set } }),
      ...(ownerReferences.length > 0 && { ownerReferences }),
      ...(finalizers !== undefined && { finalizers }),
    },
    ...of.body,
  })
  if (status !== 201) throw new Error(`${of.kind} ${name} was not made: ${status} ${show(body)}`)
  const { uid, resourceVersion } = body.metadata
  return { kind: of, namespace: of.namespaced ? namespace : '', name, uid, resourceVersion }
}

function isMade(owner: Made | Reference): owner is Made {
  return typeof owner.kind === 'object'
}

export async function makeAll(plane: Requests, drafts: readonly Draft[]): Promise<Made[]> {
  return await atOnce(drafts, (draft) => make(plane, draft))
}

export interface Family {
  readonly owner: Made
  readonly dependents: readonly Made[]
}

/** A ConfigMap of that name, and its dependents: `NAME-0` and so on. */
export async function makeFamily(
  plane: Requests,
  name: string,
  size: number,
  of: Kind = CONFIG_MAP,
): Promise<Family> {
  const owner = await make(plane, { kind: CONFIG_MAP, name })
  const drafts = Array.from({ length: size }, (_, i) => {
    return { kind: of, name: `${name}-${i}`, owners: [owner] }
  })
  return { owner, dependents: await makeAll(plane, drafts) }
}

/** In the order given; a failure ends it. */
export async function atOnce<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  const left = items.entries()
  const worker = async (): Promise<void> => {
    for (const [index, item] of left) results[index] = await work(item)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return results
}

/** As a user would; its dependents are left to the collector. */
export async function remove(
  plane: Requests,
  made: Made,
  propagationPolicy: PropagationPolicy = 'Background',
): Promise<void> {
  const options = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy }
  const { status, body } = await plane.request('DELETE', pathOf(made), options)
  if (status >= 300) throw new Error(`${made.name} was not removed: ${status} ${show(body)}`)
}

export async function mergePatch(plane: Requests, path: string, patch: object): Promise<void> {
  const headers = { 'content-type': 'application/merge-patch+json' }
  const { status, body } = await plane.request('PATCH', path, patch, headers)
  if (status !== 200) throw new Error(`PATCH ${path} was answered ${status} ${show(body)}`)
}

export async function ownersOf(
  plane: Requests,
  made: Made,
): Promise<readonly string[] | undefined> {
  const { status, body } = await plane.request<Stored>('GET', pathOf(made))
  if (status !== 200 || body.metadata.uid !== made.uid) return undefined
  return (body.metadata.ownerReferences ?? []).map(({ name }) => name)
}

/** Uids of a set, in all namespaces. */
export async function uidsOf(plane: Requests, of: Kind, set: string): Promise<ReadonlySet<string>> {
  const everywhere = collectionPath({ ...of, namespaced: false }, '')
  const path = `${everywhere}?labelSelector=${encodeURIComponent(`set=${set}`)}`
  const headers = { accept: METADATA_LIST }
  const answer = await plane.request<{ items: readonly Stored[] | null }>(
    'GET',
    path,
    undefined,
    headers,
  )
  if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status}`)
  return new Set((answer.body.items ?? []).map(({ metadata }) => metadata.uid))
}

/** Names of those that are deleted, or are other objects of their name now. */
export async function missingOf(plane: Requests, all: readonly Made[]): Promise<string[]> {
  const found = await atOnce(all, async (made) => {
    const { status, body } = await plane.request<Stored>('GET', pathOf(made))
    if (status !== 200 && status !== 404) throw new Error(`${made.name} was answered ${status}`)
    return status === 200 && body.metadata.uid === made.uid
  })
  return all.filter((_, index) => found[index] !== true).map(({ name }) => name)
}

export async function untilGone(plane: Requests, all: readonly Made[]): Promise<void> {
  await eventually(`${all[0]?.name} and the like go`, async () => {
    const missing = await missingOf(plane, all)
    return missing.length === all.length || `${missing.length} of ${all.length} are gone`
  })
}

function show(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body)
}
