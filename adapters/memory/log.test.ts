/** The memory log against its contract, and its additional functions. */
import { deepEqual, equal, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { type LogFixture, logContract } from '../../ports/log.contract.ts'
import { SettableClock } from '../../testing/settable-clock.ts'
import { ManualClock } from './clock.ts'
import { MemoryLog } from './log.ts'

function fixture(log: MemoryLog, clock: SettableClock): LogFixture {
  return {
    log,
    clock,
    confirm: (skewsMs) => log.time.confirm(skewsMs),
    holdNextCommit: () => log.holdNextCommit(),
    loseNextCommitAnswer: (took) => log.loseNextCommitAnswer(took),
    reopen: async () => fixture(log.reopen(), clock),
    compact: async (topic, partition) => log.compact(topic, partition),
  }
}

logContract('memory log', async () => {
  const clock = new SettableClock()
  return fixture(new MemoryLog({ partitions: 2, clock }), clock)
})

const record = { key: 'k', value: new Uint8Array([1]) }

test('a refused append leaves nothing', async () => {
  const log = new MemoryLog({ partitions: 1, clock: new ManualClock() })
  log.refuseNextAppend()
  await rejects(log.append('events', 0, [record]), { code: 'UNAVAILABLE', remedy: 'retry' })
  deepEqual(await log.bounds('events', 0), { start: 0n, end: 0n })
  await log.append('events', 0, [record])
})

test('a reader waits on the clock it was given', async () => {
  const clock = new ManualClock()
  const log = new MemoryLog({ partitions: 1, clock })
  const waiting = log.read('events', 0, 0n, { limit: 1, waitMs: 3_600_000 })
  await clock.advance(3_600_000)
  deepEqual((await waiting).entries, [])
  equal(clock.sleeping, 0)
})

test('a commit left open by a process that ended blocks readers until the task is opened', async () => {
  const log = new MemoryLog({ partitions: 1, clock: new ManualClock() })
  const task = await log.openTask(0)
  log.holdNextCommit()
  const outputs = [{ topic: 'commands', partition: 0, records: [record] }] as const
  const commit = rejects(task.commit({ outputs, changelog: [record] }), { code: 'CLOSED' })
  const after = log.reopen()
  await commit
  await after.append('commands', 0, [record])
  equal((await after.bounds('commands', 0)).end, 0n)
  await after.openTask(0)
  const { entries } = await after.read('commands', 0, 0n, { limit: 9, waitMs: 0 })
  deepEqual(
    entries.map((entry) => entry.offset),
    [1n],
  )
})

test('a hold that was told how to end before there was a commit holds up none', async () => {
  const log = new MemoryLog({ partitions: 1, clock: new ManualClock() })
  const task = await log.openTask(0)
  log.holdNextCommit().release()
  await task.commit({ outputs: [], changelog: [record] })
  log.holdNextCommit().abort()
  await rejects(task.commit({ outputs: [], changelog: [record] }), { code: 'UNKNOWN_OUTCOME' })
})
