/**
 * The public record of an object's state, and the other public records.
 *
 * What must stay true: every shape here has its schema in schemas/, and absent is null.
 *
 * Not here: history, which the fold writes (core/model/record.ts), internal records of the services
 * on the log (service-record.ts).
 */
import type { Admission, Doubt, HeldBy, Phase, Verdict } from '../../core/model/node.ts'
import type { ClusterId, Coordinates, OwnerReference, Scope, Uid } from '../../core/model/object.ts'
import type { Evidence, Proof } from '../../core/model/proof.ts'
import type { History } from '../../core/model/record.ts'
import type { Standing } from '../../core/model/reference.ts'

/** Public, compacted: the present state of one object. A tombstone follows after the retention. */
export interface Lineage extends Coordinates {
  readonly type: 'Lineage'
  readonly cluster: ClusterId
  readonly clusterName: string
  readonly uid: Uid
  readonly version: string
  readonly scope: Scope
  /** `gone` once a deletion is folded. */
  readonly phase: Phase | 'gone'
  /** `unwatched`: its kind is unwatched by now. */
  readonly doubt: Doubt | 'unwatched' | null
  /** Null where it is not being deleted, and once it is gone. */
  readonly deletion: KnownDeletion | null
  /** Of more than 64 the first 16. */
  readonly owners: readonly LineageOwner[]
  readonly createdAt: number | null
  readonly deletedAt: number | null
  /** The last verdict in one sentence, empty if there never was one. */
  readonly why: string
  /** Its type, whatever holds it. */
  readonly verdict: Verdict['type'] | null
  /** What holds that verdict; null for nothing. */
  readonly admission: Admission | null
  /** Deprecated: `admission.by`. */
  readonly heldBy: HeldBy | null
  /** Deprecated: `admission`, with the verdict's reason. */
  readonly held: KnownHold | null
  readonly evidence: Evidence | null
  readonly position: bigint
  /** Append time of the event at `position`, in milliseconds. */
  readonly at: number
  /** How many owners there are behind those in `owners`. */
  readonly moreOwners: number
  /** Plural name in paths, such as `deployments`; empty in records of older versions. */
  readonly resource: string
  /** Of one that is `gone`: how it left. Null for others, and in records of older versions. */
  readonly departure: Departure | null
}

export interface Departure {
  readonly evidence: Proof['class']
  /** A live watch observed the deletion; of evidence `deleted` a live GET may have confirmed it. */
  readonly isWatched: boolean
  /** It orphaned its dependents. */
  readonly isOrphaning: boolean
  /** Of its cluster, then. */
  readonly clusterEpoch: number
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

/**
 * Of an object that would be deleted, or lose references, and is listed as held: in mode observe
 * none is.
 */
export interface KnownHold {
  readonly by: HeldBy
  readonly evidence: Evidence | null
  /** What would be done. */
  readonly what: string
  /** Since when it would be done, and when it may be; null when only an event can help. */
  readonly since: number
  readonly until: number | null
  /** Of the verdict, and of what holds it. */
  readonly because: string
}

export interface KnownDeletion {
  /** Who asked for it. */
  readonly by: 'kinfold' | 'others'
  /** A server has said that it is gone; no watch has confirmed it yet. */
  readonly isGone: boolean
}

/** What is known of an object once an event is folded. */
export interface KnownObject {
  /** Null: it is not in the graph any more: deleted, or of an unwatched kind. */
  readonly phase: Phase | null
  readonly createdAt: number | null
  readonly deletedAt: number | null
  /** None where it is not in the graph any more; of more than 64 the first 16. */
  readonly owners: readonly OwnerReference[]
  readonly held: KnownHold | null
  /** Where there are more than 64: all of them. Null for others. */
  readonly long: LongOwners | null
}

/**
 * A long list of owners, in chunks: an entry about one changed reference has the names of all of
 * them, and the one chunk that is new.
 */
export interface LongOwners {
  /** All together they are the list, in this order. */
  readonly chunks: readonly ChunkName[]
  /** Those that no entry about this object has had since it was created. */
  readonly added: readonly AddedChunk[]
}

/** Unique for the object: what is in it never changes. */
export interface ChunkName {
  readonly name: string
  /** How many references it has. */
  readonly count: number
}

export interface AddedChunk {
  readonly name: string
  readonly references: readonly OwnerReference[]
}

/** Public: a change as the fold writes it, with the object after it. */
export interface HistoryRecord extends History {
  /**
   * Of `created`, `references`, `phase` and `gone`, and of others after which the object is
   * another; null in the rest, and of older versions.
   */
  readonly object: KnownObject | null
}

export type PublicRecord = Lineage | HistoryRecord
