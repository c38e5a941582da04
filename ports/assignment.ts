/**
 * Which partition each cluster's log is, and what the cluster is called: records in `control`,
 * written by the cluster's watcher; the first one before it publishes anything.
 *
 * What must stay true: every reader reads the same answer from the log. A cluster without an
 * assignment has no partition; no process guesses one.
 *
 * Not here: how the partition is chosen (services/watcher/assignment.ts).
 */

import type { ClusterId } from '../core/model/object.ts'
import type { Clock } from './clock.ts'
import { FollowedTopic } from './followed-topic.ts'
import type { Entry, Log } from './log.ts'
import type { Codec, Writable } from './record/codec.ts'
import { CodecError } from './record/codec.ts'
import { ASSIGN_PREFIX, assignKey, NAME_PREFIX, nameKey } from './record/control-key.ts'
import type { Assignment } from './record/service-record.ts'

/** An assignment and where it is on the log: of two, the one with the lower offset was first. */
export interface LoggedAssignment extends Assignment {
  readonly offset: bigint
}

export type Assignments = ReadonlyMap<ClusterId, LoggedAssignment>

/** By cluster. A record that cannot be read is left out. */
export async function readAssignments(log: Log, codec: Codec): Promise<Assignments> {
  return assignmentsIn(await log.latest('control', 0), codec)
}

/** Where each cluster is, and what its watcher calls it. */
export interface KnownClusters {
  readonly assignments: Assignments
  /** Of a cluster whose watcher has not said it yet none. */
  readonly names: ReadonlyMap<ClusterId, string>
}

/** For a reader that asks again and again: it reads what was written since. */
export class FollowedClusters {
  readonly #control: FollowedTopic
  readonly #codec: Codec

  constructor(log: Log, codec: Codec, clock: Clock) {
    const prefixes = [ASSIGN_PREFIX, NAME_PREFIX]
    this.#control = new FollowedTopic({ log, clock, topic: 'control', prefixes })
    this.#codec = codec
  }

  async read(): Promise<KnownClusters> {
    const latest = await this.#control.latest()
    return { assignments: assignmentsIn(latest, this.#codec), names: namesIn(latest, this.#codec) }
  }
}

/** Of the latest entries of `control`. */
export function assignmentsIn(control: readonly Entry[], codec: Codec): Assignments {
  const found = new Map<ClusterId, LoggedAssignment>()
  for (const { key, value, offset } of control) {
    if (!key.startsWith(ASSIGN_PREFIX) || value === null) continue
    const record = decoded(codec, value)
    if (record?.type !== 'Assignment' || key !== assignKey(record.cluster)) continue
    found.set(record.cluster, { ...record, offset })
  }
  return found
}

/** Of the latest entries of `control`: what clusters are called. */
export function namesIn(control: readonly Entry[], codec: Codec): ReadonlyMap<ClusterId, string> {
  const found = new Map<ClusterId, string>()
  for (const { key, value } of control) {
    if (!key.startsWith(NAME_PREFIX) || value === null) continue
    const record = decoded(codec, value)
    if (record?.type !== 'ClusterName' || key !== nameKey(record.cluster)) continue
    found.set(record.cluster, record.name)
  }
  return found
}

function decoded(codec: Codec, value: Uint8Array): Writable | undefined {
  try {
    return codec.decode(value)
  } catch (error) {
    if (error instanceof CodecError) return undefined
    throw error
  }
}
