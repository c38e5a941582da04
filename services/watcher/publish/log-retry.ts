/**
 * Calls to the log that are made again until they get through.
 *
 * What must stay true: an append whose outcome is unknown is made again: a record twice on the log
 * changes nothing, a record lost does.
 */
import type { Clock } from '../../../ports/clock.ts'
import type { Appending, Log, Topic } from '../../../ports/log.ts'
import type { Random } from '../../../ports/random.ts'
import { createLogRetry } from '../../../runtime/retry.ts'
import type { WatcherConfig } from '../config.ts'

export interface LogDeps {
  readonly log: Log
  readonly clock: Clock
  readonly random: Random
  readonly config: WatcherConfig
}

/** Rejects when only a person can help, or with the signal's reason. */
export async function untilDone<T>(
  { clock, random, config }: LogDeps,
  work: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  // Up to as much again is by chance, so the longest wait is never passed.
  const waits = { firstMs: config.appendRetryMinMs, mostMs: config.appendRetryMaxMs / 2 }
  signal.throwIfAborted()
  return await createLogRetry({ clock, waits, chance: () => random.next() })(work, signal)
}

/** Resolves with the offset of the first record, of the last time that it was written. */
export async function appendUntilDone(
  deps: LogDeps,
  topic: Topic,
  partition: number,
  records: readonly Appending[],
  signal: AbortSignal,
): Promise<bigint> {
  return await untilDone(deps, () => deps.log.append(topic, partition, records), signal)
}
