/**
 * An order that holds reapers back is published again soon after `orders` lost it, and what an
 * order released stays released.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { ManualClock } from '../../../adapters/memory/clock.ts'
import { MemoryLog } from '../../../adapters/memory/log.ts'
import { MemoryStore } from '../../../adapters/memory/store.ts'
import type { Directive, PolicyChanged } from '../../../core/model/event.ts'
import { EMPTY_SET } from '../../../core/model/hash.ts'
import { policyFor } from '../../../core/model/policy.ts'
import { ruleDigest } from '../../../core/model/rule/rule.ts'
import {
  PROTECT_POLICY_KEY,
  pauseKey,
  protectKey,
  RULE_BOOK_KEY,
  ruleOrderKey,
} from '../../../ports/record/control-key.ts'
import type { Control } from '../../../ports/record/service-record.ts'
import { ruleIn } from '../../../testing/model/rule-notation.ts'
import { appendAll, codec, runTask } from '../../../testing/rig/task-rig.ts'
import { CONTROL_CHECK_MS } from '../config.ts'
import { keepOrders } from './order-keeper.ts'

const POLICY = { policy: policyFor('enforce', 'guarded'), who: 'ann' }
const SUBJECT = 'namespace/blue'
const RULE = ruleIn('old pod 60')
const RULED = { policy: { ...POLICY.policy, rules: [RULE] }, who: 'ann' }

function order(verb: Directive['verb'], subject = ''): Directive {
  const said = { cluster: 'c', subject, who: 'ann', why: 'a fair' }
  return { type: 'Directive', verb, ...said, digest: null, listed: EMPTY_SET, isProven: false }
}

async function say(log: MemoryLog, key: string, verb: Control['verb']): Promise<void> {
  const rest = {
    kind: null,
    number: 0,
    connected: false,
    protection: null,
    mode: null,
    who: 'ann',
    why: '',
  }
  const value = codec.encode({ type: 'Control', verb, cluster: 'c', ...rest })
  await log.append('orders', 0, [{ key, value }])
}

/** What `orders` says of each key once it was compared with what is folded. */
async function after(
  log: MemoryLog,
  directives: readonly (Directive | PolicyChanged)[],
  policy = POLICY,
): Promise<string[]> {
  const clock = new ManualClock()
  await appendAll(log, directives)
  await using running = runTask(log, new MemoryStore())
  await running.caughtUp()
  const stop = new AbortController()
  const parts = { log, codec, clock, task: running.task, policy }
  const keeping = keepOrders(parts, stop.signal).catch(() => undefined)
  for (let round = 0; round < 2; round++) {
    await clock.advance(CONTROL_CHECK_MS)
    for (let turn = 0; turn < 20; turn++) await setImmediate()
  }
  stop.abort(new Error('enough'))
  await keeping
  const latest = await log.latest('orders', 0)
  return latest.flatMap(({ key, value }) => {
    const record = value === null ? undefined : codec.decode(value)
    if (record?.type === 'RuleBook') return [`${key} ${record.rules.map(({ name }) => name)}`]
    if (record?.type === 'RuleOrder') return [`${key} ${record.digest}`]
    return record?.type === 'Control' ? [`${key} ${record.verb}`] : []
  })
}

const SAID = [
  `${pauseKey('c')} pause`,
  `${protectKey('c', SUBJECT)} protect`,
  'protect/policy protect',
]

test('a pause, protection and the policy’s are said again where all of orders is lost (F39)', async () => {
  const log = new MemoryLog({ partitions: 1, clock: new ManualClock() })
  deepEqual(await after(log, [order('pause'), order('protect', SUBJECT)]), SAID)
})

test('they are said again where orders has fallen back to what was said before them', async () => {
  const log = new MemoryLog({ partitions: 1, clock: new ManualClock() })
  await say(log, pauseKey('c'), 'resume')
  await say(log, protectKey('c', SUBJECT), 'unprotect')
  deepEqual(await after(log, [order('pause'), order('protect', SUBJECT)]), SAID)
})

test('what is said already is said once, and what let go stays let go', async () => {
  const log = new MemoryLog({ partitions: 1, clock: new ManualClock() })
  await say(log, pauseKey('c'), 'resume')
  await say(log, protectKey('c', SUBJECT), 'protect')
  const told = await after(log, [order('pause'), order('protect', SUBJECT), order('resume')])
  deepEqual(told, [
    `${pauseKey('c')} resume`,
    `${protectKey('c', SUBJECT)} protect`,
    'protect/policy protect',
  ])
  const { end } = await log.bounds('orders', 0)
  // Beside the three orders.
  deepEqual(end, 6n)
})

test('a pause of reapers that the fold has not come to yet is left to whoever gave it', async () => {
  const log = new MemoryLog({ partitions: 1, clock: new ManualClock() })
  await say(log, pauseKey('c'), 'pause')
  deepEqual(await after(log, []), [`${pauseKey('c')} pause`, 'protect/policy protect'])
})

