/**
 * Generated writers and readers agree with avsc, byte for byte and value for value, or leave it to
 * avsc: for each schema, on records that fit, on those that do not, in buffers that are too small,
 * and on damaged bytes.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import type { Type } from 'avsc'
import fc from 'fast-check'
import type { Writable } from '../../ports/record/codec.ts'
import { runs } from '../../testing/hostile.ts'
import { avroTypeOf } from './avro-type.ts'
import { avroCodec, recordSchemas } from './codec.ts'
import { type Generated, generatedFor } from './generated.ts'
import { RECORD_TYPE_NAMES } from './record-type.ts'
import { type ComplexSchema, type Schema, withoutDefaults } from './schema.ts'

type Fields = Record<string, unknown>

interface Sample {
  readonly name: string
  readonly generated: Generated
  readonly writing: Type
  readonly reading: Type
  readonly draw: fc.Arbitrary<Fields>
}

const codec = avroCodec()
const HEADER_BYTES = 10

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.string({ unit: 'binary', maxLength: 70 }),
  // Lengths about those that take another byte, or another way.
  fc
    .tuple(
      fc.constantFrom('x', 'é', '中', '\ud800', '🧺'),
      fc.constantFrom(15, 16, 21, 22, 31, 32, 47, 48, 49, 63, 64, 65, 2_730, 2_731, 8_191, 8_192),
    )
    .map(([unit, length]) => unit.repeat(length)),
)
const number = fc.oneof(
  fc.integer({ min: -(2 ** 52), max: 2 ** 53 - 1 }),
  around([0, 63, 64, 2 ** 29, 2 ** 30, 2 ** 31, 2 ** 32, 2 ** 48, 2 ** 49, 2 ** 50, 2 ** 51]),
  fc.constantFrom(-0, -(2 ** 52), 2 ** 53 - 1),
)
const offset = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  number.map((each) => BigInt(each)),
  fc.constantFrom(-(2n ** 63n), 2n ** 63n - 1n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 52n) - 1n),
)
/** Values that a field may have by mistake. */
const JUNK: readonly unknown[] = [
  ...[undefined, null, 0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, -(2 ** 52) - 1],
  ...[-(2 ** 53), 1e300, 1n, 2n ** 63n, 2n ** 70n, -(2n ** 64n), true, '', 'abc', 'dry_run'],
  ...[[], ['a'], [null], [undefined], {}, { length: 3 }, new Uint8Array(3), [1], [1n]],
]

const samples: readonly Sample[] = recordSchemas(RECORD_TYPE_NAMES).map(({ name, current }) => {
  const generated = generatedFor(current, name)
  ok(generated, `${name} has nothing generated`)
  const writing = avroTypeOf(withoutDefaults(current))
  const draw = drawOf(current, new Map()) as fc.Arbitrary<Fields>
  return { name, generated, writing, reading: avroTypeOf(current), draw }
})

const cases = fc.oneof(
  ...samples.map((sample) => sample.draw.map((fields) => [sample, fields] as const)),
)

for (const sample of samples) {
  test(`${sample.name} is written and read as avsc does`, () => {
    fc.assert(
      fc.property(sample.draw, (fields) => {
        const record = { type: sample.name, ...fields }
        const body = sample.writing.toBuffer(record)
        const bytes = codec.encode(record as unknown as Writable)
        deepEqual(Buffer.from(bytes.subarray(HEADER_BYTES)), body)
        const read = codec.decode(bytes)
        deepEqual(read, { type: sample.name, ...fieldsOf(sample.reading.fromBuffer(body)) })
        agreesOnBytes(sample, body)
        const written = writtenBy(sample.generated, record, body.length)
        if (written !== undefined) deepEqual(written, body)
      }),
      { numRuns: 40 },
    )
  })
}

