/**
 * The status of a watcher: a snapshot for readiness and metrics, and its log lines.
 *
 * What must stay true: a snapshot is plain data, taken at once.
 */
import { KIND_SILENT_MS } from '../../core/model/constant.ts'
import type { ClusterId, GroupKind, ResourceVersion } from '../../core/model/object.ts'

export interface WatcherStatus {
  /** Null until the cluster has returned its identity. */
  readonly clusterId: ClusterId | null
  readonly name: string
  readonly epoch: number
  readonly clusterEpoch: number
  readonly connected: boolean
  /** Why it is not connected, or the last failure; empty otherwise. */
  readonly reason: string
  /** The name of its lease. */
  readonly lease: string
  /** It holds the lease. */
  readonly isLeading: boolean
  /** The holder of the lease, when that is the only reason why this one does not watch. */
  readonly standbyOf: string | null
  /** All kinds that are monitored; empty until discovery has answered. */
  readonly kinds: readonly KindStatus[]
  /** Served, and not watched. */
  readonly unwatched: readonly UnwatchedKind[]
  /** Other clusters, of which rules import owners. */
  readonly elsewhere: readonly ElsewhereStatus[]
  readonly counters: Readonly<Counters>
}

export interface UnwatchedKind extends GroupKind {
  readonly resource: string
  readonly reason: string
}

export interface ElsewhereStatus {
  readonly cluster: ClusterId
  /** Why it is not followed; empty where it is. */
  readonly cutOffBecause: string
  /** Its namespaces of whose owners nothing is known, since they have too many. */
  readonly leftOut: readonly string[]
}

export interface KindStatus extends GroupKind {
  readonly resource: string
  readonly state: 'listing' | 'watching' | 'expired' | 'waiting'
  /** Of the last failure while it lasts; empty otherwise. */
  readonly reason: string
  /** Wall time in milliseconds. */
  readonly since: number
  /** Finished a list, or resumed from a watermark, in this session. */
  readonly synced: boolean
  /** Objects remembered. */
  readonly objects: number
  /** Published up to here. */
  readonly resourceVersion: ResourceVersion | null
  readonly lastProofOfLifeAgeMs: number
  /** The same as wall time in milliseconds. */
  readonly lastProofAt: number
}

/** Its last try failed, or it is silent for longer than any watch that works. */
export interface BrokenWatch {
  /** Wall time in milliseconds: when it delivered anything last. */
  readonly since: number
  /** Of the last failure; `SILENT` where there was none. */
  readonly code: string
}

/** Undefined while it works. */
export function brokenWatch(kind: KindStatus): BrokenWatch | undefined {
  const { reason, lastProofAt: since, lastProofOfLifeAgeMs } = kind
  if (reason !== '') return { since, code: /^[A-Z_]+(?=: )/.exec(reason)?.[0] ?? 'UNKNOWN' }
  return lastProofOfLifeAgeMs > KIND_SILENT_MS ? { since, code: 'SILENT' } : undefined
}

/** Only ever grow, over the life of the process. */
export interface Counters {
  added: number
  updated: number
  deleted: number
  /** Entries, not records. */
  touched: number
  /** Older than the held version. */
  ignored: number
  bookmarks: number
  /** Complete relists. */
  syncs: number
  /** Lists begun. */
  lists: number
  watches: number
  /** Calls that failed. */
  failures: number
  heartbeats: number
  discoveries: number
  /** How often a cluster was found to be restored. */
  rewinds: number
  /** Observed deletions whose last state was archived, and such of archived kinds whose was not. */
  archived: number
  unarchived: number
}

export function noCounters(): Counters {
  return {
    added: 0,
    updated: 0,
    deleted: 0,
    touched: 0,
    ignored: 0,
    bookmarks: 0,
    syncs: 0,
    lists: 0,
    watches: 0,
    failures: 0,
    heartbeats: 0,
    discoveries: 0,
    rewinds: 0,
    archived: 0,
    unarchived: 0,
  }
}

export type Fields = Readonly<Record<string, string | number | boolean | null>>

export interface WatcherObserver {
  /** The message is constant; variable parts are in the fields. */
  note(level: 'info' | 'warn' | 'error', message: string, fields: Fields): void
  /** An event about an object was read, and appended so long after. */
  appended?(tookMs: number): void
}

export const SILENT: WatcherObserver = { note: () => undefined }
