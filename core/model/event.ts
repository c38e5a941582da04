/**
 * What a watcher observed, a reaper found out, an operator requested or the graph recorded for
 * itself: everything the fold reads.
 *
 * What must stay true: whatever changes a verdict is one of these records, so a replay needs
 * nothing else. Times are append times of the log and therefore no fields. Absent is null, never
 * undefined: these are the shapes of schemas/*.avsc.
 *
 * Not here: requests to a cluster (command.ts), the partition of a record (partition.ts).
 */
import type { CommandType, Outcome } from './command.ts'
import type { SetHash } from './hash.ts'
import type { CommandId, SyncId } from './id.ts'
import type {
  ClusterId,
  Coordinates,
  GroupKind,
  ObjectMeta,
  ResourceVersion,
  Scope,
  Uid,
} from './object.ts'
import type { Policy } from './policy.ts'

export type Event =
  | ObjectAdded
  | ObjectUpdated
  | ObjectDeleted
  | Touched
  | OwnerFound
  | OwnerAbsent
  | CommandSettled
  | Continue
  | WatcherStarted
  | SyncStarted
  | SyncFinished
  | KindServed
  | KindGone
  | Heartbeat
  | OwnerElsewhere
  | ClusterElsewhere
  | PolicyChanged
  | Directive
  | Unreadable

/** A record that may be in the log. */
export type LoggedEvent = Exclude<Event, Unreadable>

/** A sighting: published by a live watch (`sync` null) or within a relist. */
export interface ObjectAdded {
  readonly type: 'ObjectAdded'
  readonly cluster: ClusterId
  /** Of the watcher; the fold refuses older ones. */
  readonly epoch: number
  readonly sync: SyncId | null
  readonly object: ObjectMeta
}

/**
 * As `ObjectAdded`, for an object the watcher has published before. The fold treats both alike:
 * orders differ, ends do not.
 */
export interface ObjectUpdated {
  readonly type: 'ObjectUpdated'
  readonly cluster: ClusterId
  readonly epoch: number
  readonly sync: SyncId | null
  readonly object: ObjectMeta
}

/**
 * Only ever from a live watch. An object that a relist misses is concluded by the fold, never
 * published as a deletion.
 */
export interface ObjectDeleted {
  readonly type: 'ObjectDeleted'
  readonly cluster: ClusterId
  readonly epoch: number
  /** The last state, with the version of the deletion. */
  readonly object: ObjectMeta
  /**
   * How much earlier than its publication it may have been observed, where that is more than a
   * second: the log was unreachable, or the watcher slept.
   */
  readonly ageMs: number
}

/** Versions moved, content did not: one batch for one kind. In a relist it counts as listed. */
export interface Touched extends GroupKind {
  readonly type: 'Touched'
  readonly cluster: ClusterId
  readonly epoch: number
  readonly sync: SyncId | null
  readonly entries: readonly TouchedEntry[]
}

export interface TouchedEntry {
  readonly uid: Uid
  /** `projectionHash` of the content that this version has. */
  readonly hash: string
  readonly resourceVersion: ResourceVersion
}

/** A live GET found this uid at these coordinates. */
export interface OwnerFound {
  readonly type: 'OwnerFound'
  readonly cluster: ClusterId
  readonly clusterEpoch: number
  readonly owner: Coordinates
  readonly uid: Uid
  /** What the GET returned, without its owner references. */
  readonly object: ObjectMeta
  readonly command: CommandId
}

/**
 * A live GET proved that this uid is not at these coordinates. It proves nothing about other
 * coordinates.
 */
export interface OwnerAbsent {
  readonly type: 'OwnerAbsent'
  readonly cluster: ClusterId
  readonly clusterEpoch: number
  readonly owner: Coordinates
  readonly uid: Uid
  /** A typed NotFound naming the requested object, or another uid at the coordinates. */
  readonly how: 'NotFound' | 'OtherUid'
  /** The uid that is there instead. */
  readonly otherUid: Uid | null
  readonly command: CommandId
}

/** The result of one command. It proves no absence: the watch does. */
export interface CommandSettled {
  readonly type: 'CommandSettled'
  readonly cluster: ClusterId
  readonly clusterEpoch: number
  readonly command: CommandId
  readonly verb: CommandType
  /** Of the command's target, and where it is; for `VerifyOwner` the owner's. */
  readonly uid: Uid
  readonly place: Coordinates
  readonly outcome: Outcome
  /** One line for people; empty when there is nothing to say. */
  readonly reason: string
  /** HTTP status of the last answer, null when no call was made. */
  readonly code: number | null
  /** What was seen or returned; null where there is no object, or nothing was seen of it. */
  readonly object: ObjectMeta | null
  /** Calls made for this command. */
  readonly calls: number
  /**
   * Null where `object` has its owner references. Where there are many it has none, and this stands
   * for them on the log: readers of it make the object whole
   * (services/graph/fold/bytes/edited-object.ts). The fold sees it only where that could not be
   * done: the object is there, and what its list is by now, the watch tells.
   */
  readonly list: SettledList | null
}

/** The list of owner references of a result's object, by what the object had before. */
export interface SettledList {
  /** `projectionHash` of the object with its references. */
  readonly hash: string
  /** Indexes of those that the command was to drop, descending. */
  readonly dropped: readonly number[]
}

