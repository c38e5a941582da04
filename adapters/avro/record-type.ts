/**
 * Which records have a schema. A type missing here, or one too many, does not compile.
 */
import type { Writable } from '../../ports/codec.ts'

const RECORD_TYPES: Readonly<Record<Writable['type'], true>> = {
  ObjectAdded: true,
  ObjectUpdated: true,
  ObjectDeleted: true,
  Touched: true,
  OwnerFound: true,
  OwnerAbsent: true,
  CommandSettled: true,
  OwnerInterest: true,
  OwnerState: true,
  Continue: true,
  WatcherStarted: true,
  SyncStarted: true,
  SyncFinished: true,
  KindServed: true,
  KindGone: true,
  Heartbeat: true,
  PolicyChanged: true,
  Directive: true,

  DeleteObject: true,
  OrphanDependent: true,
  RemoveFinalizer: true,
  VerifyOwner: true,
  WarnObject: true,

  Lineage: true,
  History: true,

  Control: true,
  Watermark: true,
  Digest: true,
  Snapshot: true,
  DeadLetter: true,

  Node: true,
  Seen: true,
  Edge: true,
  Count: true,
  Owner: true,
  Kind: true,
  ClusterState: true,
  PolicyState: true,
  Wait: true,
  Due: true,
  Work: true,
  Ring: true,
  RingVisit: true,
  Interest: true,
  Agenda: true,
  UnreadableHome: true,
  Position: true,
}

export const RECORD_TYPE_NAMES: readonly string[] = Object.keys(RECORD_TYPES)
