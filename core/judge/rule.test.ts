/** When an object is due by a rule: a row a case; and what makes nothing due. */
import { equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { compileExpression } from '../../adapters/cel/compile.ts'
import { object } from '../../testing/model/notation.ts'
import { ruleIn } from '../../testing/model/rule-notation.ts'
import type { Rule } from '../model/rule/rule.ts'
import { durationOf, durationText, timeOf } from '../model/text.ts'
import { isLike } from './like.ts'
import { duenessOf } from './rule.ts'

/** Seconds since 1970, or null for not at all. */
function dueAt(rule: string, text: string): number | null {
  const found = duenessOf(ruleIn(rule), object(text, '1'), 0)
  return found === null ? null : found.at / 1_000
}

const DUE: readonly (readonly [string, string, number | null])[] = [
  ['r cm 60', 'cm/a [created:100]', 160],
  ['r cm 60 label:tier=web', 'cm/a [created:100]', null],
  ['r cm 60 label:tier=web', 'cm/a [created:100 label:tier=web]', 160],
  ['r cm 60 label:tier=web', 'cm/a [created:100 label:tier=db]', null],
  ['r cm 60 no-label:keep', 'cm/a [created:100 label:keep=]', null],
  ['r cm 60 no-label:keep', 'cm/a [created:100 label:kept=]', 160],
  ['r cm 60 namespace:preview-*', 'cm/a in preview-7 [created:100]', 160],
  ['r cm 60 namespace:preview-*', 'cm/a in review-7 [created:100]', null],
  ['r cm 60 not-namespace:kube-*', 'cm/a in kube-system [created:100]', null],
  ['r namespace 60 namespace:preview-*', 'namespace/preview-7 [created:100]', 160],
  ['r namespace 60 namespace:preview-*', 'namespace/review-7 [created:100]', null],
  ['r namespace 60 not-namespace:kube-*', 'namespace/kube-system [created:100]', null],
  ['r namespace 60 not-namespace:kube-*', 'namespace/a [created:100]', 160],
  ['r node 60 namespace:x', 'node/a [created:100]', null],
  ['r node 60 not-namespace:x', 'node/a [created:100]', 160],
  ['r cm 0 expires:e', 'cm/a [annotation:e=1970-01-01T00:05:00Z]', 300],
  ['r cm 0 expires:e', 'cm/a [annotation:e=tomorrow]', null],
  ['r cm 0 expires:e', 'cm/a', null],
  ['r cm 0 ttl:t', 'cm/a [created:100 annotation:t=2m]', 220],
  ['r cm 0 ttl:t', 'cm/a [created:100 annotation:t=forever]', null],
  ['r cm 0 ttl:t', 'cm/a [created:100]', null],
  ['r job 0 since:s seconds:n', 'job/a [field:s=1970-01-01T00:01:00Z field:n=5]', 65],
  ['r job 0 since:s seconds:n', 'job/a [field:s=1970-01-01T00:01:00Z field:n=0]', 60],
  ['r job 0 since:s seconds:n', 'job/a [field:s=1970-01-01T00:01:00Z field:n=-5]', null],
  ['r job 0 since:s seconds:n', 'job/a [field:s=1970-01-01T00:01:00Z]', null],
  ['r job 0 since:s seconds:n', 'job/a [field:n=5]', null],
  ['r job 9 since:s when:c=True', 'job/a [field:s=1970-01-01T00:01:00Z field:c=False]', null],
  ['r job 9 since:s when:c=True', 'job/a [field:s=1970-01-01T00:01:00Z field:c=True]', 69],
]

for (const [rule, text, due] of DUE) {
  test(`${rule}: ${text} is due ${due === null ? 'never' : `at ${due} s`}`, () => {
    equal(dueAt(rule, text), due)
  })
}

test('of several cases the earliest decides, and those without a time say nothing', () => {
  const early = ruleIn('r cm 60')
  const late = ruleIn('r cm 90')
  const never = ruleIn('r cm 0 expires:e')
  const rule = { ...early, cases: [...never.cases, ...late.cases, ...early.cases] }
  equal(duenessOf(rule, object('cm/a [created:100]', '1'), 0)?.at, 160_000)
})

test('an object whose creation is unknown has no age', () => {
  const born = { ...object('cm/a', '1'), createdAt: null }
  equal(duenessOf(ruleIn('r cm 60'), born, 0), null)
})

test('it says why in words that do not change with time', () => {
  const because =
    duenessOf(ruleIn('old cm 7200'), object('cm/a [created:100]', '1'), 0)?.because ?? ''
  match(because, /^rule old: due 2 h after it was created \(1970-01-01T00:01:40Z\)$/)
})

test('a time far beyond the calendar is no time of a timer', () => {
  const text = 'job/a [field:s=9999-12-31T23:59:59Z field:n=9999999999]'
  const at = duenessOf(ruleIn('r job 0 since:s seconds:n'), object(text, '1'), 0)?.at ?? 0
  equal(`${at}`.length <= 15, true)
})

const TIMES: readonly (readonly [string, number | null])[] = [
  ['1970-01-02', 86_400_000],
  ['1970-01-01T00:00', 0],
  ['1970-01-01 00:01', 60_000],
  ['1970-01-01T00:00:01Z', 1_000],
  ['1970-01-01T02:00:00+02:00', 0],
  ['1970-01-01T00:00:00.250Z', 250],
  ['1970-01-01T00:00:00.123456789Z', 123],
  ['1969-12-31', null],
  ['1970-13-01', null],
  ['1970-01-01T25:00:00Z', null],
  ['1 Jan 1970', null],
  ['', null],
  ['1970', null],
  ['10000-01-01', null],
]

for (const [text, time] of TIMES) {
  test(`"${text}" is ${time === null ? 'no time' : `${time} ms`}`, () => equal(timeOf(text), time))
}

const DURATIONS: readonly (readonly [string, number | null])[] = [
  ['90m', 5_400_000],
  ['1h30m', 5_400_000],
  ['7d', 604_800_000],
  ['2w', 1_209_600_000],
  ['250ms', 250],
  ['0s', 0],
  ['', null],
  ['5', null],
  ['-5m', null],
  ['1.5h', null],
  ['5 m', null],
  ['999999999w999999999w', null],
]

for (const [text, ms] of DURATIONS) {
  test(`"${text}" is ${ms === null ? 'no duration' : `${ms} ms`}`, () =>
    equal(durationOf(text), ms))
}

const LIKE: readonly (readonly [string, string, boolean])[] = [
  ['a', 'a', true],
  ['a', 'b', false],
  ['preview-1', 'preview-*', true],
  ['preview-', 'preview-*', true],
  ['aba', 'a*a', true],
  ['a', 'a*a', false],
  ['axbyc', 'a*b*c', true],
  ['acb', 'a*b*c', false],
  ['', '*', true],
  ['anything', '**', true],
]

for (const [text, pattern, isSo] of LIKE) {
  test(`"${text}" is ${isSo ? '' : 'not '}like ${pattern}`, () =>
    equal(isLike(text, pattern), isSo))
}

test('a duration is told in the largest unit that it is a whole number of', () => {
  equal([86_400_000, 5_400_000, 1_000, 1].map(durationText).join(), '1 d,90 min,1 s,1 ms')
})

function ruleWith(rule: string, source: string): Rule {
  const compiled = compileExpression(source)
  if (compiled.type === 'Refused') throw new Error(compiled.reason)
  const read = ruleIn(rule)
  return { ...read, match: { ...read.match, expression: compiled.expression } }
}

const SAID: readonly (readonly [string, string, number | null])[] = [
  ["object.metadata.name.startsWith('tmp-')", 'cm/tmp-1 [created:100]', 160],
  ["object.metadata.name.startsWith('tmp-')", 'cm/a [created:100]', null],
  ["object.metadata.labels['x'] == '1'", 'cm/a [created:100]', null],
  ['int(object.spec.replicas) == 0', 'cm/a [created:100 field:spec.replicas=0]', 160],
  ['int(object.spec.replicas) == 0', 'cm/a [created:100 field:spec.replicas=many]', null],
  ["now > timestamp('1970-01-01T00:10:00Z')", 'cm/a [created:100]', null],
]

for (const [source, text, due] of SAID) {
  test(`where ${source}, ${text} is due ${due === null ? 'never' : `at ${due} s`}`, () => {
    const found = duenessOf(ruleWith('r cm 60', source), object(text, '1'), 0)
    equal(found === null ? null : found.at / 1_000, due)
  })
}

test('a tree that this version cannot read makes nothing due', () => {
  const rule = ruleWith('r cm 60', "object.metadata.name == 'a'")
  const expression = { ...rule.match.expression!, tree: '{"op":"tomorrow"}' }
  const other = { ...rule, match: { ...rule.match, expression } }
  equal(duenessOf(rule, object('cm/a', '1'), 0) === null, false)
  equal(duenessOf(other, object('cm/a', '1'), 0), null)
})
