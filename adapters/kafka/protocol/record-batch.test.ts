/** A batch of records is decoded as it was written, or not at all. */
import { deepEqual, equal, throws } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { crc32c } from '../../../ports/crc32c.ts'
import type { Entry, Produced } from '../../../ports/log.ts'
import { type Batch, COMPRESSIONS, decodeBatches, encodeBatch } from './record-batch.ts'
import { Writer } from './wire.ts'

const ATTRIBUTES_AT = 21
const CRC_AT = 17
const LENGTH_AT = 8
const BODY_AT = 12
const RECORDS_AT = 61
const NOW = 1_790_000_000_000
const STAMP = { producerId: 7n, epoch: 1, sequence: 0, isTransactional: false }

const key = fc.string({ unit: 'binary', maxLength: 40 })
const value = fc.option(fc.uint8Array({ maxLength: 300 }), { nil: null })
const trace = fc.string({ unit: fc.constantFrom('0', 'f', '-'), minLength: 1, maxLength: 64 })
/** For other programs: written, and never read here. */
const headers = fc.array(fc.tuple(fc.constantFrom('ce_id', '', 'ö'), key), { maxLength: 9 })
const records = fc.array(
  fc.record({ key, value, trace, headers }, { requiredKeys: ['key', 'value'] }),
  { minLength: 1, maxLength: 40 },
)

/** As the broker stores it: with its first offset, which no sum covers. */
function stored(bytes: Buffer, first: bigint): Buffer {
  bytes.writeBigInt64BE(first, 0)
  return bytes
}

function entriesOf(batches: Iterable<Batch>): Entry[] {
  const entries = [...batches].flatMap((batch) => [...batch.pieces()].flat())
  return entries.map(({ value: held, ...entry }) => ({
    ...entry,
    value: held && [...held],
  })) as unknown as Entry[]
}

function expected(produced: readonly Produced[], first: bigint): Entry[] {
  return produced.map(({ headers: _headers, ...record }, index) => ({
    offset: first + BigInt(index),
    timestamp: NOW,
    ...record,
    value: record.value && [...record.value],
  })) as unknown as Entry[]
}

for (const compression of COMPRESSIONS) {
  test(`${compression}: any records come back as they were`, () => {
    fc.assert(
      fc.property(
        records,
        fc.bigInt({ min: 0n, max: 2n ** 62n }),
        fc.boolean(),
        (produced, first, isTransactional) => {
          const stamp = { ...STAMP, isTransactional }
          const set = stored(encodeBatch(produced, stamp, NOW, compression), first)
          const [batch, ...more] = [...decodeBatches(set)]
          deepEqual(more, [])
          deepEqual(entriesOf([batch!]), expected(produced, first))
          const { last, producerId, control } = batch!
          deepEqual(
            [batch!.first, last, producerId, batch!.isTransactional, control],
            [first, first + BigInt(produced.length - 1), 7n, isTransactional, null],
          )
        },
      ),
    )
  })

  test(`${compression}: a damaged byte is an error that names the offset`, () => {
    fc.assert(
      fc.property(records, fc.nat(), fc.integer({ min: 1, max: 255 }), (produced, where, flip) => {
        const set = stored(encodeBatch(produced, STAMP, NOW, compression), 4_711n)
        const at = CRC_AT + (where % (set.length - CRC_AT))
        set[at] = set[at]! ^ flip
        throws(() => entriesOf(decodeBatches(set)), /batch at offset 4711 does not match/)
      }),
    )
  })
}

test('a batch that was cut off is left for the next answer, wherever it was cut', () => {
  fc.assert(
    fc.property(fc.array(records, { minLength: 1, maxLength: 4 }), fc.nat(), (all, where) => {
      let first = 100n
      let whole = 0
      const batches = all.map((produced) => {
        const bytes = stored(encodeBatch(produced, STAMP, NOW, 'none'), first)
        first += BigInt(produced.length)
        return bytes
      })
      const set = Buffer.concat(batches)
      const cut = where % (set.length + 1)
      for (let end = 0; whole < batches.length; whole++) {
        end += batches[whole]!.length
        if (end > cut) break
      }
      const read = entriesOf(decodeBatches(set.subarray(0, cut)))
      deepEqual(read, expected(all.slice(0, whole).flat(), 100n))
    }),
  )
})

test('a large batch comes in pieces that make up the whole', () => {
  const produced = Array.from({ length: 1_000 }, (_, number) => ({
    key: `key-${number}`,
    value: Buffer.from(String(number)),
  }))
  const set = stored(encodeBatch(produced, STAMP, NOW, 'zstd'), 100n)
  const [batch] = [...decodeBatches(set)]
  const sizes = [...batch!.pieces()].map(({ length }) => length)
  deepEqual(sizes, [256, 256, 256, 232])
  deepEqual(entriesOf([batch!]), expected(produced, 100n))
})

