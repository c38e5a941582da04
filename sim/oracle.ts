/**
 * The oracle over a simulated server: the requests that Kinfold may send to it, and the result that
 * it must reach in the end.
 *
 * What must stay true: it uses none of the graph's code. Only errors that no collector could have
 * avoided in time are forgiven here.
 *
 * Not here: the meaning of ownership in the API (testing/model/oracle.ts).
 */
import { createHash } from 'node:crypto'
import type { ApiObject, ApiServer } from '../adapters/memory/api-server.ts'
import type { ExchangeRequest } from '../ports/exchange.ts'
import type { Ground, Leftover, OracleObject, OracleServer } from '../testing/model/oracle.ts'
import * as oracle from '../testing/model/oracle.ts'

type Reference = NonNullable<ApiObject['metadata']['ownerReferences']>[number]

/** Served kinds that users and references may name, by apiVersion and kind. */
const KINDS: Readonly<Record<string, readonly [group: string, resource: string, scope: string]>> = {
  'v1/ConfigMap': ['', 'configmaps', 'Namespaced'],
  'v1/Secret': ['', 'secrets', 'Namespaced'],
  'apps/v1/ReplicaSet': ['apps', 'replicasets', 'Namespaced'],
  'v1/PersistentVolume': ['', 'persistentvolumes', 'Cluster'],
  'example.com/v1/Widget': ['example.com', 'widgets', 'Namespaced'],
  // Only where rules are about them.
  'batch/v1/Job': ['batch', 'jobs', 'Namespaced'],
}

export const RESOURCES: readonly (readonly [string, string])[] = Object.values(KINDS).map(
  ([group, resource]) => [group, resource] as const,
)

const WIDGETS = 'example.com'

interface Definition {
  readonly scope?: string
  readonly versions?: readonly { readonly name: string; readonly served: boolean }[]
}

/** Undefined while they are not served. */
export function widgetScope(server: ApiServer): string | undefined {
  return definitionOf(server)?.scope
}

function definitionOf(server: ApiServer): Definition | undefined {
  const place = ['apiextensions.k8s.io', 'customresourcedefinitions', ''] as const
  return server.object(...place, 'widgets.example.com')?.['spec'] as Definition | undefined
}

/** The server as the oracle sees it. */
function oracleOf(server: ApiServer): OracleServer {
  return {
    kindOf: (reference) => (mayBeKnown(reference) ? kindOf(server, reference) : 'unresolvable'),
    find({ uid, group, kind, namespace, name }) {
      const resource = Object.entries(KINDS).find(([called]) => called.endsWith(`/${kind}`))?.[1][1]
      const found = server.object(group, resource ?? '', namespace, name)
      return found?.metadata.uid === uid ? objectOf(found) : undefined
    },
    isWatched: () => true,
  }
}

export function objectOf({ apiVersion, kind, metadata }: ApiObject): OracleObject {
  const { uid, name, namespace = '', ownerReferences = [], finalizers = [] } = metadata
  const group = oracle.groupIn(apiVersion)
  const isDeleting = metadata.deletionTimestamp !== undefined
  const references = takenIn(ownerReferences)
  return { uid, group, kind, namespace, name, references, isDeleting, finalizers }
}

/**
 * No path can have such a name, so no server can be asked for its owner. A server accepts no object
 * of that name (B78): in the core group it is absent; for other groups no server here says that it
 * serves them itself.
 */
function mayBeKnown({ apiVersion, name }: oracle.OracleReference): boolean {
  return oracle.groupIn(apiVersion) === '' || (name !== '.' && name !== '..' && !/[/%]/.test(name))
}

/**
 * Longer texts than these make an object one whose references are left out, and replaced by one
 * that can never be resolved (F27).
 */
const LONGEST = { apiVersion: 317, kind: 63 }
/**
 * No object has a longer uid, and none of the core group a longer name: such an owner never was. In
 * other groups it may exist, so there the name counts as the texts above do.
 */
