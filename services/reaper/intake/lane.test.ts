/** The age of records read from a partition of commands. */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { avroCodec } from '../../../adapters/avro/codec.ts'
import { ManualClock } from '../../../adapters/memory/clock.ts'
import { MemoryLog } from '../../../adapters/memory/log.ts'
import { deleteObject } from '../../../testing/rig/reaper.ts'
import { DEFAULT_REAPER_CONFIG } from '../config.ts'
import { createLane } from './lane.ts'

test('of what was there before it was read nobody knows how long it is known', async () => {
  const clock = new ManualClock()
  const codec = avroCodec()
  const log = new MemoryLog({ partitions: 1, clock })
  const command = deleteObject({ decidedAt: clock.now() })
  const append = () => log.append('commands', 0, [{ key: 'c/u', value: codec.encode(command) }])
  await append()
  await clock.advance(300_000)
  const known: number[] = []
  const lane = createLane({
    ...{ partition: 0, log, codec, bounds: DEFAULT_REAPER_CONFIG },
    // Five minutes behind: a record of five minutes ago would count as new.
    clock: { now: () => clock.now() - 300_000, monotonicMs: () => clock.monotonicMs() },
    retry: (work) => work(),
    submit: ({ moments }) => known.push(clock.monotonicMs() - moments.knownMs),
    onUnreadable() {},
    onPositionLost() {},
  })
  const stop = new AbortController()
  const running = lane.run(stop.signal).catch(() => undefined)
  await clock.advance(10)
  await append()
  await clock.advance(10)
  stop.abort()
  await running
  deepEqual(known, [Number.POSITIVE_INFINITY, 300_010])
})
