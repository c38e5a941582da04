/**
 * The mark on what a restore made: an annotation whose key ends with the uid that the object had,
 * and whose value names the object.
 *
 * What must stay true: only an object that has the mark of its own former uid, with its own name,
 * counts as restored. Controllers copy annotations from owners to dependents, over and over, a
 * Deployment's to its ReplicaSets (core/model/mark.ts): each object has a key of its own, so that
 * no copy replaces it, and the value of a copy names the object that it is about. An object that is
 * restored again keeps the marks that it had: it is still the same.
 */
import { createHash } from 'node:crypto'
import type { Coordinates, ObjectMeta, Pair, Uid } from '../../core/model/object.ts'
import { markedName, RESTORED_FROM } from '../../ports/record/restored-mark.ts'
import { FORMER_RESTORED_FROM } from '../../ports/restorer.ts'

type Named = Pick<Coordinates, 'group' | 'kind' | 'name'>

export function markOf(object: Named & { readonly uid: Uid }): Pair {
  return { key: keyOf(object.uid), value: markedName(object) }
}

export function isRestored(found: ObjectMeta, from: Uid): boolean {
  const mark = markOf({ ...found, uid: from })
  return found.annotations.some(
    ({ key, value }) =>
      (key === mark.key && value === mark.value) ||
      (key === FORMER_RESTORED_FROM && value === from),
  )
}

/**
 * What API servers give is a UUID; of another's uid that can be no part of a key, its digest is.
 */
function keyOf(uid: Uid): string {
  if (KEY_PART.test(uid)) return `${RESTORED_FROM}${uid}`
  return `${RESTORED_FROM}${createHash('sha256').update(uid).digest('hex').slice(0, 63)}`
}

const KEY_PART = /^[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?$/
