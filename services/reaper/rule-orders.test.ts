/**
 * When a rule's command may be carried out: a row a case, and by any sequence of records.
 */
import { equal, match, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Rule, ruleDigest } from '../../core/model/rule/rule.ts'
import type { Entry } from '../../ports/log.ts'
import { RULE_BOOK_KEY, ruleOrderKey } from '../../ports/record/control-key.ts'
import { ruleIn } from '../../testing/model/rule-notation.ts'
import { codec } from '../../testing/rig/task-rig.ts'
import { RuleOrders } from './rule-orders.ts'

const OLD = ruleIn('old pod 60')
const OLDER = ruleIn('old pod 90')
const OTHER = ruleIn('other rs 60')
const GARBAGE = new Uint8Array([1, 2, 3])

type Said = Pick<Entry, 'key' | 'value'>

const book = (...rules: readonly Rule[]): Said => ({
  key: RULE_BOOK_KEY,
  value: codec.encode({ type: 'RuleBook', rules, who: 'ann' }),
})
const order = (name: string, digest: string, who = 'ann'): Said => ({
  key: ruleOrderKey(name),
  value: codec.encode({ type: 'RuleOrder', name, digest, who, why: 'so' }),
})
const enforce = (rule: Rule): Said => order(rule.name, ruleDigest(rule))
const suspend = (rule: Rule): Said => order(rule.name, '')

function entry({ key, value }: Said): Entry {
  return { key, value, offset: 0n, timestamp: 0 }
}

function ordersOf(said: readonly Said[]): RuleOrders {
  const orders = new RuleOrders(codec)
  for (const each of said) orders.obey(entry(each))
  return orders
}

function because(orders: RuleOrders, rule: Rule): string {
  return orders.because({ name: rule.name, digest: ruleDigest(rule), policy: null })
}

