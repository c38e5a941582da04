/**
 * Digests that an audit gives to be kept elsewhere: a later audit of the same log gives them again,
 * one of another log does not.
 */
import { deepEqual, equal, notDeepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryLog } from '../../../adapters/memory/log.ts'
import type { Event } from '../../../core/model/event.ts'
import { systemClock } from '../../../runtime/clock.ts'
import { appendAll, codec, emptyStore, eventsOf, runTask } from '../../../testing/rig/task-rig.ts'
import { DIGEST_RECORDS } from '../config.ts'
import { auditPartition, type RecordedDigest } from './audit.ts'

/** And then one event more: what a fold ends with is compared, too, and no later audit has it. */
async function fold(log: MemoryLog, events: readonly Event[]): Promise<void> {
  for (const part of [events, events.slice(-1)]) {
    await appendAll(log, part)
    await using running = runTask(log, emptyStore())
    await running.caughtUp()
  }
}

async function recordedOn(log: MemoryLog): Promise<readonly RecordedDigest[]> {
  const parts = { log, codec, store: emptyStore(), partition: 0 }
  const result = await auditPartition(parts, new AbortController().signal)
  equal(result.type, 'identical')
  return result.type === 'identical'
    ? result.recorded.map(({ position, state, outputs }) => ({ position, state, outputs }))
    : []
}

test('a later audit gives the digests of an earlier one again, and one of a changed log gives others', async () => {
  const begin = eventsOf(['put cm/a'])
  const many = Array.from({ length: DIGEST_RECORDS }, () => begin.at(-1) as Event)
  const log = new MemoryLog({ partitions: 1, clock: systemClock() })
  await fold(log, [...begin, ...many])
  const early = await recordedOn(log)
  ok(early.length > 0, 'no digest is on the log')
  await fold(log, many)
  const late = await recordedOn(log)
  ok(late.length > early.length, `${late.length} digests`)
  deepEqual(late.slice(0, early.length), early)

  const rewritten = new MemoryLog({ partitions: 1, clock: systemClock() })
  await fold(rewritten, [...eventsOf(['put cm/b']), ...many])
  notDeepEqual((await recordedOn(rewritten)).slice(0, early.length), early)
})
