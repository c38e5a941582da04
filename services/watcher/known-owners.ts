/**
 * What is remembered of the owners of another cluster, and whose make room when there are too many.
 *
 * What must stay true: a namespace with its share or less never makes room for another one's. What
 * makes room is left out for as long as this lives: to know only some owners of a namespace would
 * tell a deletion of one apart from that of another by chance.
 *
 * Not here: what is known of an owner, what is published (owner-bridge.ts).
 */
import type { Uid } from '../../core/model/object.ts'

/** Some 50 MB. */
const MOST_OWNERS = 100_000
const SHARE = 1_000

interface InNamespace {
  readonly namespace: string
}

export class KnownOwners<Known extends InNamespace> {
  readonly #byUid = new Map<Uid, Known>()
  readonly #counts = new Map<string, number>()
  readonly #leftOut = new Set<string>()
  #isFull = false

  /** There is no room, though no namespace has more than its share: of some nothing is known. */
  get isFull(): boolean {
    return this.#isFull
  }

  /** Namespaces of whose owners nothing is known: they had most when there was no room. */
  get leftOut(): ReadonlySet<string> {
    return this.#leftOut
  }

  get(uid: Uid): Known | undefined {
    return this.#byUid.get(uid)
  }

  has(uid: Uid): boolean {
    return this.#byUid.has(uid)
  }

  /** Those that were forgotten for it; itself, where there is no room for it. */
  set(uid: Uid, known: Known): readonly Uid[] {
    const { namespace } = known
    const former = this.#byUid.get(uid)
    if (former?.namespace === namespace) {
      this.#byUid.set(uid, known)
      return []
    }
    // An API server behind another one may give a uid twice: each namespace counts its own.
    if (former !== undefined) this.delete(uid)
    if (this.#leftOut.has(namespace)) return [uid]
    const forgotten = this.#byUid.size < MOST_OWNERS ? [] : this.#makeRoom()
    if (this.#leftOut.has(namespace) || this.#isFull) return [...forgotten, uid]
    this.#byUid.set(uid, known)
    this.#counts.set(namespace, (this.#counts.get(namespace) ?? 0) + 1)
    return forgotten
  }

  delete(uid: Uid): void {
    const known = this.#byUid.get(uid)
    if (known === undefined) return
    this.#byUid.delete(uid)
    const left = (this.#counts.get(known.namespace) ?? 0) - 1
    if (left > 0) this.#counts.set(known.namespace, left)
    else this.#counts.delete(known.namespace)
  }

  #makeRoom(): readonly Uid[] {
    let [most, count] = ['', 0]
    for (const [each, many] of this.#counts) if (many > count) [most, count] = [each, many]
    if (count <= SHARE) {
      this.#isFull = true
      return []
    }
    this.#leftOut.add(most)
    const uids = [...this.#byUid].flatMap(([uid, { namespace }]) =>
      namespace === most ? [uid] : [],
    )
    for (const uid of uids) this.delete(uid)
    return uids
  }
}
