/** Whether the end of an object was reported at once, or after a time in which nothing was seen. */
import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryLog } from '../../../adapters/memory/log.ts'
import type { LoggedEvent } from '../../../core/model/event.ts'
import type { History } from '../../../core/model/record.ts'
import { timeText } from '../../../core/model/text.ts'
import { systemClock } from '../../../runtime/clock.ts'
import { codec } from '../../../testing/rig/task-rig.ts'
import { Turns } from '../turns.ts'
import { Outages } from './outage.ts'

const BEGIN = Date.UTC(2026, 10, 28, 22)
/** Any other record than a sign of life. */
const OTHER: LoggedEvent = { type: 'Continue' }
const beat = (cluster: string): LoggedEvent => ({ type: 'Heartbeat', cluster, epoch: 1, kinds: [] })
const started: LoggedEvent = {
  ...{ type: 'WatcherStarted', cluster: 'c', name: 'north', epoch: 2, clusterEpoch: 1 },
  serverTime: null,
}

/** Of the report after these records, in seconds since the begin; null: nothing is said. */
async function unseen(
  records: readonly (readonly [second: number, event: LoggedEvent])[],
  trimmed = 0n,
  createdAt: number | null = null,
): Promise<{ readonly since: number | null; readonly doubt: string }> {
  let now = BEGIN
  const clock = { ...systemClock(), now: () => now, monotonicMs: () => now }
  const log = new MemoryLog({ partitions: 1, clock })
  for (const [second, event] of records) {
    now = BEGIN + 1_000 * second
    await log.append('events', 0, [{ key: 'c', value: codec.encode(event) }])
  }
  if (trimmed > 0n) await log.trim('events', 0, trimmed)
  const outages = new Outages({ log, codec, turns: new Turns(systemClock()) })
  const report = { cluster: 'c', partition: 0, position: BigInt(records.length - 1), at: now }
  const since = await outages.before(report as History, createdAt)
  return { since: since === null ? null : (since - BEGIN) / 1_000, doubt: outages.doubt() }
}

test('between two signs of life nothing is said', async () => {
  const all = [0, 5, 10, 18].map((second) => [second, beat('c')] as const)
  equal((await unseen([...all, [20, OTHER]])).since, null)
})

test('what a watch reports after an outage has the last sign of life before it', async () => {
  const before = [0, 5].map((second) => [second, beat('c')] as const)
  const { since, doubt } = await unseen([...before, [40, started], [41, beat('c')], [42, OTHER]])
  equal(since, 5)
  const [from, to] = [5, 40].map((second) => timeText(BEGIN + 1_000 * second))
  equal(
    doubt,
    `nothing was seen between ${from} and ${to}: what was deleted then has no time of its own`,
  )
  // Also where it is the first that is heard again.
  equal((await unseen([...before, [40, OTHER]])).since, 5)
})

test('what was created after an outage was seen, and its end has a time of its own', async () => {
  const records = [
    [5, beat('c')],
    [40, started],
    [45, beat('c')],
    [46, OTHER],
  ] as const
  const unseenOf = async (second: number): Promise<number | null> =>
    (await unseen(records, 0n, BEGIN + 1_000 * second)).since
  equal(await unseenOf(41), null)
  // A watch that resumes reports what was created and deleted meanwhile.
  equal(await unseenOf(39), 5)
})

test('signs of life of another cluster are none of this one', async () => {
  equal(
    (
      await unseen([
        [0, beat('c')],
        [10, beat('d')],
        [20, beat('d')],
        [21, OTHER],
      ])
    ).since,
    0,
  )
})

test('what comes long after an outage was reported at once', async () => {
  const after = [40, 45, 50, 55, 60, 65, 70, 75].map((second) => [second, beat('c')] as const)
  equal((await unseen([[0, beat('c')], ...after, [76, OTHER]])).since, null)
})

test('where what came before is not kept, or is more than is read, nothing is said', async () => {
  equal(
    (
      await unseen(
        [
          [0, beat('c')],
          [40, beat('c')],
          [41, OTHER],
        ],
        1n,
      )
    ).since,
    null,
  )
  const many = Array.from({ length: 2_500 }, () => [40, OTHER] as const)
  equal((await unseen([[0, beat('c')], ...many])).since, null)
})
