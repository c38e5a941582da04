/**
 * What a watcher saw, a reaper learned, an operator wished or the graph noted to itself: everything the fold reads.
 *
 * What must stay true: whatever changes a verdict is one of these records, so a replay needs nothing else. Times are append
 * times of the log and therefore no fields. Absent is null, never undefined: these are the shapes of schemas/*.avsc.
 *
 * Not here: what is asked of a cluster (command.ts), where a record goes (partition.ts).
 */
import type { CommandId, CommandType } from './command.ts'
import type { SetHash } from './hash.ts'
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
import type { Proof } from './proof.ts'
import type { BudgetClass, ShareMinute } from './state.ts'

export type Event =
  | ObjectAdded
  | ObjectUpdated
  | ObjectDeleted
  | Touched
  | OwnerFound
  | OwnerAbsent
  | CommandSettled
  | OwnerInterest
  | OwnerState
  | Continue
  | WatcherStarted
  | SyncStarted
  | SyncFinished
  | KindServed
  | KindGone
  | Heartbeat
  | PolicyChanged
  | Directive
  | TokensAsked
  | TokensGranted
  | NamespaceEnding
  | DefinitionDeleted
  | KindMissed
  | NotesLost
  | KindShare
  | BreakerOpened
  | Unreadable

/** What may stand in the log. */
export type LoggedEvent = Exclude<Event, Unreadable>

/** Unique and growing within a cluster: watcher epoch times a million plus a counter. */
export type SyncId = number

/** A sighting: told by a live watch (`sync` null) or within a relist. */
export interface ObjectAdded {
  readonly type: 'ObjectAdded'
  readonly cluster: ClusterId
  /** Of the watcher; the fold refuses older ones. */
  readonly epoch: number
  readonly sync: SyncId | null
  readonly object: ObjectMeta
}

/** As `ObjectAdded`, for an object the watcher has told before. The fold treats both alike: orders differ, ends do not. */
export interface ObjectUpdated {
  readonly type: 'ObjectUpdated'
  readonly cluster: ClusterId
  readonly epoch: number
  readonly sync: SyncId | null
  readonly object: ObjectMeta
}

/** Only ever from a live watch. What a relist misses is concluded by the fold, never told as a deletion. */
export interface ObjectDeleted {
  readonly type: 'ObjectDeleted'
  readonly cluster: ClusterId
  readonly epoch: number
  /** The last state, with the version of the deletion. */
  readonly object: ObjectMeta
  /** How long before it could be told it may have been seen, where that is more than a second: the log was away, or the watcher slept. */
  readonly ageMs: number
}

/** Versions moved, content did not: one batch for one kind and partition. In a relist it counts as listed. */
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
  /** What the GET returned. */
  readonly object: ObjectMeta
  readonly command: CommandId
}

/** A live GET proved that this uid is not at these coordinates. It speaks of the coordinates only. */
export interface OwnerAbsent {
  readonly type: 'OwnerAbsent'
  readonly cluster: ClusterId
  readonly clusterEpoch: number
  readonly owner: Coordinates
  readonly uid: Uid
  /** A typed NotFound naming what was asked, or another uid in the place. */
  readonly how: 'NotFound' | 'OtherUid'
  /** The uid that is there instead. */
  readonly otherUid: Uid | null
  readonly command: CommandId
}

/**
 * - `done`: carried out; `object` is what the server returned, or null when the object is removed.
 * - `absent`: there was nothing left to do: the object is gone, is another one, or is already being deleted.
 * - `would-go`: the server accepted it in a dry run.
 * - `stale`: the object is not what the command was judged by; `object` is what was seen.
 * - `blocked`: refused or not to be had now; `reason` says by whom.
 */
export type Outcome = 'done' | 'absent' | 'would-go' | 'stale' | 'blocked'

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
  readonly object: ObjectMeta | null
  /** Calls made for this command. */
  readonly calls: number
}

/** A note: how many dependents of an owner live in the partition that writes. Absolute counts. (Semantics.) */
export interface OwnerInterest {
  readonly type: 'OwnerInterest'
  readonly cluster: ClusterId
  readonly owner: Coordinates
  readonly uid: Uid
  readonly partition: number
  readonly dependents: number
  readonly blocking: number
  /** The `OwnerState` that this answers, by its number; null for none. */
  readonly answers: number | null
  /** A dependent's verdict needs to know whether the owner is there, and nothing was told. */
  readonly asks: boolean
}

/** A note: the owner's home tells a partition that has dependents how the owner stands. (Semantics.) */
export interface OwnerState {
  readonly type: 'OwnerState'
  readonly cluster: ClusterId
  /** As its home knew it: what one epoch told says nothing of another. */
  readonly clusterEpoch: number
  readonly owner: Coordinates
  readonly uid: Uid
  readonly state: 'present' | 'waiting' | 'orphaning' | 'absent' | 'unknown'
  readonly proof: Proof | null
  /** The mark of an owner that orphans its dependents: append time, at its home, since when; null for none. */
  readonly orphanedAt: number | null
  readonly seq: number
}

/** Work is left on the agenda of this partition: slicing is input. */
export interface Continue {
  readonly type: 'Continue'
}

/** Broadcast. Drops open syncs; from here on older epochs of this cluster are refused. */
export interface WatcherStarted {
  readonly type: 'WatcherStarted'
  readonly cluster: ClusterId
  /** The configured name, a label for people. */
  readonly name: string
  readonly epoch: number
  /** Counts how often the cluster went back in time. A new one voids pending commands and E1. */
  readonly clusterEpoch: number
}

