/** A rule that was just compiled has the digest that it has when it comes back from the log. */
import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import { type Rule, ruleDigest } from '../../core/model/rule/rule.ts'
import { ruleIn } from '../../testing/model/rule-notation.ts'
import { avroCodec } from './codec.ts'

const RULES: readonly Rule[] = [
  'a/b pod,cm 60 for:1 warn:2 limit:3 percent:4 label:a=b no-label:c namespace:a older:5',
  'c pod 60 since:status.a seconds:spec.b when:status.c=d foreground',
  'd cm 0 expires:x/y',
  'e cm 0 ttl:x/y not-namespace:z keep:3 by:label=a',
  'f pod 0 terminating grace:0',
].map(ruleIn)

test('whatever the order of its keys was', () => {
  const codec = avroCodec()
  for (const rule of RULES) {
    const back = codec.decode(codec.encode({ type: 'RuleBook', rules: [rule], who: '' }))
    const [read] = back.type === 'RuleBook' ? back.rules : []
    equal(ruleDigest(reversed(rule) as Rule), read && ruleDigest(read))
  }
})

/** The same, with the keys of each of its objects the other way round. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).toReversed()
  return Object.fromEntries(entries.map(([key, each]) => [key, reversed(each)]))
}
