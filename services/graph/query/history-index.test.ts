/** The index rests on the log and nothing rests on the index: what keeps it from reading must not end the process that folds. */
import { ok } from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { MemoryLog } from '../../../adapters/memory/log.ts'
import { LogError } from '../../../ports/log.ts'
import { systemClock } from '../../../runtime/clock.ts'
import { appendAll, codec, emptyStore, eventsOf, runTask } from '../../../testing/task-rig.ts'
import { createHistoryIndex } from './history-index.ts'

class AwayLog extends MemoryLog {
  isAway = false
  refused = 0

  override async bounds(
    ...asked: Parameters<MemoryLog['bounds']>
  ): ReturnType<MemoryLog['bounds']> {
    if (!this.isAway) return await super.bounds(...asked)
    this.refused += 1
    throw new LogError('UNAVAILABLE', 'the brokers cannot be reached')
  }
}

test('a log that is away is waited for, from the start and later', async () => {
  const clock = systemClock()
  const log = new AwayLog({ partitions: 1, clock })
  await appendAll(log, eventsOf(['put cm/a']))
  {
    await using running = runTask(log, emptyStore())
    await running.caughtUp()
  }
  log.isAway = true
  const index = createHistoryIndex(log, codec, clock, emptyStore())
  const stop = new AbortController()
  let failure: unknown
  const indexing = index.run(stop.signal).catch((error: unknown) => {
    failure = error
  })
  while (log.refused < 2 && failure === undefined) await setImmediate()
  ok(failure === undefined, String(failure))
  log.isAway = false
  while ((await index.lagEntries()) > 0n && failure === undefined) await setImmediate()
  ok(failure === undefined, String(failure))
  stop.abort()
  await indexing
})
