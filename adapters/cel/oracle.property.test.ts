/**
 * An expression has the answer that the library gives, for generated expressions and objects: the
 * library is the oracle. Where it is wrong, or lenient, the difference is a row below. And an
 * answer lasts as long as is said of it.
 *
 * What must stay true: the library is given its own values (a Date, a Map, an object), and never
 * our tree.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { readTree } from '../../core/judge/expression/read-tree.ts'
import type { ExpressionSubject } from '../../core/judge/expression.ts'
import { evaluate, evaluation } from '../../core/judge/expression.ts'
import type { OwnerReference } from '../../core/model/object.ts'
import { compileExpression } from './compile.ts'
import { environmentOf } from './type-check.ts'

type Answer = boolean | 'error'
type Draw = fc.GeneratorValue

const NOW = 1_790_000_000_000
const WORDS = ['', 'a', 'web', 'web-1', 'Job', 'é', '😀', '__proto__', 'constructor']
const KEYS = ['app', 'tier', '__proto__', 'constructor', 'example.com/ttl']
const FIELDS = ['spec.a', 'spec.b.c', 'status.phase', 'status.startTime', 'spec.toString']
/** Texts that a conversion accepts, or not, in the library as here. */
const TEXTS = [
  ...WORDS.slice(1),
  ...['0', '3', '-7', '9223372036854775807', '9223372036854775808', '1.5', 'true', 'f', '1e3'],
  ...['90m', '1h30m', '-2h', '3d', '2026-09-21T13:33:20Z', '2026-09-21T13:33:20.250+02:00', 'NaN'],
]

function pick<T>(draw: Draw, values: readonly T[]): T {
  const value = values[draw(fc.nat, { max: values.length - 1 })]
  assert.ok(value !== undefined)
  return value
}

/** The names of the macros around, and whether their elements are owner references. */
type Names = readonly { readonly name: string; readonly isOwner: boolean }[]

type Write = (draw: Draw, depth: number, names: Names) => string

const bool: Write = (draw, depth, names) => {
  if (depth === 0) return pick(draw, ['true', 'false', presence(draw, names)])
  const inner = depth - 1
  return pick<() => string>(draw, [
    () => `(${bool(draw, inner, names)} && ${bool(draw, inner, names)})`,
    () => `(${bool(draw, inner, names)} || ${bool(draw, inner, names)})`,
    () => `!(${bool(draw, inner, names)})`,
    () =>
      `(${bool(draw, inner, names)} ? ${bool(draw, inner, names)} : ${bool(draw, inner, names)})`,
    () => comparison(draw, inner, names),
    () => comparison(draw, inner, names),
    () => macro(draw, inner, names),
    () => `${text(draw, inner, names)}.${search(draw)}(${text(draw, inner, names)})`,
    () => `(${text(draw, inner, names)} in object.metadata.finalizers)`,
    () => `(${text(draw, inner, names)} in ["a", "web", "Job"])`,
    () => `(${int(draw, inner, names)} in [0, -7, 3])`,
    () => `bool(${textOf(draw, names)})`,
    () => presence(draw, names),
  ])()
}

function search(draw: Draw): string {
  return pick(draw, ['startsWith', 'endsWith', 'contains'])
}

const presence = (draw: Draw, names: Names): string =>
  pick(draw, [
    `(${JSON.stringify(pick(draw, KEYS))} in object.metadata.labels)`,
    `(${JSON.stringify(pick(draw, KEYS))} in object.metadata.annotations)`,
    `has(object.metadata.labels.${pick(draw, KEYS.slice(0, 4))})`,
    `has(object.${pick(draw, FIELDS)})`,
    `has(object.metadata.${pick(draw, ['namespace', 'creationTimestamp', 'deletionTimestamp'])})`,
    ...names.filter(({ isOwner }) => isOwner).map(({ name }) => `has(${name}.controller)`),
    ...names.filter(({ isOwner }) => isOwner).map(({ name }) => `${name}.controller`),
  ])

const comparison: Write = (draw, depth, names) => {
  const operator = pick(draw, ['==', '!=', '<', '<=', '>', '>='])
  const write = pick<Write>(draw, [text, int, double, timestamp, duration, bool])
  return `(${write(draw, depth, names)} ${operator} ${write(draw, depth, names)})`
}

const macro: Write = (draw, depth, names) => {
  if (names.length > 1) return 'true'
  const isOwner = draw(fc.boolean)
  const name = `x${names.length}`
  const list = isOwner ? 'ownerReferences' : 'finalizers'
  const holds = bool(draw, depth, [...names, { name, isOwner }])
  return `object.metadata.${list}.${pick(draw, ['exists', 'all', 'exists_one'])}(${name}, ${holds})`
}

const text: Write = (draw, depth, names) => {
  if (depth > 0 && draw(fc.nat, { max: 4 }) === 0)
    return `(${text(draw, depth - 1, names)} + ${text(draw, depth - 1, names)})`
  return pick(draw, [
    JSON.stringify(pick(draw, TEXTS)),
    `object.metadata.${pick(draw, ['name', 'namespace', 'uid'])}`,
    `object.metadata.labels[${JSON.stringify(pick(draw, KEYS))}]`,
    `object.metadata.annotations[${JSON.stringify(pick(draw, KEYS))}]`,
    `object.${pick(draw, FIELDS)}`,
    ...names.map(({ name, isOwner }) =>
      isOwner ? `${name}.${pick(draw, ['kind', 'name', 'uid', 'apiVersion'])}` : name,
    ),
  ])
}

