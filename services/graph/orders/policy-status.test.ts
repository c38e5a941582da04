/**
 * What policies of a cluster do is published for their status: of each that is there, what it
 * matches and why it is refused, and nothing again that did not change.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { ManualClock } from '../../../adapters/memory/clock.ts'
import { MemoryLog } from '../../../adapters/memory/log.ts'
import { MemoryStore } from '../../../adapters/memory/store.ts'
import { policyStatusKey } from '../../../ports/record/control-key.ts'
import { appendAll, codec, eventsOf, runTask } from '../../../testing/rig/task-rig.ts'
import { POLICY_STATUS_EVERY_MS } from '../config.ts'
import { publishPolicyStatus } from './policy-status.ts'

const STORY = [
  ...['serve cleanup', 'relist cleanup', 'put cm/a in shop', 'put cm/b in other'],
  ...['put-policy cleanup/old in shop = cm 60', 'put-policy cleanup/bad in shop = cm 60 refused'],
  'beat 120',
]

async function published(log: MemoryLog): Promise<readonly string[]> {
  const latest = await log.latest('orders', 0)
  return latest.flatMap(({ value }) => {
    const record = value === null ? undefined : codec.decode(value)
    if (record?.type !== 'PolicyStatus') return []
    const { namespace, name, problem, isEnforced, matched, due, held } = record
    const state = problem === '' ? `${isEnforced} ${matched} ${due} ${held}` : problem
    return [`${namespace}/${name} ${state}`]
  })
}

test('each policy has a record, which goes when it goes', async () => {
  const clock = new ManualClock()
  const log = new MemoryLog({ partitions: 1, clock })
  await appendAll(log, eventsOf(STORY))
  await using running = runTask(log, new MemoryStore())
  await running.caughtUp()
  const stop = new AbortController()
  const { task } = running
  const publishing = publishPolicyStatus({ log, codec, clock, task }, stop.signal)
  const round = async (): Promise<void> => {
    await clock.advance(POLICY_STATUS_EVERY_MS)
    for (let turn = 0; turn < 50; turn++) await setImmediate()
  }
  await round()
  const [bad = '', old] = [...(await published(log))].sort()
  equal(old, 'shop/old false 1 1 1')
  equal(bad, 'shop/bad it was refused')
  const { end } = await log.bounds('orders', 0)
  await round()
  equal((await log.bounds('orders', 0)).end, end)

  await appendAll(log, eventsOf([...STORY, 'delete cleanup/bad in shop']).slice(-1))
  await running.caughtUp()
  await round()
  deepEqual(await published(log), ['shop/old false 1 1 1'])
  stop.abort(new Error('enough'))
  await publishing.catch(() => undefined)
})

test('a key names the cluster and the object, whatever they are called', () => {
  equal(policyStatusKey('a/b', 'c d'), 'policy-status/a%2Fb/c%20d')
})