/** Work is left on the agenda of this partition: slicing is input. */
export interface Continue {
  readonly type: 'Continue'
}

/** Drops open syncs; from here on older epochs of this cluster are refused. */
export interface WatcherStarted {
  readonly type: 'WatcherStarted'
  readonly cluster: ClusterId
  /** The configured name, a label for people. */
  readonly name: string
  readonly epoch: number
  /**
   * Counts how often the cluster was restored. A new epoch voids pending commands, and a `deleted`
   * proof from before it proves nothing.
   */
  readonly clusterEpoch: number
  /** What the API server's clock said then, in milliseconds; null where it said nothing. */
  readonly serverTime: number | null
}

export interface SyncStarted extends GroupKind {
  readonly type: 'SyncStarted'
  readonly cluster: ClusterId
  readonly epoch: number
  readonly sync: SyncId
}

/** Only a complete, consistent list is ever finished. */
export interface SyncFinished extends GroupKind {
  readonly type: 'SyncFinished'
  readonly cluster: ClusterId
  readonly epoch: number
  readonly sync: SyncId
  /** The list's. */
  readonly resourceVersion: ResourceVersion
  /** The set of listed uids. */
  readonly listed: SetHash
}

/** A kind is served, as the cluster's discovery says. Repeated when anything of it changes. */
export interface KindServed extends GroupKind {
  readonly type: 'KindServed'
  readonly cluster: ClusterId
  readonly epoch: number
  readonly resource: string
  readonly scope: Scope
  /** All served versions; the first one is preferred and is what the monitor uses. */
  readonly versions: readonly string[]
  /** Can be listed, watched and deleted, and we watch it. */
  readonly monitored: boolean
  /** Why it is not monitored, or is ambiguous; empty otherwise. */
  readonly reason: string
  /** Several resources share the kind: references to it are unresolvable. */
  readonly ambiguous: boolean
  /** Served by an aggregated API server: a GET precedes each DELETE. */
  readonly aggregated: boolean
}

/** After the kind's monitor has delivered all it had. */
export interface KindGone extends GroupKind {
  readonly type: 'KindGone'
  readonly cluster: ClusterId
  readonly epoch: number
  readonly resource: string
}

/** Every 5 s while the watcher can see its cluster: the clock of this cluster. */
export interface Heartbeat {
  readonly type: 'Heartbeat'
  readonly cluster: ClusterId
  readonly epoch: number
  readonly kinds: readonly KindPulse[]
}

export interface KindPulse extends GroupKind {
  /** Since the kind's watch last proved itself alive (an event or a bookmark). */
  readonly ageMs: number
}

/**
 * An owner in another cluster that objects here name, as the lineage of that cluster has it:
 * published beside the watcher, once an object that names it was, and with each change.
 */
export interface OwnerElsewhere {
  readonly type: 'OwnerElsewhere'
  /** Of the objects that name it. */
  readonly cluster: ClusterId
  readonly epoch: number
  /** Its own cluster, and that one's epoch in which this became so. */
  readonly ownerCluster: ClusterId
  readonly ownerEpoch: number
  readonly place: Coordinates
  readonly uid: Uid
  /** For a live GET of it; empty where its cluster has no record of it. */
  readonly version: string
  readonly resource: string
  /** By its server's clock. */
  readonly createdAt: number | null
  readonly state: ElsewhereState
  /** Of the last event that its cluster's fold has of it. */
  readonly position: bigint
}

/**
 * - `there`: its cluster has it.
 * - `deleted`: a live watch observed its deletion, in that epoch.
 * - `orphaned`: the same, and it orphaned its dependents.
 * - `unknown`: nothing of these is known: it was missing, or left in a way that no watch observed.
 */
export type ElsewhereState = 'there' | 'deleted' | 'orphaned' | 'unknown'

/** How the cluster of such owners is followed: each minute, and at once when that changes. */
export interface ClusterElsewhere {
  readonly type: 'ClusterElsewhere'
  readonly cluster: ClusterId
  readonly epoch: number
  readonly ownerCluster: ClusterId
  readonly ownerEpoch: number
  /** `followed`: its watches are live, and all of its lineage until now was published. */
  readonly state: 'followed' | 'cut-off'
  /** One sentence; empty where it is followed. */
  readonly because: string
}

/** In every partition. Appended only when it differs from the last one folded. */
export interface PolicyChanged {
  readonly type: 'PolicyChanged'
  readonly policy: Policy
  readonly who: string
  readonly why: string
}

/** In every partition: a directive of an operator. Unknown verbs change nothing. */
export interface Directive {
  readonly type: 'Directive'
  readonly verb: string
  /** Empty for all. */
  readonly cluster: ClusterId
  /** Its subject, as the verb demands it; empty for all of the cluster. */
  readonly subject: string
  /** Of the plan that is approved or rejected, as people saw it. */
  readonly digest: string | null
  /** Of the plan that is approved or rejected: the set of the objects that it holds. */
  readonly listed: SetHash
  readonly who: string
  /** The cluster authenticated the user; otherwise the name is only claimed. */
  readonly isProven: boolean
  readonly why: string
}

/** Made by the task out of a record that does not decode; never written to the log. */
export interface Unreadable {
  readonly type: 'Unreadable'
  /** The record's key: a home. */
  readonly home: string
  readonly reason: string
}
