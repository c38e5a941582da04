/**
 * Objects that were deleted beside an owner that still existed, for as long as another watch may
 * report that the owner was deleted before them.
 *
 * What must stay true: bounded in number and time; forgotten with the process, which leaves them as
 * unclear as they were.
 */
import type { ClusterId, Uid } from '../../../core/model/object.ts'
import type { Lineage } from '../../../ports/record/lineage.ts'

/** Log time between the reports of two watches of one moment; and how many are remembered. */
const SKEW_MS = 30_000
const MOST = 10_000

export interface Doubt {
  /** The key of its case. */
  readonly slot: string
  readonly at: number
  readonly living: Set<string>
}

export class Doubts {
  /** In order of time, nearly. */
  readonly #all = new Set<Doubt>()
  readonly #byOwner = new Map<string, Set<Doubt>>()

  add({ cluster, at }: Lineage, living: readonly Uid[], slot: string): void {
    const doubt: Doubt = { slot, at, living: new Set(living.map((uid) => keyOf(cluster, uid))) }
    this.#all.add(doubt)
    for (const owner of doubt.living) {
      const beside = this.#byOwner.get(owner) ?? new Set()
      this.#byOwner.set(owner, beside.add(doubt))
    }
    for (const old of this.#all) {
      if (this.#all.size <= MOST && at - old.at <= SKEW_MS) break
      this.#forget(old)
    }
  }

  /** Those without a living owner, now that this one was deleted. */
  settled({ cluster, uid, at }: Lineage): readonly Doubt[] {
    const owner = keyOf(cluster, uid)
    const beside = [...(this.#byOwner.get(owner) ?? [])]
    for (const doubt of beside) doubt.living.delete(owner)
    const settled = beside.filter(({ living, at: left }) => {
      return living.size === 0 && at - left <= SKEW_MS
    })
    for (const doubt of settled) this.#all.delete(doubt)
    this.#byOwner.delete(owner)
    return settled
  }

  clear(): void {
    this.#all.clear()
    this.#byOwner.clear()
  }

  #forget(doubt: Doubt): void {
    this.#all.delete(doubt)
    for (const owner of doubt.living) {
      const beside = this.#byOwner.get(owner)
      beside?.delete(doubt)
      if (beside?.size === 0) this.#byOwner.delete(owner)
    }
  }
}

function keyOf(cluster: ClusterId, uid: Uid): string {
  return `${cluster}/${uid}`
}