test('nearly all of what is written is written by generated code', () => {
  const ordinary = { group: 'apps', ageMs: 12, kind: 'ReplicaSet' }
  const kinds = [ordinary, { ...ordinary, kind: 'é'.repeat(100), ageMs: -(2 ** 48) }]
  const heartbeat = { type: 'Heartbeat', cluster: 'c1', epoch: 2 ** 31, kinds }
  const sample = samples.find(({ name }) => name === 'Heartbeat')!
  const written = writtenBy(sample.generated, heartbeat, 1_000)
  ok(written)
  deepEqual(written, sample.writing.toBuffer(heartbeat))
  deepEqual(readBy(sample.generated, written), heartbeat)
})

test('a record that does not fit is written by none', () => {
  const where = fc.nat(1_000)
  fc.assert(
    fc.property(cases, where, fc.constantFrom(...JUNK), ([sample, fields], at, junk) => {
      const broken = withJunk(fields, at, junk)
      const record = { type: sample.name, ...fieldsOf(broken) }
      const written = writtenBy(sample.generated, record, 1 << 20)
      if (written === undefined) return
      ok(sample.writing.isValid(record), 'avsc refuses it')
      deepEqual(written, sample.writing.toBuffer(record))
    }),
    runs(2_000),
  )
})

test('in a buffer that is too small nothing is written whole, nor beyond it', () => {
  fc.assert(
    fc.property(cases, fc.double({ min: 0, max: 1, noNaN: true }), ([sample, fields], share) => {
      const record = { type: sample.name, ...fields }
      const { length } = sample.writing.toBuffer(record)
      const room = Math.floor(length * share)
      const written = writtenBy(sample.generated, record, room)
      if (room < length) equal(written, undefined)
    }),
    runs(1_500),
  )
})

test('damaged bytes are read as avsc reads them, or by none', () => {
  const damage = fc.record({
    what: fc.constantFrom('flip', 'set', 'cut', 'put', 'pad'),
    at: fc.nat(999_999),
    bytes: fc.uint8Array({ minLength: 1, maxLength: 9 }),
  })
  const damages = fc.array(damage, { minLength: 1, maxLength: 3 })
  fc.assert(
    fc.property(cases, damages, ([sample, fields], all) => {
      let bytes: Uint8Array = sample.writing.toBuffer({ type: sample.name, ...fields })
      for (const { what, at, bytes: more } of all) {
        const from = at % (bytes.length + 1)
        const [head, tail] = [bytes.slice(0, from), bytes.slice(from)]
        const [first = 0] = more
        if (what === 'cut') bytes = head
        if (what === 'put') bytes = Uint8Array.from([...head, ...more, ...tail])
        if (what === 'set') bytes = Uint8Array.from([...head, first, ...tail.slice(1)])
        if (tail.length === 0) continue
        // The same number, if it was one, in more bytes than it needs.
        const padded = [tail[0]! | 0x80, ...new Array(first % 9).fill(0x80), 0]
        if (what === 'pad') bytes = Uint8Array.from([...head, ...padded, ...tail.slice(1)])
        const flipped = tail[0]! ^ (1 << (first % 8))
        if (what === 'flip') bytes = Uint8Array.from([...head, flipped, ...tail.slice(1)])
      }
      agreesOnBytes(sample, bytes)
    }),
    runs(4_000),
  )
})

test('schemas of types that none of ours has are left to avsc', () => {
  const types: readonly Schema[] = [
    ...['int', 'double', 'null', ['null'], ['string', 'null'], ['null', 'long', 'string']],
    { type: 'map', values: 'string' },
    { type: 'fixed', name: 'F', size: 2 },
    { type: 'record', name: 'other.R', fields: [] },
  ]
  for (const type of types) {
    const fields = [{ name: 'a', type }]
    equal(generatedFor({ type: 'record', name: 'R', fields }, 'R'), undefined, JSON.stringify(type))
  }
  equal(generatedFor('string', 'R'), undefined)
})

