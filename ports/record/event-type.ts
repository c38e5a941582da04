/**
 * The types of the events on a log.
 *
 * What must stay true: every record that is read as an event is one of these.
 */
import type { LoggedEvent } from '../../core/model/event.ts'

/** A type missing here, or one too many, does not compile. */
const LOGGED_TYPES: Readonly<Record<LoggedEvent['type'], true>> = {
  ObjectAdded: true,
  ObjectUpdated: true,
  ObjectDeleted: true,
  Touched: true,
  OwnerFound: true,
  OwnerAbsent: true,
  CommandSettled: true,
  Continue: true,
  WatcherStarted: true,
  SyncStarted: true,
  SyncFinished: true,
  KindServed: true,
  KindGone: true,
  Heartbeat: true,
  OwnerElsewhere: true,
  ClusterElsewhere: true,
  PolicyChanged: true,
  Directive: true,
}

export const EVENT_TYPES: readonly LoggedEvent['type'][] = Object.keys(
  LOGGED_TYPES,
) as LoggedEvent['type'][]

export function isEvent(record: { readonly type: string }): record is LoggedEvent {
  return Object.hasOwn(LOGGED_TYPES, record.type)
}
