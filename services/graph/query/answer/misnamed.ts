/**
 * Objects that reference the uid of an object by other coordinates: in another namespace, of
 * another kind, by another name. They are no dependents, and no decision depends on them; but a
 * user who searches for the dependents of an object may have meant these, so they are listed apart
 * from them.
 *
 * What must stay true: nothing else of an answer is about them, and a bounded number is read,
 * however many other users write.
 *
 * Not here: which objects are dependents (core/graph/identity.ts).
 */
import type { Identity } from '../../../../core/graph/identity.ts'
import { bearersPrefix, lastPart } from '../../../../core/graph/key.ts'
import { prefixRange } from '../../../../ports/store.ts'
import type { Misnamed } from '../../api/part-schema.ts'
import type { HistoryIndex } from '../index/history-index.ts'
import type { Sight } from '../view/sight.ts'
import { edgesOf, type View } from '../view/view.ts'

/** References that one answer names, and keys that it reads at most. */
const MOST_NAMED = 20
const MOST_READ = 200

export type MisnamedReference = Misnamed['references'][number]

export const NONE_MISNAMED: Misnamed = { references: [], hidden: 0, isCut: false }

export interface MisnamedAsked {
  readonly sight: Sight
  /** The index has not read all that the log held when the question was asked. */
  readonly isBehind: boolean
}

/**
 * Most have an edge, to other coordinates. Those whose reference is unresolvable are found by the
 * index, which has the references of now alone: of a moment some of them may be missing.
 */
export async function misnamedIn(
  view: View,
  index: Pick<HistoryIndex, 'namesOf'>,
  owner: Identity,
  { sight, isBehind }: MisnamedAsked,
): Promise<Misnamed> {
  const { cluster, uid } = owner
  // Those with an edge that has the owner's uid, and not its coordinates.
  const all = prefixRange(bearersPrefix(cluster, uid), MOST_READ)
  const own = prefixRange(edgesOf(owner), MOST_READ)
  const before = await view.store.page({ ...all, lt: own.gte })
  const behind = await view.store.page({ ...all, gte: own.lt })
  const bearers = [...before.rows, ...behind.rows].map(([key]) => lastPart(key))
  bearers.push(...(await index.namesOf(cluster).unresolved(cluster, uid, MOST_READ)))
  const references: MisnamedReference[] = []
  let hidden = 0
  for (const bearer of new Set(bearers)) {
    if (references.length + hidden >= MOST_NAMED) return { references, hidden, isCut: true }
    await view.turns.take()
    const object = view.node(bearer)?.object
    const wrong = object?.ownerReferences.find((each) => {
      return each.uid === uid && !view.isNamed(owner, object, each)
    })
    if (object === undefined || wrong === undefined) continue
    if (sight.isWhole || (await sight.shows(object))) {
      const { group, kind, namespace, name } = object
      const { apiVersion, kind: writtenKind, name: writtenName } = wrong
      const reference = { apiVersion, kind: writtenKind, name: writtenName }
      references.push({ group, kind, namespace, name, uid: bearer, reference })
    } else hidden += 1
  }
  return { references, hidden, isCut: bearers.length >= MOST_READ || isBehind }
}