/** In the middle of other bytes, of which none may matter. */
function agreesOnBytes({ name, generated, reading }: Sample, bytes: Uint8Array): void {
  const around = Buffer.alloc(bytes.length + 40, 2)
  around.set(bytes, 20)
  const buffer = around.subarray(20, 20 + bytes.length)
  const record = readBy(generated, buffer)
  if (record === undefined) return
  const { value, offset } = reading.decode(buffer, 0)
  equal(offset, buffer.length)
  deepEqual(record, { type: name, ...fieldsOf(value) })
}

function readBy(generated: Generated, buffer: Buffer): unknown {
  const cursor = { pos: 0 }
  try {
    const record = generated.read(buffer, cursor)
    return cursor.pos === buffer.length ? record : undefined
  } catch {
    return undefined
  }
}

/** Undefined where it is refused, or there is too little room. */
function writtenBy(generated: Generated, record: unknown, room: number): Buffer | undefined {
  const around = Buffer.alloc(room + 40, 0xee)
  const buffer = around.subarray(20, 20 + room)
  let end: number | undefined
  try {
    end = generated.write(buffer, 0, record)
  } catch {}
  const outside = [...around.subarray(0, 20), ...around.subarray(20 + room)]
  ok(outside.every((byte) => byte === 0xee))
  return end === undefined || end > room ? undefined : buffer.subarray(0, end)
}

function fieldsOf(value: unknown): Fields {
  return { ...(value as Fields) }
}

/** The `at`-th value in it, however deep, is another one. */
function withJunk(value: unknown, at: number, junk: unknown): unknown {
  let left = at % countOf(value)
  const replaced = (each: unknown): unknown => {
    if (left-- === 0) return junk
    if (Array.isArray(each)) return each.map(replaced)
    if (typeof each !== 'object' || each === null || each instanceof Uint8Array) return each
    return Object.fromEntries(Object.entries(each).map(([key, one]) => [key, replaced(one)]))
  }
  return replaced(value)
}

function countOf(value: unknown): number {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return 1
  return Object.values(value).reduce((sum: number, each) => sum + countOf(each), 1)
}

function around(numbers: readonly number[]): fc.Arbitrary<number> {
  const all = numbers.flatMap((each) => [each - 1, each, each + 1])
  return fc.constantFrom(...all, ...all.map((each) => -each))
}

/** Anything that fits. */
function drawOf(schema: Schema, named: Map<string, ComplexSchema>): fc.Arbitrary<unknown> {
  if (typeof schema === 'string') return drawOfName(schema, named)
  if (isUnion(schema)) return fc.oneof(...schema.map((branch) => drawOf(branch, named)))
  const { type, name, logicalType, fields = [], symbols = [], items = 'null', word } = schema
  if (name !== undefined) named.set(`kinfold.${name}`, schema)
  switch (type) {
    case 'record': {
      const draws = fields.map((field) => [field.name, drawOf(field.type, named)] as const)
      if (word !== undefined) draws.push(['type', fc.constant<unknown>(word)])
      return fc.record(Object.fromEntries(draws), { noNullPrototype: true })
    }
    case 'array':
      return fc.array(drawOf(items, named), { maxLength: 3 })
    case 'enum':
      return fc.constantFrom(...symbols.map((symbol) => symbol.replaceAll('_', '-')))
    case 'long':
      return logicalType === 'offset' ? offset : number
    default:
      return drawOf(type, named)
  }
}

function drawOfName(name: string, named: Map<string, ComplexSchema>): fc.Arbitrary<unknown> {
  switch (name) {
    case 'null':
      return fc.constant(null)
    case 'boolean':
      return fc.boolean()
    case 'long':
      return number
    case 'string':
      return text
    case 'bytes':
      return fc.uint8Array({ maxLength: 100 })
    default: {
      const known = named.get(name)
      ok(known, `no type ${name}`)
      return drawOf(known, named)
    }
  }
}

function isUnion(schema: Schema): schema is readonly Schema[] {
  return Array.isArray(schema)
}
