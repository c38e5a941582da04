/**
 * Shares of a kind that are lost, counted over all partitions at the cluster's home: a mass that is spread over many namespaces is one all the same.
 *
 * What must stay true: what a partition tells is absolute, so a note that is late or doubled does no harm. A partition alone may find a mass cause at once; the
 * home finds what none of them can see, within some records of the last one's note, and has that judged everywhere.
 *
 * Not here: counting in one partition (sync.ts, burst.ts).
 */
import { judgeAll, setTimer } from './agenda.ts'
import { closedAt, openBreaker } from './breaker.ts'
import { MASS_COUNT, MASS_SHARE, MASS_SYNCS_REMEMBERED } from './constant.ts'
import type { KindMissed, KindShare } from './event.ts'
import type { StateReader } from './graph.ts'
import { clusterOf, kindOf } from './graph.ts'
import { kindKey, missedKey, shareKey, sharesKey } from './key.ts'
import { mayHaveMissedAMass, withMassSync } from './kind-gone.ts'
import type { ClusterId, Coordinates, GroupKind } from './object.ts'
import type { Step } from './outcome.ts'
import { drop, noteToOthers } from './outcome.ts'
import { homeOf, partitionOf } from './partition.ts'
import type { Proof } from './proof.ts'
import type { MissedPlace, ShareMinute, Work } from './state.ts'

const MINUTE_MS = 60_000
const WINDOW_MINUTES = 10

export function isMass(lost: number, all: number): boolean {
  return lost > MASS_COUNT && lost > all * MASS_SHARE
}

/** The minutes that count now: none before the breaker was closed. */
export function counting<T extends { readonly minute: number }>(
  graph: StateReader,
  cluster: ClusterId,
  minutes: readonly T[],
  now: number,
): readonly T[] {
  const closed = closedAt(graph, cluster)
  const minute = Math.floor(now / MINUTE_MS)
  return minutes.filter(
    (each) => each.minute > minute - WINDOW_MINUTES && each.minute * MINUTE_MS >= closed,
  )
}

export function deletedIn(minutes: readonly ShareMinute[]): number {
  return minutes.reduce((sum, { count }) => sum + count, 0)
}

/** A relist has missed so many here that were not ours. */
export function tellMissed(
  step: Step,
  cluster: ClusterId,
  { group, kind }: GroupKind,
  { sync, others: missing, listedInAll: listed }: Work,
): void {
  const { partition, partitions } = step.at
  if (partitions === 1) return
  const told = { cluster, group, kind, partition, sync, missing, listed, isMass: false }
  const key = homeOf(cluster, '')
  const to = partitionOf(key, partitions)
  step.outcome.notes.push({ partition: to, key, event: { type: 'KindMissed', ...told } })
}

/** At the home: so many were missed there. Anywhere else: in all they were a mass. */
export function kindMissed(step: Step, event: KindMissed): void {
  const { cluster, sync, partition, missing: count } = event
  if (event.isMass) return noteMass(step, event)
  const found = step.graph.get(missedKey(cluster, event))
  const former = found?.type === 'Missed' ? found.places : []
  const others = former.filter((each) => each.partition !== partition || each.sync !== sync)
  const places = ofLastSyncs([...others, { sync, partition, count }])
  step.graph.put(missedKey(cluster, event), { type: 'Missed', places })
  const missing = places.reduce((sum, each) => sum + (each.sync === sync ? each.count : 0), 0)
  const isKnown = kindOf(step.graph, cluster, event)?.massSyncs.includes(sync) === true
  if (isKnown || !isMass(missing, missing + event.listed)) return
  const told: KindMissed = { ...event, partition: step.at.partition, missing, isMass: true }
  noteToOthers(step, cluster, told)
  noteMass(step, told)
}

/** A partition that is busy tells of a relist when others have told of the next one. */
function ofLastSyncs(places: readonly MissedPlace[]): readonly MissedPlace[] {
  const syncs = [...new Set(places.map(({ sync }) => sync))].sort((a, b) => a - b)
  const oldest = syncs.at(-MASS_SYNCS_REMEMBERED) ?? 0
  return places.filter(({ sync }) => sync >= oldest)
}

/** What that relist has missed, or is still found to have missed, waits for a person. */
function noteMass(step: Step, { cluster, group, kind, sync }: KindMissed): void {
  const known = kindOf(step.graph, cluster, { group, kind })
  if (known === undefined) return drop(step, 'a relist of a kind that was never told to be served')
  if (known.massSyncs.includes(sync)) return
  const massSyncs = withMassSync(known.massSyncs, sync)
  step.graph.put(kindKey(cluster, { group, kind }), { ...known, massSyncs })
  judgeAll(step, cluster)
}

/** What a relist missed of an owner's kind was a mass, though not here. */
export function isMassMissed(
  graph: StateReader,
  cluster: ClusterId,
  { sync, isOurs }: Proof,
  place: Coordinates | null,
): boolean {
  if (sync === 0 || isOurs || place === null) return false
  return mayHaveMissedAMass(kindOf(graph, cluster, place)?.massSyncs ?? [], sync)
}

/** An owner was deleted by others: the home is told with the next heartbeat, of all since the last one. */
export function tellShareSoon(step: Step, cluster: ClusterId, { group, kind }: GroupKind): void {
  if (step.at.partitions === 1) return
  const now = clusterOf(step.graph, cluster)?.now ?? 0
  const coordinates = { group, kind, namespace: '', name: '' }
  setTimer(step, cluster, now + 1, { what: 'share', uid: '', coordinates })
}

export function shareDue(step: Step, cluster: ClusterId, { group, kind }: GroupKind): void {
  const share = step.graph.get(shareKey(cluster, { group, kind }))
  if (share?.type !== 'Share') return
  const { partition, partitions } = step.at
  const held = kindOf(step.graph, cluster, { group, kind })?.held.count ?? 0
  const told = { cluster, group, kind, partition, minutes: share.minutes, held }
  const key = homeOf(cluster, '')
  const to = partitionOf(key, partitions)
  step.outcome.notes.push({ partition: to, key, event: { type: 'KindShare', ...told } })
}

/** At the home: so many owners were deleted there within each of the last minutes. */
export function kindShare(step: Step, event: KindShare): void {
  const { cluster, partition, minutes, held } = event
  const state = clusterOf(step.graph, cluster)
  if (state === undefined) return drop(step, 'its watcher has not started')
  const found = step.graph.get(sharesKey(cluster, event))
  const former = found?.type === 'Shares' ? found.places : []
  const others = former.filter((each) => each.partition !== partition)
  const places = [...others, { partition, minutes, held }]
  step.graph.put(sharesKey(cluster, event), { type: 'Shares', places })
  const now = Math.max(state.now, step.at.timestamp)
  const gone = places.reduce(
    (sum, each) => sum + deletedIn(counting(step.graph, cluster, each.minutes, now)),
    0,
  )
  const left = places.reduce((sum, each) => sum + each.held, 0)
  // Of partitions that lost nothing no more is known than what was listed last.
  const all = Math.max(gone + left, kindOf(step.graph, cluster, event)?.listed ?? 0)
  if (isMass(gone, all)) openBreaker(step, cluster, shareText(event.kind, gone, all))
}

export function shareText(kind: string, gone: number, all: number): string {
  return `within ten minutes ${gone} of ${all} objects of kind ${kind} were deleted that others hang on`
}