const int: Write = (draw, depth, names) => {
  if (depth === 0)
    return pick(draw, ['0', '3', '-7', '9223372036854775807', '-9223372036854775808'])
  return pick<() => string>(draw, [
    () => `int(${textOf(draw, names)})`,
    () => `size(${text(draw, depth - 1, names)})`,
    () => `size(object.metadata.${pick(draw, ['ownerReferences', 'finalizers'])})`,
    () =>
      `(${int(draw, depth - 1, names)} ${pick(draw, ['+', '-'])} ${int(draw, depth - 1, names)})`,
  ])()
}

const double: Write = (draw, depth, names) => {
  if (depth === 0) return pick(draw, ['0.0', '1.5', '-2.25', '1e100'])
  return pick<() => string>(draw, [
    () => `double(${textOf(draw, names)})`,
    () => `double(${int(draw, depth - 1, names)})`,
    () =>
      `(${double(draw, depth - 1, names)} ${pick(draw, ['+', '-'])} ${double(draw, depth - 1, names)})`,
  ])()
}

const timestamp: Write = (draw, depth, names) => {
  if (depth === 0)
    return pick(draw, [
      'now',
      'object.metadata.creationTimestamp',
      'object.metadata.deletionTimestamp',
      'timestamp("2026-01-31T00:00:00Z")',
      'timestamp(1790000000)',
    ])
  return pick<() => string>(draw, [
    () => `timestamp(object.${pick(draw, FIELDS)})`,
    () => `(${timestamp(draw, 0, names)} + ${duration(draw, depth - 1, names)})`,
    () => `(${timestamp(draw, 0, names)} - ${duration(draw, depth - 1, names)})`,
  ])()
}

const duration: Write = (draw, depth, names) => {
  if (depth === 0) return pick(draw, ['duration("1h")', 'duration("-90s")', 'duration("0s")'])
  return pick<() => string>(draw, [
    () => `duration(object.metadata.annotations[${JSON.stringify(pick(draw, KEYS))}])`,
    () => `(${timestamp(draw, 0, names)} - ${timestamp(draw, 0, names)})`,
    () =>
      `(${duration(draw, depth - 1, names)} ${pick(draw, ['+', '-'])} ${duration(draw, depth - 1, names)})`,
  ])()
}

/** Not one that is written out: a wrong one of these is refused. */
function textOf(draw: Draw, names: Names): string {
  const written = text(draw, 0, names)
  return written.startsWith('"') ? `object.${pick(draw, FIELDS)}` : written
}

const anyText = fc.constantFrom(...TEXTS)
const anyTime = fc.option(
  fc.integer({ min: 0, max: 4_000_000_000 }).map((seconds) => seconds * 1_000),
)

function pairs(): fc.Arbitrary<{ key: string; value: string }[]> {
  const pair = fc.record({ key: fc.constantFrom(...KEYS), value: anyText })
  return fc.uniqueArray(pair, { maxLength: 5, selector: ({ key }) => key })
}

const anyOwner: fc.Arbitrary<OwnerReference> = fc.record({
  apiVersion: fc.constantFrom('v1', 'apps/v1'),
  kind: anyText,
  name: anyText,
  uid: anyText,
  controller: fc.option(fc.boolean()),
  blockOwnerDeletion: fc.constant(null),
})

const anySubject: fc.Arbitrary<ExpressionSubject> = fc.record({
  object: fc.record({
    name: anyText,
    namespace: fc.constantFrom('', 'shop'),
    uid: anyText,
    createdAt: anyTime,
    deletedAt: anyTime,
    finalizers: fc.array(anyText, { maxLength: 4 }),
    ownerReferences: fc.array(anyOwner, { maxLength: 4 }),
    labels: pairs(),
    annotations: pairs(),
  }),
  fields: fc
    .uniqueArray(fc.tuple(fc.constantFrom(...FIELDS), anyText), { selector: ([path]) => path })
    .map((entries) => new Map(entries)),
})

function ours(source: string, subject: ExpressionSubject): Answer {
  const compilation = compileExpression(source)
  if (compilation.type === 'Refused') assert.fail(`${source}: ${compilation.reason}`)
  const tree = readTree(compilation.expression.tree)
  assert.ok(tree)
  const answer = evaluate(tree, subject, NOW)
  return typeof answer === 'boolean' ? answer : 'error'
}

const YEAR = 365 * 86_400_000

