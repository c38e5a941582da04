/**
 * Results on their way to `events`: gathered for a moment, appended together, and only then settled.
 *
 * What must stay true: `onAppended` is called after the append was acknowledged, never before; results of one partition keep their order.
 *
 * Not here: a bound on the waiting results, which is that of the windows: a command holds its place until its result is appended. Results about found
 * owners hold none, and each is published rarely (found-owners.ts).
 */
import type { Clock } from '../../ports/clock.ts'
import type { Codec } from '../../ports/codec.ts'
import type { Log } from '../../ports/log.ts'
import type { LogRetry } from './log-retry.ts'
import type { Result } from './result.ts'

export interface Outgoing {
  /** Of the event: a home. */
  readonly key: string
  readonly result: Result
  readonly onAppended: () => void
}

export interface Outbox {
  put(partition: number, outgoing: Outgoing): void
  /** Resolves once nothing waits, or nothing more can be appended. */
  drained(): Promise<void>
}

export interface OutboxParts {
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  readonly retry: LogRetry
  readonly bounds: { readonly gatherMs: number; readonly resultsPerAppend: number }
  readonly onFailed: (error: unknown) => void
  /** Gives up waiting results: their commands will be carried out again. */
  readonly signal: AbortSignal
}

export function createOutbox(parts: OutboxParts): Outbox {
  const { log, codec, clock, retry, bounds, onFailed, signal } = parts
  const waiting = new Map<number, Outgoing[]>()
  const flushing = new Map<number, Promise<void>>()

  async function flush(partition: number, queue: Outgoing[]): Promise<void> {
    while (queue.length > 0 && !signal.aborted) {
      await clock.sleep(bounds.gatherMs, signal)
      const batch = queue.splice(0, bounds.resultsPerAppend)
      const records = batch.map(({ key, result }) => ({ key, value: codec.encode(result) }))
      await retry(() => log.append('events', partition, records), signal)
      for (const { onAppended } of batch) onAppended()
    }
  }

  async function flushAndForget(partition: number, queue: Outgoing[]): Promise<void> {
    try {
      await flush(partition, queue)
    } catch (error) {
      queue.length = 0
      if (!signal.aborted) onFailed(error)
    } finally {
      flushing.delete(partition)
    }
  }

  return {
    put(partition, outgoing) {
      let queue = waiting.get(partition)
      if (queue === undefined) {
        queue = []
        waiting.set(partition, queue)
      }
      queue.push(outgoing)
      if (!flushing.has(partition)) flushing.set(partition, flushAndForget(partition, queue))
    },
    async drained() {
      while (flushing.size > 0) await Promise.all(flushing.values())
    },
  }
}
