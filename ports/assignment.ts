/**
 * Which partition each cluster's log is: a record in `control`, written by the cluster's watcher
 * before it publishes anything.
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
import type { Codec } from './record/codec.ts'
import { CodecError } from './record/codec.ts'
import { ASSIGN_PREFIX, assignKey } from './record/control-key.ts'
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

/** The same for a reader that asks again and again: it reads what was written since. */
export class FollowedAssignments {
  readonly #control: FollowedTopic
  readonly #codec: Codec

  constructor(log: Log, codec: Codec, clock: Clock) {
    this.#control = new FollowedTopic({ log, clock, topic: 'control', prefix: ASSIGN_PREFIX })
    this.#codec = codec
  }

  async read(): Promise<Assignments> {
    return assignmentsIn(await this.#control.latest(), this.#codec)
  }
}

/** Of the latest entries of `control`. */
export function assignmentsIn(control: readonly Entry[], codec: Codec): Assignments {
  const found = new Map<ClusterId, LoggedAssignment>()
  for (const { key, value, offset } of control) {
    if (!key.startsWith(ASSIGN_PREFIX) || value === null) continue
    const record = decoded(codec, value)
    if (record === undefined || key !== assignKey(record.cluster)) continue
    found.set(record.cluster, { ...record, offset })
  }
  return found
}

function decoded(codec: Codec, value: Uint8Array): Assignment | undefined {
  try {
    const record = codec.decode(value)
    return record.type === 'Assignment' ? record : undefined
  } catch (error) {
    if (error instanceof CodecError) return undefined
    throw error
  }
}