/** Of times, half of them log time or what is left until one. */
const timed = (draw: Draw, depth: number): string => {
  const operator = pick(draw, ['==', '!=', '<', '<=', '>', '>='])
  if (depth > 0 && draw(fc.boolean)) {
    const [one, other] = [timed(draw, depth - 1), timed(draw, depth - 1)]
    return pick(draw, [`(${one} && ${other})`, `(${one} || ${other})`, `!${one}`])
  }
  const write = pick<Write>(draw, [timestamp, duration])
  const time = write === timestamp ? 'now' : `(now - ${timestamp(draw, 0, [])})`
  const sides = [time, write(draw, 1, [])]
  if (draw(fc.boolean)) sides.reverse()
  return `(${sides.join(` ${operator} `)})`
}

function theirs(source: string, { object, fields }: ExpressionSubject): Answer {
  const metadata = {
    name: object.name,
    uid: object.uid,
    ...(object.namespace === '' ? {} : { namespace: object.namespace }),
    ...(object.createdAt === null ? {} : { creationTimestamp: new Date(object.createdAt) }),
    ...(object.deletedAt === null ? {} : { deletionTimestamp: new Date(object.deletedAt) }),
    labels: new Map(object.labels.map(({ key, value }) => [key, value])),
    annotations: new Map(object.annotations.map(({ key, value }) => [key, value])),
    finalizers: object.finalizers,
    ownerReferences: object.ownerReferences.map(({ controller, blockOwnerDeletion, ...owner }) =>
      controller === null ? owner : { ...owner, controller },
    ),
  }
  const [a, c, phase, startTime, odd] = FIELDS.map((path) => fields.get(path))
  const spec = { a, b: { c }, toString: odd }
  const environment = environmentOf(FIELDS)
  try {
    const context = { now: new Date(NOW), object: { metadata, spec, status: { phase, startTime } } }
    const value: unknown = environment.evaluate(source, context)
    assert.equal(typeof value, 'boolean')
    return value === true
  } catch (error) {
    assert.ok(error instanceof Error && error.name === 'EvaluationError', String(error))
    return 'error'
  }
}

test('an expression has the answer of the library', () => {
  const answers = new Map<Answer, number>()
  fc.assert(
    fc.property(anySubject, fc.gen(), (subject, draw) => {
      const source = bool(draw, 3, [])
      const refused = compileExpression(source)
      fc.pre(refused.type === 'Compiled' || !refused.reason.includes('takes up to'))
      const expected = theirs(source, subject)
      answers.set(expected, (answers.get(expected) ?? 0) + 1)
      assert.equal(ours(source, subject), expected, source)
    }),
    { numRuns: 2_000 },
  )
  for (const answer of [true, false, 'error'] as const)
    assert.ok((answers.get(answer) ?? 0) > 50, `${answer} is among the answers`)
})

test('an answer lasts until its evaluation says', () => {
  let others = 0
  fc.assert(
    fc.property(anySubject, fc.gen(), fc.nat(), (subject, draw, later) => {
      const source = draw(fc.boolean) ? bool(draw, 3, []) : timed(draw, 2)
      const compilation = compileExpression(source)
      fc.pre(compilation.type === 'Compiled')
      const tree = readTree(compilation.expression.tree)
      assert.ok(tree)
      const { answer, until } = evaluation(tree, subject, NOW)
      const end = until ?? NOW + 200 * YEAR
      assert.ok(end > NOW)
      for (const at of [end - 1, NOW + (later % (end - NOW))]) {
        assert.deepEqual(evaluate(tree, subject, at), answer, `${source} at ${at}`)
      }
      if (until !== null && !isDeepStrictEqual(evaluate(tree, subject, until), answer)) others += 1
    }),
    { numRuns: 2_000 },
  )
  assert.ok(others > 100, `${others} answers are others then`)
})

/** Of CEL and of the library, where we are as the specification has it, or stricter. */
const DIFFERENCES: readonly (readonly [
  why: string,
  source: string,
  here: Answer,
  library: Answer,
])[] = [
  ['an empty text is no int', 'int(object.spec.a) == 0', 'error', true],
  ['letters outside of ASCII keep their case', '"É".lowerAscii() == "é"', false, true],
  ['texts are ordered by code points, not by UTF-16', '"\\uffff" < "😀"', true, false],
  ['a double of 64 bits or more is no int', 'int(1e30) > 0', 'error', true],
  ['the least int has no negative', '-int("-9223372036854775808") > 0', 'error', true],
  ['30 February is no day', 'timestamp(object.status.startTime) < now', 'error', true],
  [
    'durations that are negative have fractions',
    'duration("-1.5s") + duration("0s") < duration("-2s")',
    false,
    true,
  ],
  ['a text has a bound', 'size(object.status.phase) == 5000', 'error', true],
]

test('differences from the library are those listed', () => {
  const subject: ExpressionSubject = {
    object: {
      name: 'a',
      namespace: 'b',
      uid: 'c',
      createdAt: 0,
      deletedAt: null,
      finalizers: [],
      ownerReferences: [],
      labels: [],
      annotations: [],
    },
    fields: new Map([
      ['spec.a', ''],
      ['status.startTime', '2026-02-30T00:00:00Z'],
      ['status.phase', 'x'.repeat(5_000)],
    ]),
  }
  for (const [why, source, here, library] of DIFFERENCES) {
    assert.equal(ours(source, subject), here, why)
    assert.equal(theirs(source, subject), library, `${why}, in the library`)
  }
})
