/**
 * Which objects a collector may delete and which it must not leave, computed naively over a
 * server's own objects.
 *
 * What must stay true: it imports nothing, so it shares no code with the graph. Each reference is
 * read at its coordinates, as the API defines ownership: same namespace or no namespace, right uid,
 * kind and name, a served version.
 *
 * Not here: the source of the objects (model-oracle.ts, sim/oracle.ts).
 */
export type Ground = 'live' | 'waiting' | 'orphaning' | 'absent' | 'unresolvable'

export interface OracleReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly blockOwnerDeletion?: boolean | null
}

interface Place {
  readonly uid: string
  readonly group: string
  readonly kind: string
  /** Empty for one without a namespace. */
  readonly namespace: string
  readonly name: string
}

export interface OracleObject extends Place {
  readonly references: readonly OracleReference[]
  readonly isDeleting: boolean
  readonly finalizers: readonly string[]
}

export interface OracleKind {
  readonly group: string
  /** As it is served: a reference may have it in lower case. */
  readonly kind: string
  readonly isNamespaced: boolean
}

export interface OracleServer {
  /**
   * How a reference's kind is served: `unresolvable` as none, or not in that version; `absent` once
   * it was deleted with all its objects.
   */
  kindOf(reference: OracleReference): OracleKind | 'absent' | 'unresolvable'
  /** The very object at its coordinates. */
  find(place: Place): OracleObject | undefined
  /** Whether a collector gets events of that kind without asking. */
  isWatched(kind: string): boolean
}

export function groundOf(
  server: OracleServer,
  { namespace }: OracleObject,
  reference: OracleReference,
): Ground {
  const kind = server.kindOf(reference)
  if (typeof kind === 'string') return kind
  if (kind.isNamespaced && namespace === '') return 'unresolvable'
  const owner = server.find({
    uid: reference.uid,
    group: kind.group,
    kind: kind.kind,
    namespace: kind.isNamespaced ? namespace : '',
    name: reference.name,
  })
  return owner === undefined ? 'absent' : stateOf(owner)
}

function stateOf({ isDeleting, finalizers }: OracleObject): 'live' | 'waiting' | 'orphaning' {
  if (!isDeleting) return 'live'
  if (finalizers.includes('orphan')) return 'orphaning'
  return finalizers.includes('foregroundDeletion') ? 'waiting' : 'live'
}

/** Why the server may not be asked to delete an object with these references; empty when it may. */
export function objectionTo<R extends OracleReference>(
  references: readonly R[],
  ground: (reference: R) => Ground,
): string {
  if (references.length === 0) return 'it has no owner references (I2)'
  for (const reference of references) {
    const now = ground(reference)
    if (now === 'unresolvable') return `${reference.name} cannot be resolved (I6)`
    if (now === 'live') return `${reference.name} lives (I1)`
    if (now === 'orphaning') return `${reference.name} is orphaning (I1)`
  }
  return ''
}

export interface Leftover {
  readonly object: OracleObject
  /** It waits or orphans, and there is nothing that it could wait for (I17). */
  readonly isStuck: boolean
  readonly text: string
}

/**
 * The work that is left when all is quiet, for all objects of which a collector gets events; empty
 * when there is none.
 */
export function leftoversOf(
  server: OracleServer,
  objects: readonly OracleObject[],
): readonly Leftover[] {
  return objects.flatMap((object) => {
    const isStuck = isStuckOwner(server, object, objects)
    const what = isStuck ? `is ${stateOf(object)} for nothing (I17)` : leftOf(server, object)
    return what === '' ? [] : [{ object, isStuck, text: `${object.kind}/${object.name} ${what}` }]
  })
}

function leftOf(server: OracleServer, object: OracleObject): string {
  const { references, isDeleting } = object
  const grounds = references.map((each) => groundOf(server, object, each))
  const isBlocked = grounds.includes('unresolvable')
  // An owner of a kind that is not watched is verified only when the answer can decide something.
  const isAsked = !isBlocked && !isDeleting
  const namesOrphaning = references.some(
    ({ kind }, index) => grounds[index] === 'orphaning' && (isAsked || server.isWatched(kind)),
  )
  if (namesOrphaning) return 'still names an orphaning owner'
  if (isDeleting || grounds.length === 0 || isBlocked) return ''
  if (!grounds.includes('live')) return 'has no owner left (I16)'
  return grounds.every((ground) => ground === 'live')
    ? ''
    : 'names an absent owner beside a live one'
}

/**
 * An owner that waits for dependents though there are none, or none but those that wait for it in
 * turn.
 */
function isStuckOwner(
  server: OracleServer,
  owner: OracleObject,
  objects: readonly OracleObject[],
): boolean {
  const state = stateOf(owner)
  if (state === 'live') return false
  if (state === 'orphaning') return !objects.some((each) => namesOf(each, owner).length > 0)
  const reached = new Set([owner])
  for (const each of reached) {
    if (stateOf(each) !== 'waiting') return false
    for (const dependent of objects) if (blocks(server, dependent, each)) reached.add(dependent)
  }
  return true
}

/**
 * By whatever version: an owner that is already being deleted is waited for, and no request is sent
 * through that version.
 */
function namesOf({ namespace, references }: OracleObject, owner: OracleObject): OracleReference[] {
  const isNear = owner.namespace === '' || owner.namespace === namespace
  return references.filter(
    ({ apiVersion, kind, name, uid }) =>
      isNear &&
      uid === owner.uid &&
      isWritten(kind, owner.kind) &&
      name === owner.name &&
      groupIn(apiVersion) === owner.group,
  )
}

/** As it is, or in lower case. */
function isWritten(written: string, kind: string): boolean {
  return written === kind || written === kind.toLowerCase()
}

/**
 * A dependent that can never be deleted for lack of an owner blocks no owner, unless it is already
 * being deleted.
 */
function blocks(server: OracleServer, object: OracleObject, owner: OracleObject): boolean {
  const names = namesOf(object, owner)
  if (!names.some(({ blockOwnerDeletion }) => blockOwnerDeletion === true)) return false
  if (object.isDeleting) return true
  const grounds = object.references.map((each) => groundOf(server, object, each))
  return !grounds.includes('unresolvable') || grounds.includes('orphaning')
}

/** `apps/v1` names the group `apps`, `v1` the one without a name. */
export function groupIn(apiVersion: string): string {
  const [group = '', version] = apiVersion.split('/')
  return version === undefined ? '' : group
}