const LONGEST_OF_ANY = { name: 253, uid: 128 }
const BEYOND = {
  apiVersion: 'hold.kinfold.invalid/v1',
  kind: 'beyond caps',
  name: 'beyond-caps',
  uid: 'beyond-caps',
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** The references of an object that a graph may hold. */
export function takenIn(
  references: readonly oracle.OracleReference[],
): readonly oracle.OracleReference[] {
  const isBeyond = references.some(
    ({ apiVersion, kind, name }) =>
      apiVersion.length > LONGEST.apiVersion ||
      kind.length > LONGEST.kind ||
      (name.length > LONGEST_OF_ANY.name && oracle.groupIn(apiVersion) !== ''),
  )
  if (isBeyond) return [BEYOND]
  const isLong = ({ name, uid }: oracle.OracleReference): boolean =>
    name.length > LONGEST_OF_ANY.name || uid.length > LONGEST_OF_ANY.uid
  if (!references.some(isLong)) return references
  return references.map((each) => {
    const { name, uid } = each
    return {
      ...each,
      name: name.length > LONGEST_OF_ANY.name ? `beyond-caps/sha256/${digestOf(name)}` : name,
      uid: uid.length > LONGEST_OF_ANY.uid ? `beyond-caps:sha256:${digestOf(uid)}` : uid,
    }
  })
}

function kindOf(
  server: ApiServer,
  { apiVersion, kind: written }: Pick<Reference, 'apiVersion' | 'kind'>,
): ReturnType<OracleServer['kindOf']> {
  const [asked = '', version] = apiVersion.split('/')
  const kind = servedAs(written, apiVersion)
  if (asked !== WIDGETS || kind !== 'Widget') {
    const [group, , scope] = KINDS[`${apiVersion}/${kind}`] ?? []
    return group === undefined
      ? 'unresolvable'
      : { group, kind, isNamespaced: scope === 'Namespaced' }
  }
  // A widget may be named by any version that is served.
  const definition = definitionOf(server)
  // An owner that was deleted with its CustomResourceDefinition is absent, in either scope.
  if (definition === undefined) return 'absent'
  const isServed = definition.versions?.some((each) => each.name === version && each.served)
  if (isServed === false) return 'unresolvable'
  return { group: WIDGETS, kind, isNamespaced: definition.scope === 'Namespaced' }
}

/** A kind may be written in lower case, all of it. */
function servedAs(written: string, apiVersion: string): string {
  const group = oracle.groupIn(apiVersion)
  const kinds = Object.entries(KINDS).flatMap(([called, [of]]) =>
    of === group ? called.slice(called.lastIndexOf('/') + 1) : [],
  )
  return kinds.find((kind) => kind.toLowerCase() === written) ?? written
}

/** By whatever version it is referenced: it is the same object. */
function lives(server: ApiServer, { kind, metadata }: ApiObject): boolean {
  const known = Object.entries(KINDS).find(([called]) => called.endsWith(`/${kind}`))
  if (known === undefined) return false
  const [group, resource] = known[1]
  const now = server.object(group, resource, metadata.namespace ?? '', metadata.name)
  return now?.metadata.uid === metadata.uid && now.metadata.deletionTimestamp === undefined
}

/** Why this effect of Kinfold's is wrong; empty when it is right. */
export function objectionTo(
  judged: Judged,
  request: ExchangeRequest,
  before: ApiObject,
  after: ApiObject | null,
): string {
  const sent: unknown = JSON.parse(request.body ?? 'null')
  return request.method === 'DELETE'
    ? objectionToDelete(judged, sent as DeleteBody, before)
    : objectionToPatch(judged, sent as PatchBody, before, after)
}

export interface Judged {
  readonly server: ApiServer
  /**
   * Uids that were deleted in the foreground at some time. A GET of a waiting owner is up to two
   * seconds old, and a patch may be under way for longer, so it is no fault that a client removed
   * the finalizer in between: the owner is deleted anyway.
   */
  readonly waited: ReadonlySet<string>
  /**
   * Deleted with their dependents orphaned, by uid: an object that still references one is
   * orphaned, never deleted.
   */
  readonly orphaned: ReadonlyMap<string, ApiObject>
  /**
   * It was waiting a moment ago, and a user then asked for its dependents to be orphaned: the GET
   * of it may be two seconds old.
   */
  hasJustTurned(uid: string): boolean
  /**
   * The referenced owner itself existed and was deleted. Later changes in how its kind is served
   * bring no uid back.
   */
  isGone(dependent: ApiObject, reference: Reference): boolean
  /**
   * The same, and those for which a user has asked for something else since: a patch may have been
   * under way.
   */
  readonly onceOrphaned: ReadonlyMap<string, ApiObject>
  /**
   * The same, before the server was restored: for one that is being deleted it cannot be known
   * whether that request was lost with the later writes.
   */
  readonly orphanedBefore: ReadonlyMap<string, ApiObject>
}

function liveness(
  { server, waited, hasJustTurned, isGone }: Judged,
  dependent: ApiObject,
  reference: Reference,
): Ground {
  const ground = oracle.groundOf(oracleOf(server), objectOf(dependent), reference)
  if (ground === 'unresolvable' && isGone(dependent, reference)) return 'absent'
  if (ground === 'orphaning' && hasJustTurned(reference.uid)) return 'waiting'
  return ground === 'live' && waited.has(reference.uid) ? 'waiting' : ground
}

/** By a reference that is right in all its fields; another one dangles by itself. */
function isOrphaned(
  orphaned: ReadonlyMap<string, ApiObject>,
  dependent: ApiObject,
  reference: Reference,
): boolean {
  const owner = orphaned.get(reference.uid)
  if (owner === undefined || owner.kind !== servedAs(reference.kind, reference.apiVersion))
    return false
  const { name, namespace } = owner.metadata
  return (
    name === reference.name &&
    (namespace ?? dependent.metadata.namespace) === dependent.metadata.namespace
  )
}

/**
 * Since its deletion its kind was created again in the other scope: the reference now means other
 * coordinates, where it never was.
 */
function hasOtherScope({ server, orphaned }: Judged, { kind, uid }: Reference): boolean {
  const owner = orphaned.get(uid)
  if (owner === undefined || kind !== 'Widget') return false
  const scope = owner.metadata.namespace === undefined ? 'Cluster' : 'Namespaced'
  return scope !== (widgetScope(server) ?? scope)
}

interface DeleteBody {
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string }
  readonly propagationPolicy?: string
}