test('what would not gain is not compressed', () => {
  const small = [{ key: 'k', value: Buffer.alloc(100) }]
  equal(encodeBatch(small, STAMP, NOW, 'zstd').readInt16BE(ATTRIBUTES_AT), 0)
  const large = [{ key: 'k', value: Buffer.alloc(10_000) }]
  const packed = encodeBatch(large, STAMP, NOW, 'zstd')
  equal(packed.readInt16BE(ATTRIBUTES_AT), 4)
  equal(packed.length < 200, true)
})

test('a batch of a codec that we do not read says what to do', () => {
  const SNAPPY = 2
  const set = encodeBatch([{ key: 'k', value: null }], STAMP, NOW, 'none')
  set.writeInt16BE(SNAPPY, ATTRIBUTES_AT)
  set.writeUInt32BE(crc32c(set.subarray(ATTRIBUTES_AT)), CRC_AT)
  throws(
    () => entriesOf(decodeBatches(set)),
    /codec 2: set compression\.type=producer on the topic, and let no other program write there/,
  )
})

test('a batch of an old format is refused', () => {
  const MAGIC_AT = 16
  const set = encodeBatch([{ key: 'k', value: null }], STAMP, NOW, 'none')
  set.writeInt8(1, MAGIC_AT)
  throws(() => entriesOf(decodeBatches(set)), /a batch of format 1/)
})

/** A batch of one record whose headers are these bytes: their count, and each with its lengths. */
function withHeaders(headers: Buffer): Buffer {
  const record = new Writer(64)
  record.int8(0).varint(0).varint(0).varint(1).utf8('k', 1).varint(1).utf8('v', 1).raw(headers)
  const body = new Writer(64)
  body.varint(record.written.length).raw(record.written)
  const set = encodeBatch([{ key: 'k', value: null }], STAMP, NOW, 'none').subarray(0, RECORDS_AT)
  const all = Buffer.concat([set, body.written])
  all.writeInt32BE(all.length - BODY_AT, LENGTH_AT)
  all.writeUInt32BE(crc32c(all.subarray(ATTRIBUTES_AT)), CRC_AT)
  return all
}

function headerBytes(...all: readonly (readonly [name: string, value: string | null])[]): Buffer {
  const out = new Writer(64)
  out.varint(all.length)
  for (const [name, text] of all) {
    out.varint(Buffer.byteLength(name)).utf8(name, Buffer.byteLength(name))
    if (text === null) out.varint(-1)
    else out.varint(Buffer.byteLength(text)).utf8(text, Buffer.byteLength(text))
  }
  return out.written
}

test('of the headers of other programs nothing is taken, and of a trace only what can be one', () => {
  const traceOf = (bytes: Buffer): string | undefined => {
    const [entry] = entriesOf(decodeBatches(stored(withHeaders(bytes), 5n)))
    deepEqual([entry?.key, entry?.offset], ['k', 5n])
    return entry?.trace
  }
  equal(traceOf(headerBytes()), undefined)
  equal(traceOf(headerBytes(['other', 'x'], ['traceparent', '00-a'], ['more', null])), '00-a')
  equal(traceOf(headerBytes(['Traceparent', 'x'], ['traceparen', 'y'])), undefined)
  equal(traceOf(headerBytes(['traceparent', null])), undefined)
  equal(traceOf(headerBytes(['traceparent', ''])), undefined)
  equal(traceOf(headerBytes(['traceparent', 'x'.repeat(65)])), undefined)
  equal(traceOf(headerBytes(['traceparent', 'a b'])), undefined)
  equal(traceOf(headerBytes(['traceparent', '\u00e9'])), undefined)
  const many = Array.from({ length: 1_000 }, (_, number) => [`h${number}`, 'x'] as const)
  equal(traceOf(headerBytes(...many, ['traceparent', 'last'])), 'last')
})

test('a count or a length of headers that its record does not hold is an error, as any other', () => {
  const numbers = (...all: number[]): Buffer => {
    const out = new Writer(64)
    for (const each of all) out.varint(each)
    return out.written
  }
  for (const hostile of [
    numbers(-1),
    numbers(1),
    numbers(2 ** 31 - 1),
    numbers(1, 2 ** 31 - 1),
    numbers(1, -1, 0),
    numbers(1, 0, 2 ** 31 - 1),
    numbers(2, 0, 0, 0),
  ]) {
    const set = stored(withHeaders(hostile), 5n)
    throws(() => entriesOf(decodeBatches(set)), RangeError, hostile.toString('hex'))
  }
})

test('no header reaches into the record behind it', () => {
  const first = withHeaders(headerBytes(['traceparent', 'x']))
  const length = first.readInt8(RECORDS_AT)
  const bodies = Buffer.concat([first.subarray(RECORDS_AT), first.subarray(RECORDS_AT)])
  // The first record says that it ends a byte sooner than its header does.
  bodies.writeInt8(length - 2, 0)
  const set = Buffer.concat([first.subarray(0, RECORDS_AT), bodies])
  set.writeInt32BE(set.length - BODY_AT, LENGTH_AT)
  set.writeInt32BE(2, RECORDS_AT - 4)
  set.writeUInt32BE(crc32c(set.subarray(ATTRIBUTES_AT)), CRC_AT)
  throws(() => entriesOf(decodeBatches(stored(set, 5n))), /header is longer than its record/)
})
