/**
 * Which partition each cluster's log is: a record in `control`, written by the cluster's watcher before it publishes anything.
 *
 * What must stay true: whoever asks reads the same answer from the log. A cluster without an assignment has no partition; nobody guesses one.
 *
 * Not here: how the partition is chosen (services/watcher).
 */
import { ASSIGN_PREFIX } from '../core/control-key.ts'
import type { ClusterId } from '../core/object.ts'
import type { Assignment } from '../core/record.ts'
import type { Codec } from './codec.ts'
import { CodecError } from './codec.ts'
import type { Log } from './log.ts'

/** By cluster. What cannot be read is left out. */
export async function readAssignments(
  log: Log,
  codec: Codec,
): Promise<ReadonlyMap<ClusterId, Assignment>> {
  const found = new Map<ClusterId, Assignment>()
  for (const { key, value } of await log.latest('control', 0)) {
    if (!key.startsWith(ASSIGN_PREFIX) || value === null) continue
    const record = decoded(codec, value)
    if (record !== undefined) found.set(record.cluster, record)
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
