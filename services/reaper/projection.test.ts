/** What a reaper has objects read with: it follows protections and rules as the watcher does. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { avroCodec } from '../../adapters/avro/codec.ts'
import { ManualClock } from '../../adapters/memory/clock.ts'
import { MemoryLog } from '../../adapters/memory/log.ts'
import { RULE_BOOK_KEY } from '../../ports/record/control-key.ts'
import { MARKED, projectionDigest, projectionOf } from '../../ports/record/projection.ts'
import { createLogRetry } from '../../runtime/retry.ts'
import { ruleIn } from '../../testing/model/rule-notation.ts'
import { projectionBy, readReading } from '../watcher/kind/marks.ts'
import { Control } from './control.ts'

const NEVER = new AbortController().signal
const CLUSTER = 'north'

test('rules change it at once, and those that cannot be read are none', async () => {
  const clock = new ManualClock()
  const codec = avroCodec()
  const log = new MemoryLog({ partitions: 1, clock })
  let changes = 0
  const waits = { firstMs: 1, mostMs: 1 }
  const control = new Control({
    ...{ log, codec, clock, retry: createLogRetry({ clock, waits, onWait: () => {} }) },
    bounds: { page: 100, controlPollMs: 100, controlFreshMs: 1_000 },
    onProtected: () => {
      changes++
    },
  })
  const write = async (value: Uint8Array): Promise<void> => {
    await log.append('orders', 0, [{ key: RULE_BOOK_KEY, value }])
    changes = 0
    await control.load(NEVER)
    equal(changes, 1)
    const watched = projectionBy(await readReading(log, codec, CLUSTER), [])
    equal(projectionDigest(control.projection(CLUSTER)), projectionDigest(watched))
  }
  const rules = [ruleIn('one pod 60 since:status.a')]
  await write(codec.encode({ type: 'RuleBook', rules, who: 'ann' }))
  deepEqual(control.projection(CLUSTER), projectionOf(null, [], rules))
  await write(Buffer.from('no record'))
  deepEqual(control.projection(CLUSTER), MARKED)
  await write(codec.encode({ type: 'RuleBook', rules, who: 'ann' }))

  const stop = new AbortController()
  const following = control.follow(stop.signal).catch(() => undefined)
  changes = 0
  const value = codec.encode({ type: 'RuleBook', rules: [], who: 'ann' })
  await log.append('orders', 0, [{ key: RULE_BOOK_KEY, value }])
  await clock.advance(1_000)
  deepEqual([changes, control.projection(CLUSTER)], [1, MARKED])
  stop.abort(new Error('The test is done with it.'))
  await clock.advance(1_000)
  await following
})
