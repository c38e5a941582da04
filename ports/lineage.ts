/**
 * The public record of how an object stands, and what else others read.
 *
 * What must stay true: every shape here has its schema in schemas/, and absent is null.
 *
 * Not here: a change, which the fold tells (core/model/record.ts), what the services keep on the log for themselves (service-record.ts).
 */
import type { HeldBy, Phase, Verdict } from '../core/model/node.ts'
import type { ClusterId, Coordinates, OwnerReference, Scope, Uid } from '../core/model/object.ts'
import type { Evidence } from '../core/model/proof.ts'
import type { History } from '../core/model/record.ts'
import type { Standing } from '../core/model/reference.ts'

/** Public, compacted: what stands now about one object. A tombstone follows after the retention. */
export interface Lineage extends Coordinates {
  readonly type: 'Lineage'
  readonly cluster: ClusterId
  readonly clusterName: string
  readonly uid: Uid
  readonly version: string
  readonly scope: Scope
  /** `gone` once a deletion is folded. */
  readonly phase: Phase | 'gone'
  readonly owners: readonly LineageOwner[]
  readonly createdAt: number | null
  readonly deletedAt: number | null
  /** The last verdict in one sentence, empty if there never was one. */
  readonly why: string
  /** Its type. */
  readonly verdict: Verdict['type'] | null
  /** What holds it, if anything does. */
  readonly heldBy: HeldBy | null
  readonly evidence: Evidence | null
  readonly position: bigint
  /** Append time of the event at `position`, in milliseconds. */
  readonly at: number
}

export interface LineageOwner {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: Uid
  readonly controller: boolean
  readonly blocking: boolean
  readonly standing: Standing
}

/** What is known of an object once an event is folded. */
export interface KnownObject {
  /** Null: it is in the graph no more, deleted or of a kind that nobody watches. */
  readonly phase: Phase | null
  readonly createdAt: number | null
  readonly deletedAt: number | null
  /** None when it is in the graph no more. */
  readonly owners: readonly OwnerReference[]
}

/** Public: a change, as the fold tells it, and what it makes of the object. */
export interface HistoryRecord extends History {
  /** Of `created`, `references`, `phase` and `gone`; null in other entries, and of older versions. */
  readonly object: KnownObject | null
}

export type PublicRecord = Lineage | HistoryRecord
