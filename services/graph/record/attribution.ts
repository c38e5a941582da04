/**
 * Who deleted an object, and after the deletion of which owner: the same for `deletions` and `diff`.
 *
 * What must stay true: what is inferred is called so, and nothing is inferred from a user's request.
 *
 * Not here: whether Kinfold did it (life.ts), which request it was (query/actor.ts).
 */
import type { Identity } from '../../../core/graph/identity.ts'
import type { DeletedObject, FoundActor } from '../query/actor.ts'
import { type ExpectedEnd, inferredEnd } from '../query/expected-end.ts'
import type { Deleters } from './deleter.ts'
import type { Life, Lives, Named } from './life.ts'

export interface Attribution {
  readonly deletedBy: FoundActor | null
  readonly root: Named | null
  /** Who asked for the deletion of `root`; null where nobody can say. */
  readonly rootDeletedBy: FoundActor | null
  /** Another collector deleted it, and the record has that `root` was why. */
  readonly isInferred: boolean
  /** Owners by whose deletion it was deleted, the nearest first. */
  readonly owners: readonly Identity[]
}

export interface Attributors {
  readonly lives: Lives
  readonly deleters: Deleters
}

export async function attributionOf(
  { lives, deleters }: Attributors,
  of: Identity,
  object: DeletedObject,
  life: Life,
): Promise<Attribution> {
  const deletedBy = await deleters.of(object, life)
  const { by, reaped } = life
  let last: FoundActor | null = null
  const inferred = async (owner: Identity, its: Life): Promise<ExpectedEnd | null> => {
    last = its.by === 'others' ? await deleters.of(owner, its) : null
    return its.by === 'others' ? inferredEnd(its.history, last) : null
  }
  const decided = reaped ?? (by === 'others' ? inferredEnd(life.history, deletedBy) : null)
  const chain = decided === null ? undefined : await lives.chainOf(of, decided, inferred)
  const root = chain?.root ?? null
  return {
    ...{ deletedBy, root, rootDeletedBy: root === null ? null : last },
    isInferred: reaped === null && root !== null,
    owners: chain?.owners ?? [],
  }
}
