/**
 * The long lists of owner references that a watcher published last, as a number for each reference:
 * a change of one reference is published as that change.
 *
 * What must stay true: nothing here is needed for a right result. What is forgotten is published
 * whole; an edit names the content that it is of and the content that comes of it, so the fold
 * takes it for nothing else (services/graph/fold/bytes/edited-object.ts). The numbers depend on a
 * salt of this process, so no author of references can make two of them look like one.
 *
 * Not here: lists of usual length, which are published whole. Eight bytes a reference, of those
 * that are long.
 */
import { LONG_LIST } from '../../../core/model/constant.ts'
import { lanes } from '../../../core/model/hash.ts'
import type { ObjectMeta, OwnerReference, Uid } from '../../../core/model/object.ts'
import type { Random } from '../../../ports/random.ts'
import { editsOf, type ListEdit } from '../../../ports/record/list-edit.ts'

interface Published {
  /** `projectionHash` of the object. */
  readonly hash: string
  readonly numbers: Float64Array
}

export interface Edit {
  readonly base: string
  readonly edits: readonly ListEdit<OwnerReference>[]
}

export class LongLists {
  readonly #byUid = new Map<Uid, Published>()
  readonly #random: Random
  #salt: string | undefined

  constructor(random: Random) {
    this.#random = random
  }

  /**
   * To be called with each object that is published, with the hash of its projection. Undefined: it
   * is published whole. With `isWhole` it is in any case, and is what the next edit is of.
   */
  editOf(object: ObjectMeta, hash: string, isWhole: boolean): Edit | undefined {
    const { uid, ownerReferences } = object
    const known = this.#byUid.get(uid)
    if (ownerReferences.length <= LONG_LIST) {
      if (known !== undefined) this.#byUid.delete(uid)
      return undefined
    }
    this.#salt ??= `${this.#random.next()} ${this.#random.next()}`
    const salt = this.#salt
    const numbers = Float64Array.from(ownerReferences, (reference) => numberOf(reference, salt))
    this.#byUid.set(uid, { hash, numbers })
    if (known === undefined || isWhole) return undefined
    const edits = editsOf(ownerReferences, numbers, known.numbers)
    const added = edits.reduce((sum, edit) => sum + edit.added.length, 0)
    return 2 * added > ownerReferences.length ? undefined : { base: known.hash, edits }
  }

  forget(uid: Uid): void {
    this.#byUid.delete(uid)
  }
}

/** Of as many bits as a number has. */
function numberOf(reference: OwnerReference, salt: string): number {
  const { apiVersion, kind, name, uid, controller, blockOwnerDeletion } = reference
  const fields = [apiVersion, kind, name, uid, controller, blockOwnerDeletion]
  const [high, low] = lanes(salt + JSON.stringify(fields))
  return high * 2 ** 21 + (low >>> 11)
}
