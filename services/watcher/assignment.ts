/**
 * Which partition has all of a cluster, chosen once and recorded in `control` before anything of the cluster is published.
 *
 * What must stay true: a recorded choice is never changed here. Watchers of several clusters that choose at the same moment settle it by the order of
 * their records: each one's choice has to be what a reader of the log before its record would choose, else it chooses again. Only the holder of the
 * cluster's lease writes for it; a record of a former holder that arrives late is written over within a minute (`confirm`), and watermarks name their
 * partition, so that nobody resumes in another one.
 *
 * Not here: how assignments are read (ports/assignment.ts), who may write (holder-log.ts).
 */
import { assignKey } from '../../core/control-key.ts'
import type { ClusterId } from '../../core/object.ts'
import type { Assignment } from '../../core/record.ts'
import { type Assignments, assignmentsIn, readAssignments } from '../../ports/assignment.ts'
import type { Codec } from '../../ports/codec.ts'
import type { Entry } from '../../ports/log.ts'
import { WatcherError } from './identity.ts'
import { appendUntilDone, type LogDeps, untilDone } from './log-retry.ts'

export interface AssignmentDeps extends LogDeps {
  readonly codec: Codec
}

/** The recorded partition, or the choice that is recorded by then. Rejects with `DAMAGED_ASSIGNMENT`. */
export async function assignPartition(
  deps: AssignmentDeps,
  cluster: ClusterId,
  signal: AbortSignal,
): Promise<number> {
  const { clock, random, config } = deps
  let known = await read(deps, cluster, signal)
  const recorded = partitionIn(deps, known, cluster)
  if (recorded !== undefined) return recorded
  for (let round = 1; ; round++) {
    const partition = emptiest(othersThan(cluster, known), partitionsOf(deps))
    await write(deps, { type: 'Assignment', cluster, partition, objects: 0 }, signal)
    known = await read(deps, cluster, signal)
    const own = known.get(cluster)
    // Gone from the log again, or so many at once that sharing a partition is the smaller evil.
    if (own === undefined || round >= config.assignmentRounds) return partition
    const before = othersThan(cluster, known).filter(({ offset }) => offset < own.offset)
    if (emptiest(before, partitionsOf(deps)) === partition) return partition
    await clock.sleep(random.next() * config.assignmentSpreadMs, signal)
    signal.throwIfAborted()
  }
}

/**
 * Repeats the assignment where `control` has another one or none, or where the count differs by more than half. `isWhole`: all of the cluster's objects are
 * counted; a part of them says nothing against a higher count.
 */
export async function confirmAssignment(
  deps: AssignmentDeps,
  { cluster, partition }: Pick<Assignment, 'cluster' | 'partition'>,
  counted: { readonly objects: number; readonly isWhole: boolean },
  signal: AbortSignal,
): Promise<void> {
  const read = (): Promise<Assignments> => readAssignments(deps.log, deps.codec)
  const recorded = (await untilDone(deps, read, signal)).get(cluster)
  const before = recorded?.objects ?? 0
  const objects = counted.isWhole ? counted.objects : Math.max(counted.objects, before)
  const isSame = Math.abs(objects - before) * 2 <= before
  if (recorded?.partition === partition && isSame) return
  await write(deps, { type: 'Assignment', cluster, partition, objects }, signal)
}

/** The one with the fewest objects; of those the one with the fewest clusters; of those the first. */
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

function partitionsOf({ log }: AssignmentDeps): number {
  return log.partitions('events')
}

/** Undefined for one that this log does not have, too: it was recorded for another log. */
function partitionIn(
  deps: AssignmentDeps,
  known: Assignments,
  cluster: ClusterId,
): number | undefined {
  const partition = known.get(cluster)?.partition ?? -1
  return partition >= 0 && partition < partitionsOf(deps) ? partition : undefined
}

function othersThan(
  cluster: ClusterId,
  known: Assignments,
): readonly (Assignment & { readonly offset: bigint })[] {
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