test('the policy’s is said again as it was said last where orders has fallen back to an earlier one', async () => {
  const clock = new ManualClock()
  const log = new MemoryLog({ partitions: 1, clock })
  for (const mode of ['dry-run', 'enforce'] as const) {
    const { protection } = policyFor(mode, 'guarded')
    const rest = { kind: null, number: 0, connected: false, protection, mode, who: 'ann', why: '' }
    const value = codec.encode({ type: 'Control', verb: 'protect', cluster: '', ...rest })
    await log.append('orders', 0, [{ key: PROTECT_POLICY_KEY, value }])
  }
  await using running = runTask(log, new MemoryStore())
  await running.caughtUp()
  const stop = new AbortController()
  const parts = { log, codec, clock, task: running.task, policy: POLICY }
  const keeping = keepOrders(parts, stop.signal).catch(() => undefined)
  const modeSaid = async (): Promise<string | null> => {
    await clock.advance(CONTROL_CHECK_MS)
    for (let turn = 0; turn < 20; turn++) await setImmediate()
    const [said] = await log.latest('orders', 0)
    const record = codec.decode(said?.value ?? new Uint8Array())
    return record.type === 'Control' ? record.mode : null
  }
  equal(await modeSaid(), 'enforce')
  log.cutOff('orders', 0, 1n)
  equal(await modeSaid(), 'enforce')
  equal(await modeSaid(), 'enforce')
  equal((await log.bounds('orders', 0)).end, 2n)
  stop.abort(new Error('enough'))
  await keeping
})

const CHANGED: PolicyChanged = { type: 'PolicyChanged', ...RULED, why: '' }
const ENFORCE: Directive = {
  ...order('enforce-rule', RULE.name),
  ...{ cluster: '', digest: ruleDigest(RULE) },
}
const SUSPEND: Directive = { ...order('suspend-rule', RULE.name), cluster: '' }

async function sayRule(log: MemoryLog, digest: string): Promise<void> {
  const { name } = RULE
  const value = codec.encode({ type: 'RuleOrder', name, digest, who: 'ann', why: '' })
  await log.append('orders', 0, [{ key: ruleOrderKey(name), value }])
}

/** What `orders` says of the rule, what users ordered, and what it says of it then. */
const orders: readonly (readonly [string, string[], readonly Directive[], string[]])[] = [
  ['an order to enforce a rule is not said again (F39)', [], [ENFORCE], []],
  ['nor in place of a suspension that the fold may have later', [''], [ENFORCE], ['']],
  ['one that the fold has stays', [ruleDigest(RULE)], [ENFORCE], [ruleDigest(RULE)]],
  ['one that was suspended since is ended (F39)', [ruleDigest(RULE)], [ENFORCE, SUSPEND], ['']],
  ['one of another rule by that name is ended', ['other'], [ENFORCE], ['']],
]

for (const [what, said, directives, then] of orders) {
  test(what, async () => {
    const log = new MemoryLog({ partitions: 1, clock: new ManualClock() })
    for (const digest of said) await sayRule(log, digest)
    const told = await after(log, [CHANGED, ...directives], RULED)
    const of = told.filter((each) => each.startsWith('rule/'))
    deepEqual(
      of,
      then.map((digest) => `${ruleOrderKey(RULE.name)} ${digest}`),
    )
    ok(told.includes(`${RULE_BOOK_KEY} old`), 'the rules are said again where they are missing')
  })
}

test('an order of a rule that the policy has changed since is ended', async () => {
  const log = new MemoryLog({ partitions: 1, clock: new ManualClock() })
  await sayRule(log, ruleDigest(RULE))
  const policy = { ...POLICY, policy: { ...POLICY.policy, rules: [ruleIn('old pod 90')] } }
  const changed: PolicyChanged = { type: 'PolicyChanged', ...policy, why: '' }
  const told = await after(log, [CHANGED, ENFORCE, changed], policy)
  deepEqual(told, ['protect/policy protect', 'rules/policy old', `${ruleOrderKey(RULE.name)} `])
  // What is said already is said once: beside the three orders, and what was there.
  equal((await log.bounds('orders', 0)).end, 7n)
})

test('a policy without rules has none to say', async () => {
  const log = new MemoryLog({ partitions: 1, clock: new ManualClock() })
  deepEqual(await after(log, []), ['protect/policy protect'])
})

test('rules are said again as they were said last where orders has fallen back to earlier ones', async () => {
  const clock = new ManualClock()
  const log = new MemoryLog({ partitions: 1, clock })
  for (const rules of [[RULE], []]) {
    const value = codec.encode({ type: 'RuleBook', rules, who: 'ann' })
    await log.append('orders', 0, [{ key: RULE_BOOK_KEY, value }])
  }
  await using running = runTask(log, new MemoryStore())
  await running.caughtUp()
  const stop = new AbortController()
  const parts = { log, codec, clock, task: running.task, policy: undefined }
  const keeping = keepOrders(parts, stop.signal).catch(() => undefined)
  const rulesSaid = async (): Promise<number | null> => {
    await clock.advance(CONTROL_CHECK_MS)
    for (let turn = 0; turn < 20; turn++) await setImmediate()
    const [said] = await log.latest('orders', 0)
    const record = codec.decode(said?.value ?? new Uint8Array())
    return record.type === 'RuleBook' ? record.rules.length : null
  }
  equal(await rulesSaid(), 0)
  log.cutOff('orders', 0, 1n)
  equal(await rulesSaid(), 0)
  equal((await log.bounds('orders', 0)).end, 2n)
  stop.abort(new Error('enough'))
  await keeping
})