type PatchBody = readonly { readonly op: string; readonly path: string; readonly value?: unknown }[]

function objectionToDelete(judged: Judged, sent: DeleteBody, object: ApiObject): string {
  const { uid, resourceVersion, ownerReferences = [] } = object.metadata
  const { preconditions, propagationPolicy } = sent
  if (preconditions?.uid !== uid) return `uid ${preconditions?.uid} was commanded (I3)`
  if (preconditions.resourceVersion !== resourceVersion) return 'no such version (I4)'
  if (propagationPolicy === undefined) return 'no policy (I4)'
  const ground = (reference: Reference): Ground => liveness(judged, object, reference)
  const objection = oracle.objectionTo(ownerReferences, ground)
  if (objection !== '') return objection
  for (const reference of ownerReferences) {
    const isMarked =
      isOrphaned(judged.orphaned, object, reference) && !hasOtherScope(judged, reference)
    if (isMarked && ground(reference) !== 'waiting')
      return `${reference.name} orphaned its dependents (P10)`
  }
  return ''
}

function objectionToPatch(
  judged: Judged,
  sent: PatchBody,
  before: ApiObject,
  after: ApiObject | null,
): string {
  const first = sent[0]
  const isGuarded = first?.op === 'test' && first.path === '/metadata/uid'
  if (!isGuarded || first.value !== before.metadata.uid) return 'no test of the uid (I4)'
  if (sent.some(({ path }) => path.startsWith('/metadata/finalizers')))
    return finalizerObjection(sent, before)
  const kept = (after?.metadata.ownerReferences ?? []).map((each) => JSON.stringify(each))
  for (const reference of before.metadata.ownerReferences ?? []) {
    if (kept.includes(JSON.stringify(reference))) continue
    const ground = liveness(judged, before, reference)
    // Kinfold removed its finalizer, and another one holds it: it counts as deleted.
    if (isOrphaned(judged.onceOrphaned, before, reference)) continue
    // Of an owner that is being deleted, or that the restore brought back whole.
    const was = judged.orphanedBefore.get(reference.uid)
    const mayHaveAsked = isOrphaned(judged.orphanedBefore, before, reference)
    if (was !== undefined && mayHaveAsked && !lives(judged.server, was)) continue
    if (ground === 'live') return `it drops ${reference.name}, which lives`
    if (ground === 'unresolvable') return `it drops ${reference.name}, which cannot be resolved`
  }
  return ''
}

/** A reference to the owner may have been created since: `leftoversOf` judges the final state. */
function finalizerObjection(sent: PatchBody, before: ApiObject): string {
  const { deletionTimestamp, finalizers = [] } = before.metadata
  if (deletionTimestamp === undefined) return 'it takes a finalizer off an object that lives'
  for (const { op, path } of sent) {
    if (op !== 'remove') continue
    const finalizer = finalizers[Number(path.slice(path.lastIndexOf('/') + 1))] ?? ''
    const isCollectors = finalizer === 'orphan' || finalizer === 'foregroundDeletion'
    if (!isCollectors) return `it takes finalizer ${finalizer} off`
    const isTested = sent.some(
      (each) => each.op === 'test' && each.path === path && each.value === finalizer,
    )
    if (!isTested) return 'no test of the finalizer (I4)'
  }
  return ''
}

/** Or of none. */
export function isOfLivingOwners(server: ApiServer, object: ApiObject): boolean {
  const seen = oracleOf(server)
  const { references } = objectOf(object)
  const dependent = objectOf(object)
  return references.every((each) => oracle.groundOf(seen, dependent, each) === 'live')
}

/** The work that is left when all is quiet; empty when nothing is. */
export function leftoversOf(server: ApiServer, objects: Iterable<ApiObject>): readonly Leftover[] {
  // Objects deleted with their CustomResourceDefinition are a bulk deletion and wait for approval,
  // so an object that references one may stay.
  const isOfWidgets = ({ kind, references }: OracleObject): boolean =>
    kind === 'Widget' || references.some((each) => each.kind === 'Widget')
  return oracle
    .leftoversOf(oracleOf(server), Array.from(objects, objectOf))
    .filter(({ object, isStuck }) => isStuck || !isOfWidgets(object))
}
