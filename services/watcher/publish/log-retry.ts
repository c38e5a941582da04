/**
 * Calls to the log that are made again until they get through.
 *
 * What must stay true: an append whose outcome is unknown is made again: a record twice on the log changes nothing, a record lost does.
 */
import type { Clock } from '../../../ports/clock.ts'
import type { Appending, Log, Topic } from '../../../ports/log.ts'
import { LogError } from '../../../ports/log.ts'
import type { Random } from '../../../ports/random.ts'
import type { WatcherConfig } from '../config.ts'
import { backoffMs } from '../monitor.ts'

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
  const waits = { backoffMinMs: config.appendRetryMinMs, backoffMaxMs: config.appendRetryMaxMs }
  for (let failures = 1; ; failures++) {
    signal.throwIfAborted()
    try {
      return await work()
    } catch (error) {
      if (!mayTryAgain(error)) throw error
      await clock.sleep(backoffMs(failures, random.next(), waits), signal)
    }
  }
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

function mayTryAgain(error: unknown): boolean {
  return error instanceof LogError && (error.remedy === 'retry' || error.remedy === 'take-over')
}
