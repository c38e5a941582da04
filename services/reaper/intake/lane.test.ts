/** What is passed on of a partition of commands: in which order, and of which age. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { avroCodec } from '../../../adapters/avro/codec.ts'
import { ManualClock } from '../../../adapters/memory/clock.ts'
import { MemoryLog } from '../../../adapters/memory/log.ts'
import { deleteObject } from '../../../testing/rig/reaper.ts'
import { DEFAULT_REAPER_CONFIG } from '../config.ts'
import type { Job } from './backlog.ts'
import { createLane, READER } from './lane.ts'

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

test('a namespace with very many commands keeps no other from being read', async () => {
  const clock = new ManualClock()
  const codec = avroCodec()
  const log = new MemoryLog({ partitions: 1, clock })
  const record = (namespace: string, index: number): { key: string; value: Uint8Array } => {
    const { target, ...command } = deleteObject({ id: `0-${index}-0` })
    const of = { ...target, namespace, uid: `${namespace}-${index}` }
    return { key: `c/${of.uid}`, value: codec.encode({ ...command, target: of }) }
  }
  const many = Array.from({ length: 300 }, (_, index) => record('many', index))
  const few = Array.from({ length: 3 }, (_, index) => record('few', 300 + index))
  await log.append('commands', 0, [...many, ...few])
  const passed: Job[] = []
  const bounds = { ...DEFAULT_REAPER_CONFIG, window: 40, few: 8, page: 10 }
  const lane = createLane({
    ...{ partition: 0, log, codec, clock, bounds },
    retry: (work) => work(),
    submit: (job) => passed.push(job),
    onUnreadable() {},
    onPositionLost() {},
  })
  const stop = new AbortController()
  const running = lane.run(stop.signal).catch(() => undefined)
  const namesOf = (namespace: string): readonly string[] =>
    passed.flatMap(({ command: { target } }) =>
      target.namespace === namespace ? [target.uid] : [],
    )
  await clock.advance(10)
  deepEqual(namesOf('few'), ['few-300', 'few-301', 'few-302'])
  equal(namesOf('many').length, 30)
  await lane.save(stop.signal)
  equal((await log.loadPosition(READER, 'commands', 0))?.offset ?? 0n, 0n)

  for (let done = 0; done < passed.length; done++) {
    for (const settle of passed[done]?.onSettled ?? []) settle()
    await clock.advance(0)
    ok(passed.length - done <= 40, 'more are kept than may be')
  }
  deepEqual(
    namesOf('many'),
    many.map((_, index) => `many-${index}`),
  )
  equal(lane.unsettled(), 0)
  await lane.save(stop.signal)
  equal((await log.loadPosition(READER, 'commands', 0))?.offset, 303n)
  stop.abort()
  await running
})
