/**
 * Which records have a schema. A type missing here, or one too many, does not compile.
 */
import { STATE_TYPES } from '../../core/graph/table.ts'
import type { LoggedEvent } from '../../core/model/event.ts'
import type { StateValue } from '../../core/model/state.ts'
import type { Writable } from '../../ports/record/codec.ts'
import { EVENT_TYPES } from '../../ports/record/event-type.ts'
import type { PublicRecord } from '../../ports/record/lineage.ts'

const OTHER_TYPES: Readonly<
  Record<Exclude<Writable['type'], LoggedEvent['type'] | StateValue['type']>, true>
> = {
  DeleteObject: true,
  AnnotateObject: true,
  OrphanDependent: true,
  RemoveFinalizer: true,
  VerifyOwner: true,
  WarnObject: true,

  Lineage: true,
  History: true,

  Control: true,
  OrderGiven: true,
  RuleBook: true,
  MarkBook: true,
  RuleOrder: true,
  PolicyStatus: true,
  ObjectEdited: true,
  LongNode: true,
  Assignment: true,
  ClusterName: true,
  Watermark: true,
  Digest: true,
  FormerChain: true,
  LastChange: true,
  FormerReach: true,
  FormerValues: true,
  PackedFormers: true,
  Snapshot: true,
  DeadLetter: true,
  Archived: true,
  ArchiveGap: true,
  Actor: true,
  ActorGap: true,
}

const PUBLIC_TYPES: Readonly<Record<PublicRecord['type'], true>> = { Lineage: true, History: true }

/** Those that others read. */
export const PUBLIC_TYPE_NAMES: readonly string[] = Object.keys(PUBLIC_TYPES)

export const RECORD_TYPE_NAMES: readonly string[] = [
  ...EVENT_TYPES,
  ...Object.keys(OTHER_TYPES),
  ...STATE_TYPES,
]