/** What is said, and what is the reason against the rule `old`; undefined: there is none. */
const rows: readonly (readonly [string, readonly Said[], RegExp | undefined])[] = [
  ['nothing', [], /^the rules of the policy are not known here$/],
  ['an order without the rules', [enforce(OLD)], /are not known here$/],
  ['the rule and no order', [book(OLD)], /^no order to enforce rule old is known here; "kinfold/],
  ['rule and order', [book(OTHER, OLD), enforce(OLD)], undefined],
  ['order and rule', [enforce(OLD), book(OLD)], undefined],
  ['a suspension', [book(OLD), enforce(OLD), suspend(OLD)], /^rule old is suspended by ann \(so\)/],
  ['one by nobody', [book(OLD), order('old', '', '')], /^rule old is suspended \(so\); "kinfold/],
  ['an order after it', [book(OLD), suspend(OLD), enforce(OLD)], undefined],
  ['another rule that is suspended', [book(OLD, OTHER), enforce(OLD), suspend(OTHER)], undefined],
  ['a policy without it', [book(OLD), enforce(OLD), book(OTHER)], /^the policy has no rule old/],
  [
    'a policy that changed it',
    [book(OLD), enforce(OLD), book(OLDER)],
    /^rule old is another by now$/,
  ],
  [
    'an order of the rule as it was before',
    [enforce(OLDER), book(OLD)],
    /^rule old was changed since the order to enforce it; "kinfold rules enforce old --why …"/,
  ],
  [
    'rules that cannot be read',
    [book(OLD), enforce(OLD), { key: RULE_BOOK_KEY, value: GARBAGE }],
    /cannot be read$/,
  ],
  [
    'an order that cannot be read',
    [book(OLD), enforce(OLD), { key: ruleOrderKey('other'), value: GARBAGE }],
    /cannot be read$/,
  ],
  [
    'an order under the key of another one',
    [book(OLD), enforce(OLD), { ...suspend(OTHER), key: ruleOrderKey('old') }],
    /cannot be read$/,
  ],
  [
    'an unknown record of rules',
    [book(OLD), enforce(OLD), { ...book(OLD), key: 'rules/later' }],
    /cannot be read$/,
  ],
  [
    'what can be read again',
    [{ key: RULE_BOOK_KEY, value: GARBAGE }, enforce(OLD), book(OLD)],
    undefined,
  ],
  ['an order that was taken away', [book(OLD), enforce(OLD), gone(enforce(OLD))], /^no order/],
  ['rules that were taken away', [book(OLD), enforce(OLD), gone(book())], /are not known here$/],
  [
    'a pause that cannot be read',
    [book(OLD), enforce(OLD), { key: 'pause/', value: GARBAGE }],
    undefined,
  ],
]

function gone({ key }: Said): Said {
  return { key, value: null }
}

for (const [what, said, reason] of rows) {
  test(`${what}: ${reason === undefined ? 'carried out' : 'not'}`, () => {
    const answer = because(ordersOf(said), OLD)
    if (reason === undefined) equal(answer, '')
    else match(answer, reason)
  })
}

const RULES = [OLD, OLDER, OTHER]
const anyRecord: fc.Arbitrary<Said> = fc.oneof(
  fc
    .subarray(RULES)
    .map((rules) => book(...rules.filter((each) => each !== OLDER || !rules.includes(OLD)))),
  fc.constantFrom(...RULES).map(enforce),
  fc.constantFrom(...RULES).map(suspend),
  fc.constantFrom(...RULES).map((rule) => ({ key: ruleOrderKey(rule.name), value: GARBAGE })),
  fc.constant({ key: RULE_BOOK_KEY, value: GARBAGE }),
)

test('only what rules and orders say last counts, however often they are said', () => {
  fc.assert(
    fc.property(fc.array(anyRecord, { maxLength: 20 }), (said) => {
      const latest = [...new Map(said.map((each) => [each.key, each])).values()]
      for (const rule of RULES) {
        const answer = because(ordersOf(said), rule)
        const isReadable = latest.every(({ value }) => value !== GARBAGE)
        const orders = new Set(latest.map(({ value }) => Buffer.from(value ?? []).toString('hex')))
        const has = ({ value }: Said): boolean =>
          orders.has(Buffer.from(value ?? []).toString('hex'))
        const isInBook = ordersOf(latest).rules.some(
          (each) => ruleDigest(each) === ruleDigest(rule),
        )
        equal(answer === '', isReadable && isInBook && has(enforce(rule)), answer)
        equal(because(ordersOf(latest), rule), answer)
      }
    }),
  )
})

test('what is left after a lost end permits nothing that was not permitted before (F39)', () => {
  fc.assert(
    fc.property(fc.array(anyRecord, { maxLength: 20 }), fc.nat({ max: 20 }), (said, kept) => {
      const orders = ordersOf(said)
      const before = RULES.filter((rule) => because(orders, rule) === '')
      const left = new Map(said.slice(0, kept).map((each) => [each.key, each]))
      for (const each of left.values()) orders.obey(entry(each), true)
      for (const rule of RULES) {
        const may = because(orders, rule) === ''
        ok(!may || before.includes(rule), `${rule.name} is permitted now`)
      }
    }),
  )
})

test('what is said since a lost end counts again (F39)', () => {
  const orders = ordersOf([book(OLD), suspend(OLD)])
  orders.obey(entry(enforce(OLD)), true)
  match(because(orders, OLD), /suspended/)
  orders.obey(entry(enforce(OLD)))
  equal(because(orders, OLD), '')
})

test('nor does an older suspension, which would permit other rules again (F39)', () => {
  const unread = { key: ruleOrderKey('other'), value: GARBAGE }
  const orders = ordersOf([book(OLD, OTHER), enforce(OLD), suspend(OTHER), unread])
  orders.obey(entry(suspend(OTHER)), true)
  match(because(orders, OLD), /cannot be read$/)
  orders.obey(entry(suspend(OTHER)))
  equal(because(orders, OLD), '')
})

test('an older order does not stand for one that could not be read, and was lost (F39)', () => {
  const orders = ordersOf([book(OLD), enforce(OLD), { key: ruleOrderKey('old'), value: GARBAGE }])
  orders.obey(entry(enforce(OLD)), true)
  match(because(orders, OLD), /cannot be read$/)
  orders.obey(entry(enforce(OLD)))
  equal(because(orders, OLD), '')
})