/** Broadcast. */
export interface SyncStarted extends GroupKind {
  readonly type: 'SyncStarted'
  readonly cluster: ClusterId
  readonly epoch: number
  readonly sync: SyncId
}

/** Broadcast. Only a complete, consistent list is ever finished. */
export interface SyncFinished extends GroupKind {
  readonly type: 'SyncFinished'
  readonly cluster: ClusterId
  readonly epoch: number
  readonly sync: SyncId
  /** The list's. */
  readonly resourceVersion: ResourceVersion
  /** The set of listed uids in each partition, by its number. */
  readonly listed: readonly SetHash[]
}

/** Broadcast: a kind is served, as the cluster's discovery says. Repeated when anything of it changes. */
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
  /** Served by an aggregated API server: a GET goes before each DELETE. */
  readonly aggregated: boolean
}

/** Broadcast, after the kind's monitor has delivered all it had. */
export interface KindGone extends GroupKind {
  readonly type: 'KindGone'
  readonly cluster: ClusterId
  readonly epoch: number
  readonly resource: string
}

/** Broadcast every 5 s while the watcher can see its cluster: the clock of this cluster. */
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

/** Broadcast. Appended only when it differs from the last one folded. */
export interface PolicyChanged {
  readonly type: 'PolicyChanged'
  readonly policy: Policy
  readonly who: string
  readonly why: string
}

/** Broadcast: what an operator asked for. Unknown verbs change nothing. */
export interface Directive {
  readonly type: 'Directive'
  readonly verb: string
  /** Empty for all. */
  readonly cluster: ClusterId
  /** What it is about, as the verb wants it; empty for all of the cluster. */
  readonly subject: string
  /** Of the plan that is approved or rejected, as people saw it. */
  readonly digest: string | null
  /** The set that the plan holds of each partition, by its number. */
  readonly listed: readonly SetHash[]
  readonly who: string
  /** A cluster said who it is; anybody may call himself anything. */
  readonly isProven: boolean
  readonly why: string
}

/** A note to the cluster's home: how many tokens of a budget the partition that writes has asked for since ever. */
export interface TokensAsked {
  readonly type: 'TokensAsked'
  readonly cluster: ClusterId
  readonly partition: number
  readonly budget: BudgetClass
  readonly asked: number
  /** Why the last of them is to go, for people; empty where it is only asked again. */
  readonly about: string
}

/** A note from there: how many were granted since ever. */
export interface TokensGranted {
  readonly type: 'TokensGranted'
  readonly cluster: ClusterId
  readonly budget: BudgetClass
  readonly granted: number
  /** Log time there: a token is used soon, or not at all. */
  readonly at: number
}

/** A note to a namespace's home: it is being deleted, or is not any more. */
export interface NamespaceEnding {
  readonly type: 'NamespaceEnding'
  readonly cluster: ClusterId
  readonly namespace: string
  readonly isEnding: boolean
}

/** A note to all other partitions: the definition of a kind is being deleted, or was. */
export interface DefinitionDeleted {
  readonly type: 'DefinitionDeleted'
  readonly cluster: ClusterId
  /** `resource.group` of the kind that it defines. */
  readonly name: string
  /** Log time at its home since when; which of several deletions is meant. */
  readonly since: number
  /** When it was gone; null while it is there. */
  readonly until: number | null
}

/** A note to the cluster's home: how many of a kind a relist missed in the partition that writes; and from there to all others, once that is a mass in all. */
export interface KindMissed extends GroupKind {
  readonly type: 'KindMissed'
  readonly cluster: ClusterId
  readonly partition: number
  readonly sync: SyncId
  readonly missing: number
  /** How many it listed, in all partitions. */
  readonly listed: number
  readonly isMass: boolean
}

/** A note to the cluster's home: owners of a kind that others deleted in the partition that writes, within each of the last minutes. */
export interface KindShare extends GroupKind {
  readonly type: 'KindShare'
  readonly cluster: ClusterId
  readonly partition: number
  readonly minutes: readonly ShareMinute[]
  /** How many of the kind are left there. */
  readonly held: number
}

/** A note to all other partitions: nothing goes in the cluster until a person closes the breaker. */
export interface BreakerOpened {
  readonly type: 'BreakerOpened'
  readonly cluster: ClusterId
  /** Log time where a reason was seen. */
  readonly openedAt: number
  readonly because: string
}

/** A note to all other partitions: this one could not read something, so whatever was told to it is told again. */
export interface NotesLost {
  readonly type: 'NotesLost'
  readonly cluster: ClusterId
  readonly partition: number
}

/** Made by the task out of a record that does not decode; never written to the log. */
export interface Unreadable {
  readonly type: 'Unreadable'
  /** The record's key: a home. */
  readonly home: string
  readonly reason: string
}

/** A type missing here, or one too many, does not compile. */
const LOGGED_TYPES: Readonly<Record<LoggedEvent['type'], true>> = {
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
  TokensAsked: true,
  TokensGranted: true,
  NamespaceEnding: true,
  DefinitionDeleted: true,
  KindMissed: true,
  KindShare: true,
  BreakerOpened: true,
  NotesLost: true,
}

export const EVENT_TYPES: readonly LoggedEvent['type'][] = Object.keys(
  LOGGED_TYPES,
) as LoggedEvent['type'][]

export function isEvent(record: { readonly type: string }): record is LoggedEvent {
  return Object.hasOwn(LOGGED_TYPES, record.type)
}
