/**
 * Which objects a bundle of evidence is about, while its records are folded: one, an owner with all
 * that names it as an owner, or all.
 *
 * What must stay true: it follows from the records alone, so who verifies finds the same objects.
 * An object stays in once it was in.
 *
 * Not here: which records are folded.
 */
import { edgesPrefix } from '../../../core/graph/key.ts'
import type { Event } from '../../../core/model/event.ts'
import type { ClusterId, Uid } from '../../../core/model/object.ts'
import { objectKey } from '../../../core/model/partition.ts'
import { entriesIn, prefixRange, type Store } from '../../../ports/store.ts'
import type { About } from './statement.ts'

const PAGE_LIMIT = 1_000

export class Members {
  readonly #about: About
  readonly #store: Store
  readonly #uids = new Set<Uid>()
  #isBegun = false

  constructor(about: About, store: Store) {
    this.#about = about
    this.#store = store
    if (about.type !== 'span') this.#uids.add(about.uid)
  }

  /** By `objectKey`. */
  has(key: string): boolean {
    const { cluster } = this.#about
    if (cluster === null) return true
    const prefix = objectKey(cluster, '')
    if (!key.startsWith(prefix)) return false
    return this.#about.type === 'span' || this.#uids.has(key.slice(prefix.length))
  }

  /** Before the first event that counts, with all before it in the store. */
  async begin(): Promise<void> {
    if (this.#isBegun || this.#about.type !== 'cascade') return
    this.#isBegun = true
    await this.#addDependentsOf(this.#about.cluster, this.#about.uid)
  }

  /** After an event, with what came of it in the store. */
  async follow(event: Event): Promise<void> {
    if (this.#about.type !== 'cascade') return
    if (event.type !== 'ObjectAdded' && event.type !== 'ObjectUpdated') return
    const { cluster, object } = event
    const isDependent = object.ownerReferences.some(({ uid }) => this.#uids.has(uid))
    if (cluster !== this.#about.cluster || !isDependent || this.#uids.has(object.uid)) return
    this.#uids.add(object.uid)
    await this.#addDependentsOf(cluster, object.uid)
  }

  async #addDependentsOf(cluster: ClusterId, root: Uid): Promise<void> {
    const agenda = [root]
    for (let owner = agenda.pop(); owner !== undefined; owner = agenda.pop()) {
      for await (const dependent of this.#dependentsOf(cluster, owner)) {
        if (this.#uids.has(dependent)) continue
        this.#uids.add(dependent)
        agenda.push(dependent)
      }
    }
  }

  async *#dependentsOf(cluster: ClusterId, owner: Uid): AsyncIterable<Uid> {
    // At whatever coordinates they name it.
    const range = prefixRange(edgesPrefix(cluster, owner, '').slice(0, -1), PAGE_LIMIT)
    for await (const [key] of entriesIn(this.#store, range)) {
      yield decodeURIComponent(key.slice(key.lastIndexOf('/') + 1))
    }
  }
}
