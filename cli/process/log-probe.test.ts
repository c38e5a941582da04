/**
 * A process is not ready while its log does not answer, says so once, and is ready again by itself.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { MemoryLog } from '../../adapters/memory/log.ts'
import { type Bounds, LogError } from '../../ports/log.ts'
import { systemClock } from '../../runtime/clock.ts'
import { eventually } from '../../testing/eventually.ts'
import { createLogProbe } from './log-probe.ts'

test('a log that is away makes its process unready until it is back', async () => {
  const clock = { ...systemClock(), sleep: async () => await new Promise<void>(setImmediate) }
  const memory = new MemoryLog({ partitions: 1, clock })
  let isAway = false
  const bounds: MemoryLog['bounds'] = async (...asked): Promise<Bounds> => {
    if (isAway) throw new LogError('UNAVAILABLE', 'no broker answers')
    return await memory.bounds(...asked)
  }
  const away = { name: 'log', state: 'failed', reason: 'no broker answers' }
  const said: string[] = []
  const logger = { log: (_level: string, message: string) => void said.push(message) }
  const probe = createLogProbe({ bounds }, clock, logger)
  const stop = new AbortController()
  const running = probe.run(stop.signal)
  equal(probe.check().state, 'ok')
  isAway = true
  await eventually('it is noticed', async () => isDeepStrictEqual(probe.check(), away))
  isAway = false
  await eventually('it is back', async () => probe.check().state === 'ok')
  stop.abort()
  await running
  deepEqual(said, ['the log does not answer', 'the log answers again'])
})
