/**
 * The mark on what `kinfold restore` made, as it is read: an annotation whose key ends with the uid
 * that the object had, and whose value names the object.
 *
 * What must stay true: a mark counts only on the object that it names: controllers copy annotations
 * to dependents. It is a claim, and no proof: any client that may write annotations may write it,
 * so no decision depends on it, and every answer that has it says where it is from.
 *
 * Not here: how it is written, and how a repeated restore recognises what it made
 * (services/restore/restored-mark.ts).
 */
import type { Coordinates, ObjectMeta, Uid } from '../../core/model/object.ts'

/**
 * Prefix of annotations on a restored object: a uid that it had follows. By them a repeated restore
 * recognises the objects that it created.
 */
export const RESTORED_FROM = 'restored-from.kinfold.dev/'

/** As the value of a mark has it. */
export function markedName({
  group,
  kind,
  name,
}: Pick<Coordinates, 'group' | 'kind' | 'name'>): string {
  return `${kind}${group === '' ? '' : `.${group}`}/${name}`
}

/**
 * The uids that its marks say it had, in the order of their text: which one was the last, no mark
 * says. Without those of which only a digest is known.
 */
export function restoredFrom(
  object: Pick<ObjectMeta, 'group' | 'kind' | 'name' | 'uid' | 'annotations'>,
): readonly Uid[] {
  const named = markedName(object)
  return object.annotations.flatMap(({ key, value }) => {
    if (!key.startsWith(RESTORED_FROM) || value !== named) return []
    const from = key.slice(RESTORED_FROM.length)
    return DIGEST.test(from) || from === object.uid ? [] : [from]
  })
}

/** What stands for a uid that can be no part of a key (services/restore/restored-mark.ts). */
const DIGEST = /^[0-9a-f]{63}$/
