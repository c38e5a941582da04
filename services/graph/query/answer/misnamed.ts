/**
 * What bears an object's uid in a reference that names other coordinates: in another namespace, of
 * another kind, by another name. It is no dependent, and nothing is decided by it; but who looks
 * for the dependents of an object may have meant these, so they are told apart from them.
 *
 * What must stay true: nothing else of an answer is about them, and a bounded number is read,
 * whatever strangers write.
 *
 * Not here: who is a dependent (core/graph/identity.ts).
 */
import type { Identity } from '../../../../core/graph/identity.ts'
import type { Coordinates, OwnerReference, Uid } from '../../../../core/model/object.ts'
import type { Misnamed } from '../../api/part-schema.ts'
import type { Turns } from '../../turns.ts'
import type { HistoryIndex } from '../index/history-index.ts'
import { type SpanIndex, uidIn } from '../index/span-index.ts'
import type { Sight } from '../view/sight.ts'
import type { View } from '../view/view.ts'

/** References that one answer names, and keys that it reads at most. */
const MOST_NAMED = 20
const MOST_READ = 200

export type MisnamedReference = Misnamed['references'][number]

export const NONE_MISNAMED: Misnamed = { references: [], hidden: 0, isCut: false }

/** An object that has references, at the moment that is asked about. */
export interface Referring {
  readonly object: Coordinates & { readonly uid: Uid }
  readonly references: readonly OwnerReference[]
  /** Of one of these. */
  names(reference: OwnerReference): boolean
}

export interface MisnamedParts {
  readonly spans: SpanIndex
  readonly turns: Turns
  readonly sight: Sight
  /** Undefined where it is not there. */
  readonly referring: (uid: Uid) => Referring | undefined
}

/** Of now. */
export async function misnamedIn(
  view: View,
  index: Pick<HistoryIndex, 'spans' | 'caughtUp'>,
  owner: Identity,
  sight: Sight,
): Promise<Misnamed> {
  const isBehind = (await index.caughtUp()) > 0n
  const referring = (uid: Uid): Referring | undefined => {
    const object = view.node(uid)?.object
    if (object === undefined) return undefined
    const names = (reference: OwnerReference): boolean => view.isNamed(owner, object, reference)
    return { object, references: object.ownerReferences, names }
  }
  const parts = { spans: index.spans, turns: view.turns, sight, referring }
  const known = await misnamedOf(owner, parts)
  return { ...known, isCut: known.isCut || isBehind }
}

export async function misnamedOf(
  owner: Identity,
  { spans, turns, sight, referring }: MisnamedParts,
): Promise<Misnamed> {
  const references: MisnamedReference[] = []
  let hidden = 0
  const keys = await spans.misnamedPage(owner, MOST_READ)
  const seen = new Set<Uid>()
  for (const uid of keys.map(uidIn)) {
    if (references.length + hidden >= MOST_NAMED) return { references, hidden, isCut: true }
    await turns.take()
    if (seen.has(uid)) continue
    seen.add(uid)
    const found = referring(uid)
    const wrong = found?.references.find((each) => each.uid === owner.uid && !found.names(each))
    if (found === undefined || wrong === undefined) continue
    if (sight.isWhole || (await sight.shows(found.object))) {
      const { group, kind, namespace, name } = found.object
      const { apiVersion, kind: writtenKind, name: writtenName } = wrong
      const reference = { apiVersion, kind: writtenKind, name: writtenName }
      references.push({ group, kind, namespace, name, uid, reference })
    } else hidden += 1
  }
  return { references, hidden, isCut: keys.length >= MOST_READ }
}
