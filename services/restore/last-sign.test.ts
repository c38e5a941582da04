/** What a restore says of a time in which nothing was seen. */
import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryLog } from '../../adapters/memory/log.ts'
import { systemClock } from '../../runtime/clock.ts'
import { World } from '../../testing/model/story.ts'
import { appendAll, codec } from '../../testing/rig/task-rig.ts'
import { unseenText } from './last-sign.ts'

const CLUSTER = { id: 'c', name: 'north' }
const SEEN_AT = Date.UTC(2026, 10, 27, 12, 3, 4)

/** A log with so many other entries after a heartbeat. */
async function logOf(others: number): Promise<MemoryLog> {
  const world = new World()
  let now = SEEN_AT
  const log = new MemoryLog({ partitions: 2, clock: { ...systemClock(), now: () => now } })
  await appendAll(log, [world.beat(1)])
  now += 3_600_000
  await appendAll(
    log,
    Array.from({ length: others }, (_, each) => world.put(`cm/a${each}`)),
  )
  return log
}

for (const [what, others, later, expected] of [
  ['just now', 0, 5_000, ''],
  [
    'an hour ago',
    0,
    3_600_000,
    'nothing was seen of cluster north since 2026-11-27T12:03:04Z: what was there then may have lived again, or changed, before it was deleted',
  ],
  ['behind more entries than are read at once', 1_200, 5_000, ''],
  ['longer ago than is read', 10_001, 3_600_000, ''],
] as const) {
  test(`a cluster that was seen ${what}`, async () => {
    const log = await logOf(others)
    equal(await unseenText(log, codec, CLUSTER, SEEN_AT + later), expected)
    equal(await unseenText(log, codec, { id: 'd', name: 'other' }, SEEN_AT + later), '')
  })
}
