/**
 * The public records: what others read (lineage, history).
 *
 * What must stay true: every shape here has its schema in schemas/, and absent is null.
 *
 * Not here: what the services keep on the log for themselves (ports/service-record.ts).
 */
import type { CommandId } from './id.ts'
import type { HeldBy, Phase, Verdict } from './node.ts'
import type { ClusterId, Coordinates, Scope, Uid } from './object.ts'
import type { Evidence } from './proof.ts'
import type { Standing } from './reference.ts'

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

export type HistoryChange =
  | 'created'
  | 'references'
  | 'phase'
  | 'verdict'
  | 'command'
  | 'result'
  | 'owner'
  | 'gone'

/** Public: one change that matters, of one object. */
export interface History extends Coordinates {
  readonly type: 'History'
  readonly cluster: ClusterId
  readonly uid: Uid
  readonly change: HistoryChange
  /** One sentence. */
  readonly text: string
  /** Of `created` and `phase`: the object's from then on. */
  readonly phase: Phase | null
  readonly evidence: Evidence | null
  readonly command: CommandId | null
  readonly partition: number
  /** Of the event that brought it about. */
  readonly position: bigint
  /** Offsets of the events and of the policy it rests on. */
  readonly basis: readonly bigint[]
  readonly at: number
}

export type PublicRecord = Lineage | History
