/**
 * The public record that the fold writes: history.
 *
 * What must stay true: its shape has its schema in schemas/, and absent is null.
 *
 * Not here: lineage, which is made from the stored state (ports/record/lineage.ts).
 */
import type { CommandId } from './id.ts'
import type { Admission, Phase } from './node.ts'
import type { ClusterId, Coordinates, Uid } from './object.ts'
import type { Evidence } from './proof.ts'

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
  /** Of `verdict`: what holds it from then on; null for nothing. */
  readonly admission: Admission | null
  readonly command: CommandId | null
  readonly partition: number
  /** Of the event that brought it about. */
  readonly position: bigint
  /** Offsets of the events and of the policy it rests on. */
  readonly basis: readonly bigint[]
  readonly at: number
}
