/**
 * Of a rule that is tried on a log, and asks for owners in other clusters: which objects name one,
 * whether that was deleted by then, and which objects are held.
 *
 * What must stay true: an owner is gone only by what the log says of it, as in the fold
 * (core/judge/elsewhere.ts). While its cluster is not followed nothing is due, and the time counts
 * from when it is followed again.
 *
 * Not here: when an object is due (rule-trial.ts).
 */
import type { ClusterFacts } from '../../../core/graph/facts.ts'
import { elsewhereOf, unfollowedBecause } from '../../../core/judge/elsewhere.ts'
import type { ClusterElsewhere, OwnerElsewhere } from '../../../core/model/event.ts'
import type { ObjectMeta, Uid } from '../../../core/model/object.ts'
import { objectKey } from '../../../core/model/partition.ts'
import { type OwnerElsewhereName, ownerNamedBy } from '../../../core/model/rule/elsewhere.ts'
import type { Rule } from '../../../core/model/rule/rule.ts'

interface Naming {
  readonly uid: Uid
  readonly owner: OwnerElsewhereName
}

export class FarTrial {
  /** By object key. */
  readonly #naming = new Map<string, Naming>()
  /** Object keys by `CLUSTER/OWNER'S CLUSTER`. */
  readonly #byCluster = new Map<string, Set<string>>()
  /** Object keys of those whose owner was deleted. */
  readonly #deleted = new Set<string>()
  /** Of these: their cluster of owners is not followed. */
  readonly #cutOff = new Set<string>()
  /** By `CLUSTER/OWNER'S CLUSTER`: since when it is followed; 0: it is not. */
  readonly #since = new Map<string, number>()

  /** 0 by a rule that does not ask; null: it is not due. */
  goneSince(facts: ClusterFacts, rule: Rule, object: ObjectMeta): number | null {
    if (rule.elsewhere === null) return 0
    const key = objectKey(facts.cluster, object.uid)
    this.#note(key, facts, object)
    const status = elsewhereOf(facts, rule, object)
    this.#cutOff.delete(key)
    if (status?.type !== 'deleted') {
      this.#deleted.delete(key)
      return null
    }
    this.#deleted.add(key)
    if (unfollowedBecause(facts, rule.elsewhere.cluster) === '') return status.since
    this.#cutOff.add(key)
    return null
  }

  /** What is decided anew by that, of the cluster of these facts. */
  toLookAt(facts: ClusterFacts, event: OwnerElsewhere | ClusterElsewhere): readonly Uid[] {
    const of = `${facts.cluster}/${event.ownerCluster}`
    const all = [...(this.#byCluster.get(of) ?? [])].flatMap((key) => {
      const naming = this.#naming.get(key)
      return naming === undefined ? [] : [{ key, ...naming }]
    })
    if (event.type === 'OwnerElsewhere') {
      return all.filter(({ owner }) => owner.uid === event.uid).map(({ uid }) => uid)
    }
    const since = facts.elsewhereCluster(event.ownerCluster)?.since ?? 0
    const isAnew = this.#since.get(of) !== since
    this.#since.set(of, since)
    return all.filter(({ key }) => isAnew || this.#cutOff.has(key)).map(({ uid }) => uid)
  }

  leave(key: string): void {
    this.#forget(key)
    this.#deleted.delete(key)
    this.#cutOff.delete(key)
  }

  /** `pending`: object keys of which the time has not come. */
  heldOf(pending: ReadonlyMap<string, number>): number {
    return [...this.#deleted].filter((key) => pending.has(key) || this.#cutOff.has(key)).length
  }

  #note(key: string, { cluster }: ClusterFacts, { uid, annotations }: ObjectMeta): void {
    const owner = ownerNamedBy(annotations)
    const former = this.#naming.get(key)?.owner
    if (former?.uid === owner?.uid && former?.cluster === owner?.cluster) return
    this.#forget(key)
    if (owner === null) return
    this.#naming.set(key, { uid, owner })
    const of = `${cluster}/${owner.cluster}`
    const keys = this.#byCluster.get(of) ?? new Set()
    this.#byCluster.set(of, keys.add(key))
  }

  #forget(key: string): void {
    const naming = this.#naming.get(key)
    if (naming === undefined) return
    this.#naming.delete(key)
    for (const keys of this.#byCluster.values()) keys.delete(key)
  }
}
