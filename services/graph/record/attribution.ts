/**
 * Who deleted an object, and after the deletion of which owner, or of its namespace: the one place
 * that decides it, for every answer that names a user.
 *
 * What must stay true: an inference is called one; nothing is inferred from a user's request, nor
 * from one of a controller; where a collector followed an owner that is unknown, the answer says so
 * (`isRootKnown`), and names no user for it. Bounded in owners and in records that are read.
 *
 * Not here: whether Kinfold did it (life.ts), which request it was (query/answer/actor.ts), why
 * (query/answer/deletion-cause.ts).
 */
import { type Identity, identityOf, isSameIdentity } from '../../../core/graph/identity.ts'
import type { DeletedBy, DeletedObject, FoundActor } from '../query/answer/actor.ts'
import { type Cause, causeNow, causeOf, type Deletion } from '../query/answer/deletion-cause.ts'
import type { Deleters } from './deleter.ts'
import { type Life, type Lives, MOST_OF_CHAIN, type OwnerBehind } from './life.ts'

/** Owners above each other. */
const MOST_LEVELS = 100

export interface Attribution {
  readonly deletion: Deletion
  /** Owners by whose deletion it was deleted, the nearest first; after them its namespace. */
  readonly owners: readonly Identity[]
  /** Of it and of those: each that a user is known to have asked for. */
  readonly deletedBy: readonly DeletedBy[]
}

export interface Attributors {
  readonly lives: Lives
  readonly deleters: Pick<Deleters, 'of' | 'ofOwner' | 'unprovenOf'>
}

/** Of a life that is over, or whose deletion has begun. */
export async function attributionOf(
  parts: Attributors,
  object: DeletedObject,
  life: Life,
): Promise<Attribution> {
  const of = identityOf(object.cluster, object)
  const { by, reaped } = life
  const deletedBy = await parts.deleters.of(object, life)
  const chain = await chainOf(parts, of, causeIn(life, deletedBy))
  const { root, rootDeletedBy, isInferred, isRootKnown, owners } = chain
  const deletion: Deletion = {
    by,
    ...{ evidence: reaped?.evidence ?? null, command: reaped?.command ?? null },
    ...{ deletedBy, root, rootDeletedBy, isInferred, isRootKnown },
    unproven: by === 'kinfold' ? null : parts.deleters.unprovenOf(life),
    unseenSince: life.unseenSince,
    text: reaped?.text ?? '',
  }
  const own = deletedBy === null ? [] : [{ object: namedOf(of), isInferred: false, ...deletedBy }]
  return { deletion, owners, deletedBy: [...own, ...chain.deletedBy] }
}

/** Of one that exists, and that a verdict says may be deleted: by whom its owners were. */
export async function ownersDeletedBy(
  parts: Attributors,
  object: DeletedObject,
  life: Life,
): Promise<readonly DeletedBy[]> {
  const of = identityOf(object.cluster, object)
  return (await chainOf(parts, of, causeNow(life.history))).deletedBy
}

function causeIn({ reaped, ...life }: Life, actor: FoundActor | null): Cause {
  // A rule decides by the object alone.
  if (reaped?.evidence === 'rule') return { type: 'own' }
  return causeOf({ ...life, decidedAt: reaped?.at ?? null }, actor)
}

type Chain = Pick<Deletion, 'root' | 'rootDeletedBy' | 'isInferred' | 'isRootKnown'> &
  Pick<Attribution, 'owners' | 'deletedBy'>

/**
 * Up to the owner, or the namespace, that neither a collector nor the namespace controller deleted.
 */
async function chainOf(parts: Attributors, of: Identity, first: Cause): Promise<Chain> {
  const { lives, deleters } = parts
  const owners: Identity[] = []
  const deletedBy: DeletedBy[] = []
  const nobody = { root: null, rootDeletedBy: null, isInferred: false, isRootKnown: false }
  const begun = lives.read
  let isInferred = false
  let last: { readonly life: Life; readonly actor: FoundActor | null } | undefined
  let [below, cause] = [of, first]
  for (let level = 0; level < MOST_LEVELS && lives.read - begun < MOST_OF_CHAIN; level++) {
    const above = await causeAbove(lives, below, cause)
    if (above === 'own') {
      const root = last?.life.object ?? null
      const rootDeletedBy = root === null ? null : (last?.actor ?? null)
      isInferred &&= root !== null
      return { root, rootDeletedBy, isInferred, isRootKnown: true, owners, deletedBy }
    }
    if (above === 'unknown') break
    const { owner, life } = above
    if (owners.some((each) => isSameIdentity(each, owner))) break
    owners.push(owner)
    isInferred ||= above.isInferred
    const actor = await deleters.ofOwner(owner, life)
    if (actor !== null) deletedBy.push({ object: namedOf(owner), isInferred, ...actor })
    last = { life, actor }
    below = owner
    cause = causeIn(life, actor)
  }
  return { ...nobody, owners, deletedBy }
}

type Above = OwnerBehind & { readonly isInferred: boolean }

/** `own`: nothing above it was the cause. */
async function causeAbove(
  lives: Lives,
  of: Identity,
  cause: Cause,
): Promise<Above | 'own' | 'unknown'> {
  if (cause.type === 'own') return 'own'
  if (cause.type === 'owner') {
    const above = await lives.ownerBehind(of, cause)
    if (above === 'there' || above === 'unknown') return 'unknown'
    return { ...above, isInferred: cause.isInferred }
  }
  const { begun } = cause
  const namespace = begun === null ? undefined : await lives.namespaceBehind(of, begun)
  const above = namespace && { ...namespace, isInferred: true }
  if (cause.type === 'namespace') return above ?? 'unknown'
  const { at } = cause
  const owner = at === null ? 'unknown' : await lives.ownerBehind(of, { at, isInferred: true })
  const isThere = owner === 'there' || owner === 'unknown'
  // An owner that was deleted before the namespace was may be the nearer cause.
  if (above !== undefined && (isThere || endOf(owner) >= endOf(above))) return above
  return owner === 'there' ? 'own' : 'unknown'
}

function endOf({ life }: OwnerBehind): number {
  return life.endedAt ?? 0
}

function namedOf({ group, kind, namespace, name, uid }: Identity): DeletedBy['object'] {
  return { group, kind, namespace, name, uid }
}
