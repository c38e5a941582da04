/**
 * However JSON is cut into pieces, what is kept of it is what JSON.parse has of those fields; and
 * no more is held.
 */
import { deepEqual, equal, ok, throws } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Fields, JsonError, JsonProjection, type ObjectShape } from './json-projection.ts'

const SHAPE: ObjectShape = {
  a: 'text',
  n: 'number',
  many: 'count',
  o: { a: 'text', o: { a: 'text' } },
  items: [{ a: 'text', o: { a: 'text' } }],
}

interface Projected {
  readonly values: (Fields | undefined)[]
  readonly elements: (Fields | undefined)[]
}

function project(parts: Iterable<Uint8Array>): Projected {
  const all: Projected = { values: [], elements: [] }
  const projection = new JsonProjection(SHAPE, {
    element: (fields) => all.elements.push(fields),
    value: (fields) => all.values.push(fields),
  })
  for (const part of parts) projection.push(part)
  projection.end()
  return all
}

function* inPieces(text: string, size: number): Iterable<Uint8Array> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

/** What the shape names, of a value as JSON.parse has it. */
function named(value: unknown, shape: ObjectShape): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const fields: Record<string, unknown> = {}
  for (const [key, of] of Object.entries(shape)) {
    if (!Object.hasOwn(value, key)) continue
    const field = (value as Record<string, unknown>)[key]
    if (of === 'text') fields[key] = typeof field === 'string' ? field : undefined
    else if (of === 'number') fields[key] = typeof field === 'number' ? field : undefined
    else if (of === 'count' || Array.isArray(of))
      fields[key] = Array.isArray(field) ? field.length : undefined
    else fields[key] = named(field, of as ObjectShape)
  }
  return fields
}

const KEY = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom('a', 'n', 'many', 'o', 'items', '__proto__', 'long'.repeat(40)),
  },
  fc.string({ unit: 'grapheme', maxLength: 5 }),
)
const { value: VALUE } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(true, false, null, '\\', '"', '\u2028', '\\u0041'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(KEY, tie('value'), { maxKeys: 5 }),
  ),
}))

test('it has of each field what JSON.parse has, in whatever pieces it comes', () => {
  fc.assert(
    fc.property(
      fc.array(VALUE, { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 1, max: 40 }),
      fc.constantFrom(undefined, 2),
      (values, size, indent) => {
        const texts = values.map((each) => JSON.stringify(each, null, indent))
        const parsed = texts.map((each) => JSON.parse(each) as unknown)
        const got = project(inPieces(texts.join('\n'), size))
        deepEqual(
          got.values,
          parsed.map((each) => named(each, SHAPE)),
        )
        const elements = parsed.flatMap((each) => {
          const isObject = typeof each === 'object' && each !== null && !Array.isArray(each)
          const items = isObject ? (each as Record<string, unknown>)['items'] : undefined
          return Array.isArray(items) ? items : []
        })
        const [of] = SHAPE['items'] as readonly [ObjectShape]
        deepEqual(
          got.elements,
          elements.map((each) => named(each, of)),
        )
      },
    ),
    { numRuns: 1_000 },
  )
})

const BROKEN = [
  '{',
  '[1',
  '"x',
  '{"a" 1}',
  '{"a":1,}',
  '{,}',
  '{"a":}',
  '{"a":1]',
  '}',
  'nul',
  '01x',
]
for (const text of [
  ...BROKEN,
  '{"a":"\\x"}',
  '{"a":"\n"}',
  '{"a":"\\u12"}',
  ':',
  '{"a":1 2}',
  '{1:2}',
]) {
  test(`${JSON.stringify(text)} is no JSON, in whatever pieces it comes`, () => {
    for (const size of [1, 100]) throws(() => project(inPieces(text, size)), JsonError)
  })
}

test('a text that is too long is cut where no character is broken', () => {
  for (const unit of ['x', 'ä', '😀', '\\', '"', '\u0001', '<']) {
    for (let before = 0; before < 8; before++) {
      const text = 'y'.repeat(before) + unit.repeat(5_000)
      const escaped = JSON.stringify({ a: text }).replaceAll('<', '\\u003c')
      for (const size of [7, 4_096]) {
        const [value] = project(inPieces(escaped, size)).values
        const kept = String(value?.['a'])
        ok(kept.endsWith('…') && kept.length <= 4_097, kept.slice(-10))
        ok(text.startsWith(kept.slice(0, -1).replace(/\ufffd+$/, '')), unit)
      }
    }
  }
})

test('of what is skipped nothing is held, however deep and long it is', () => {
  const deep = 1_000_000
  const projection = new JsonProjection(SHAPE, {
    element: () => undefined,
    value: (fields) => equal(fields?.['a'], 'end'),
  })
  const push = (text: string): void => projection.push(Buffer.from(text))
  push('{"x":')
  for (let each = 0; each < deep / 1_000; each++) push('[{"y":'.repeat(1_000))
  push('"')
  for (let each = 0; each < 1_000; each++) push('\\"z'.repeat(1_000))
  push('"')
  for (let each = 0; each < deep / 1_000; each++) push('}]'.repeat(1_000))
  push(',"a":"end"}')
  projection.end()
})
