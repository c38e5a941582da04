/**
 * Which partition has all of a cluster, chosen once and recorded in `control` before anything of
 * the cluster is published.
 *
 * What must stay true: once a record of a cluster is published, its partition stays. The cluster's
 * own watermark is written in between, and names the partition: it decides, so an assignment that
 * was lost, or that a succeeded watcher wrote late, moves nothing and is overwritten. Until there
 * is a watermark, the recorded choice stays: writes that the former holder had under way may still
 * arrive, and use it.
 *
 * Watchers of several clusters that choose at the same moment all read the same emptiest partition.
 * Each reads again after its record: the choice counts if a reader of the log before that record
 * would choose the same. The order of records is the same for all of them, so the first one stays.
 *
 * Not here: how assignments are read (ports/assignment.ts), who may write for a cluster
 * (holder-log.ts).
 */

import type { ClusterId } from '../../core/model/object.ts'
import {
  type Assignments,
  assignmentsIn,
  type LoggedAssignment,
  namesIn,
} from '../../ports/assignment.ts'
import type { Entry } from '../../ports/log.ts'
import type { Codec } from '../../ports/record/codec.ts'
import { assignKey, nameKey } from '../../ports/record/control-key.ts'
import type { Assignment, ClusterName } from '../../ports/record/service-record.ts'
import { WatcherError } from './identity.ts'
import { appendUntilDone, type LogDeps, untilDone } from './publish/log-retry.ts'

export interface AssignmentDeps extends LogDeps {
  readonly codec: Codec
}

/**
 * `published`: the partition that has what earlier watchers published, -1 if none did. Rejects with
 * `DAMAGED_ASSIGNMENT` where nothing else says which it is.
 */
export async function assignPartition(
  deps: AssignmentDeps,
  cluster: ClusterId,
  published: number,
  signal: AbortSignal,
): Promise<number> {
  const { log, clock, random, config } = deps
  const partitions = log.partitions('events')
  const isThere = (partition: number): boolean => partition >= 0 && partition < partitions
  if (isThere(published)) return published
  const recorded = (await read(deps, cluster, signal)).get(cluster)
  if (recorded !== undefined && isThere(recorded.partition)) return recorded.partition
  for (let round = 1; ; round++) {
    const others = othersThan(cluster, await read(deps, cluster, signal))
    const partition = emptiest(others, partitions)
    await write(deps, { type: 'Assignment', cluster, partition, objects: 0 }, signal)
    if (await isFirst(deps, cluster, partition, signal)) return partition
    // With so many concurrent choices, sharing a partition is the smaller evil.
    if (round >= config.assignmentRounds) return partition
    await clock.sleep(random.next() * config.assignmentSpreadMs, signal)
  }
}

async function isFirst(
  deps: AssignmentDeps,
  cluster: ClusterId,
  partition: number,
  signal: AbortSignal,
): Promise<boolean> {
  const known = await read(deps, cluster, signal)
  const own = known.get(cluster)
  // Lost as soon as it was written: `confirmAssignment` repeats it.
  if (own === undefined) return true
  const before = othersThan(cluster, known).filter(({ offset }) => offset < own.offset)
  return emptiest(before, deps.log.partitions('events')) === partition
}

/** As its watcher knows it. */
export type OwnCluster = Pick<Assignment, 'cluster' | 'partition'> & Pick<ClusterName, 'name'>

/**
 * Repeats the assignment where `control` has another one or none, or where the count differs by
 * more than half; and says what the cluster is called, for processes that do not have it, where
 * `control` does not. `isWhole`: all of the cluster's objects are counted; a part of them says
 * nothing against a higher count.
 */
export async function confirmAssignment(
  deps: AssignmentDeps,
  { cluster, partition, name }: OwnCluster,
  counted: { readonly objects: number; readonly isWhole: boolean },
  signal: AbortSignal,
): Promise<void> {
  const { log, codec } = deps
  const control = await untilDone(deps, () => log.latest('control', 0), signal)
  const recorded = assignmentsIn(control, codec).get(cluster)
  const before = recorded?.objects ?? 0
  const objects = counted.isWhole ? counted.objects : Math.max(counted.objects, before)
  const isSame = Math.abs(objects - before) * 2 <= before
  if (recorded?.partition !== partition || !isSame) {
    await write(deps, { type: 'Assignment', cluster, partition, objects }, signal)
  }
  if (namesIn(control, codec).get(cluster) === name) return
  const value = codec.encode({ type: 'ClusterName', cluster, name })
  await appendUntilDone(deps, 'control', 0, [{ key: nameKey(cluster), value }], signal)
}

/**
 * The one with the fewest objects; of those the one with the fewest clusters; of those the first.
 */
export function emptiest(
  assignments: Iterable<Pick<Assignment, 'partition' | 'objects'>>,
  partitions: number,
): number {
  const loads = Array.from({ length: partitions }, () => ({ objects: 0, clusters: 0 }))
  for (const { partition, objects } of assignments) {
    const load = loads[partition]
    if (load === undefined) continue
    load.objects += objects
    load.clusters++
  }
  let best = 0
  for (const [partition, load] of loads.entries()) {
    const least = loads[best] ?? load
    const isFewer =
      load.objects < least.objects ||
      (load.objects === least.objects && load.clusters < least.clusters)
    if (isFewer) best = partition
  }
  return best
}

function othersThan(cluster: ClusterId, known: Assignments): readonly LoggedAssignment[] {
  return [...known.values()].filter((each) => each.cluster !== cluster)
}

async function read(
  deps: AssignmentDeps,
  cluster: ClusterId,
  signal: AbortSignal,
): Promise<Assignments> {
  const { log, codec } = deps
  const control = await untilDone(deps, () => log.latest('control', 0), signal)
  const known = assignmentsIn(control, codec)
  const own = control.find(({ key }) => key === assignKey(cluster))
  if (own !== undefined && own.value !== null && !known.has(cluster)) throw damaged(own)
  return known
}

/** A new choice would divide the cluster: each half would answer for what it knows. */
function damaged({ key, offset }: Entry): WatcherError {
  return new WatcherError(
    'DAMAGED_ASSIGNMENT',
    `The assignment "${key}" at offset ${offset} of control cannot be read: run a newer Kinfold, or start with an empty log.`,
  )
}

async function write(
  deps: AssignmentDeps,
  assignment: Assignment,
  signal: AbortSignal,
): Promise<void> {
  const record = { key: assignKey(assignment.cluster), value: deps.codec.encode(assignment) }
  await appendUntilDone(deps, 'control', 0, [record], signal)
}
