/**
 * Whether the watch of a kind is a reliable source about its objects: the one function that decides
 * it.
 *
 * What must stay true: only `live` lets the absence of an object from the graph mean anything; a
 * kind that is out of sync is waited for until `until` at most.
 *
 * Not here: ambiguous kinds, which have a field of their own (`Kind.ambiguous`).
 */
import { KIND_FRESH_MS, KIND_PATIENCE_MS, KIND_SILENT_MS } from '../model/constant.ts'
import type { GroupKind } from '../model/object.ts'
import type { ClusterState, Kind } from '../model/state.ts'

/**
 * - `gone`: absent from discovery, or never served.
 * - `unwatched`: served, and no watcher watches it.
 * - `listing`: watched, without a complete list of this epoch of the cluster.
 * - `silent`: its watch has shown no sign of life for minutes.
 * - `live`: listed, and its watch continues.
 */
export type KindStatus =
  | { readonly type: 'gone' | 'unwatched' | 'live' }
  /** Log time until which it is waited for. */
  | { readonly type: 'listing' | 'silent'; readonly until: number }

export function kindStatus(
  kind: Kind | undefined,
  { group, kind: name }: GroupKind,
  state: ClusterState,
): KindStatus {
  switch (kind?.phase) {
    case undefined:
    case 'unserved':
      return { type: 'gone' }
    case 'unmonitored':
      return { type: 'unwatched' }
    case 'unsynced':
      return { type: 'listing', until: kind.since + KIND_PATIENCE_MS }
    case 'synced': {
      if (kind.clusterEpoch !== state.clusterEpoch) {
        return { type: 'listing', until: state.startedTime + KIND_PATIENCE_MS }
      }
      const aliveAt = watchedAt(state, { group, kind: name }) ?? state.now
      const silentAt = aliveAt + KIND_SILENT_MS
      if (state.now <= silentAt) return { type: 'live' }
      return { type: 'silent', until: silentAt + KIND_PATIENCE_MS }
    }
  }
}

/** Log time at which its watch last delivered anything, or a sign of life. */
export function watchedAt({ pulses }: ClusterState, about: GroupKind): number | undefined {
  return pulses.find(({ group, kind }) => group === about.group && kind === about.kind)?.aliveAt
}

/**
 * Heartbeats say of each monitor when it showed life. One that they lack has none: it may be listed
 * from before, while discovery does not answer for it.
 */
export function isMissing(kind: Kind | undefined, about: GroupKind, state: ClusterState): boolean {
  const isReported = watchedAt(state, about) !== undefined || state.pulses.length === 0
  return isSynced(kind, state) && !isReported
}

/** Its watch showed life so lately that nothing was missed but what happens just now. */
export function isFresh(state: ClusterState, about: GroupKind): boolean {
  if (state.pulses.length === 0) return true
  const aliveAt = watchedAt(state, about)
  return aliveAt !== undefined && state.now <= aliveAt + KIND_FRESH_MS
}

/** A monitor follows it: events of its objects will be published. */
export function isMonitored(kind: Kind | undefined): boolean {
  return kind?.phase === 'unsynced' || kind?.phase === 'synced'
}

/** It was listed to the end in this epoch of the cluster. */
export function isSynced(kind: Kind | undefined, { clusterEpoch }: ClusterState): boolean {
  return kind?.phase === 'synced' && kind.clusterEpoch === clusterEpoch
}
