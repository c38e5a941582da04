/**
 * Kafka's batch of records (format 2): written for producing, read from a broker's answers. kafkajs
 * has both; ours takes a fourth of the time and checks the sum that kafkajs skips.
 *
 * What must stay true: a batch whose sum is wrong is an error, never a record; one that was cut off
 * by the size of an answer is left for the next.
 *
 * Not here: which of the records a reader may see (visible.ts).
 */
import {
  gunzipSync,
  gzipSync,
  constants as zlib,
  zstdCompressSync,
  zstdDecompressSync,
} from 'node:zlib'
import { crc32c } from '../../../ports/crc32c.ts'
import type { Entry, Header, Produced } from '../../../ports/log.ts'
import { isTrace, MAX_TRACE_BYTES } from '../../../ports/record/record-limit.ts'
import { Reader, sizeOfVarint, Writer } from './wire.ts'

export const COMPRESSIONS = ['none', 'gzip', 'zstd'] as const
export type Compression = (typeof COMPRESSIONS)[number]

/** Lowest three bits of a batch's attributes. */
const CODEC: Readonly<Record<Compression, number>> = { none: 0, gzip: 1, zstd: 4 }
const CODEC_MASK = 7
const APPEND_TIME = 8
const TRANSACTIONAL = 16
const CONTROL = 32

/**
 * Records of one piece. Objects made for a record should be garbage before the next collection of
 * V8's young generation.
 */
const PIECE_RECORDS = 256

/** Smaller batches do not gain. */
const WORTH_COMPRESSING_BYTES = 512
const MAGIC = 2
/**
 * From the start of a batch to its length, to the byte after that, to the checksum, and to the byte
 * after it.
 */
const LENGTH_AT = 8
const BODY_AT = 12
const CRC_AT = 17
const SUMMED_AT = 21

/**
 * The one header that this reader takes, by the name that other programs know. All others are
 * skipped.
 */
const TRACE_HEADER = 'traceparent'
const NO_HEADERS: readonly Header[] = []
/** Of a header, beside its name and value, at most: two lengths. */
const HEADER_OVERHEAD_BYTES = 10
/** Of a header: two lengths, one of them of nothing. */
const LEAST_HEADER_BYTES = 2

/** The numbering of the batches of one producer, so that a broker recognises a repeated one. */
export interface ProducerStamp {
  readonly producerId: bigint
  readonly epoch: number
  readonly sequence: number
  readonly isTransactional: boolean
}

export function encodeBatch(
  records: readonly Produced[],
  stamp: ProducerStamp,
  now: number,
  compression: Compression,
): Buffer {
  const body = encodeRecords(records)
  const isSmall = body.length < WORTH_COMPRESSING_BYTES
  const used = isSmall ? 'none' : compression
  const packed = compress(body, used)
  const last = records.length - 1
  const out = new Writer(SUMMED_AT + 40 + packed.length)
  out.int64(0n).int32(0).int32(-1).int8(MAGIC).uint32(0)
  out.int16(CODEC[used] | (stamp.isTransactional ? TRANSACTIONAL : 0)).int32(last)
  out.int64(BigInt(now)).int64(BigInt(now))
  out.int64(stamp.producerId).int16(stamp.epoch).int32(stamp.sequence)
  out.int32(records.length).raw(packed)
  out.patchInt32(LENGTH_AT, out.length - BODY_AT)
  out.patchUint32(CRC_AT, crc32c(out.written.subarray(SUMMED_AT)))
  return out.written
}

function encodeRecords(records: readonly Produced[]): Buffer {
  const out = new Writer(8_192)
  for (const [delta, record] of records.entries()) {
    const { key, value } = record
    const keySize = Buffer.byteLength(key)
    const valueSize = value === null ? -1 : value.length
    const headers = headersOf(record)
    const size =
      2 + // attributes, delta of time
      sizeOfHeaders(headers) +
      sizeOfVarint(delta) +
      sizeOfVarint(keySize) +
      keySize +
      sizeOfVarint(valueSize) +
      Math.max(valueSize, 0)
    out.varint(size).int8(0).varint(0).varint(delta)
    out.varint(keySize).utf8(key, keySize).varint(valueSize)
    if (value !== null) out.raw(value)
    out.varint(headers.length)
    for (const header of headers) {
      for (const text of header) {
        const textSize = Buffer.byteLength(text)
        out.varint(textSize).utf8(text, textSize)
      }
    }
  }
  return out.written
}

function headersOf({ trace, headers = NO_HEADERS }: Produced): readonly Header[] {
  return trace === undefined ? headers : [[TRACE_HEADER, trace], ...headers]
}

function sizeOfHeaders(headers: readonly Header[]): number {
  let size = sizeOfVarint(headers.length)
  for (const header of headers) {
    for (const text of header) {
      const textSize = Buffer.byteLength(text)
      size += sizeOfVarint(textSize) + textSize
    }
  }
  return size
}

/** What the headers of a record take in a batch, at most. */
export function headerBytes(record: Produced): number {
  let bytes = 0
  for (const [name, value] of headersOf(record)) {
    bytes += HEADER_OVERHEAD_BYTES + Buffer.byteLength(name) + Buffer.byteLength(value)
  }
  return bytes
}

/** Of records, as a broker stores them. */
export interface Batch {
  readonly first: bigint
  readonly last: bigint
  readonly producerId: bigint
  readonly isTransactional: boolean
  /** `abort` and `commit` end a transaction of that producer; they hold nothing for readers. */
  readonly control: 'abort' | 'commit' | 'other' | null
  /**
   * Unpacked when asked for, and read piece by piece: batches that a reader may not see are never
   * unpacked.
   */
  pieces(): Iterable<Entry[]>
}

/** All whole batches of a fetched set, in offset order. */
export function* decodeBatches(set: Buffer): Iterable<Batch> {
  for (let at = 0; set.length - at > SUMMED_AT; ) {
    const size = BODY_AT + set.readInt32BE(at + LENGTH_AT)
    if (at + size > set.length) return
    yield decodeBatch(set.subarray(at, at + size))
    at += size
  }
}

function decodeBatch(bytes: Buffer): Batch {
  const magic = bytes.readInt8(CRC_AT - 1)
  if (magic !== MAGIC)
    throw new Error(`a batch of format ${magic}, which only Kafka before 0.11 wrote`)
  if (crc32c(bytes.subarray(SUMMED_AT)) !== bytes.readUInt32BE(CRC_AT)) {
    throw new Error(`the batch at offset ${bytes.readBigInt64BE(0)} does not match its checksum`)
  }
  const read = new Reader(bytes)
  const first = read.int64()
  read.at = SUMMED_AT
  const attributes = read.int16()
  const last = first + BigInt(read.int32())
  const firstTime = read.int64()
  const lastTime = read.int64()
  const producerId = read.int64()
  read.at += 6 // epoch and sequence
  const count = read.int32()
  const isControl = (attributes & CONTROL) !== 0
  const timestamp = Number((attributes & APPEND_TIME) !== 0 ? lastTime : firstTime)
  const packed = bytes.subarray(read.at)
  return {
    first,
    last,
    producerId,
    isTransactional: (attributes & TRANSACTIONAL) !== 0,
    control: isControl ? controlOf(packed) : null,
    pieces: () =>
      isControl
        ? []
        : decodeRecords(decompress(packed, attributes & CODEC_MASK), first, count, timestamp),
  }
}

function* decodeRecords(
  body: Buffer,
  first: bigint,
  count: number,
  timestamp: number,
): Generator<Entry[], void> {
  const read = new Reader(body)
  for (let left = count; left > 0; left -= PIECE_RECORDS) {
    const piece = new Array<Entry>(Math.min(left, PIECE_RECORDS))
    for (let index = 0; index < piece.length; index++) {
      piece[index] = decodeRecord(read, first, timestamp)
    }
    yield piece
  }
}

function decodeRecord(read: Reader, first: bigint, timestamp: number): Entry {
  const size = read.varint()
  const end = read.at + size
  read.at += 1
  read.skipVarlong()
  const offset = first + BigInt(read.varint())
  const key = read.raw(Math.max(read.varint(), 0)).toString()
  const valueSize = read.varint()
  const value = valueSize < 0 ? null : read.raw(valueSize)
  const headers = read.varint()
  const trace = headers === 0 ? undefined : traceIn(read, headers, end)
  read.at = end
  return trace === undefined
    ? { offset, timestamp, key, value }
    : { offset, timestamp, key, value, trace }
}

/**
 * A count or a length that does not fit its record is damage, as of any other part; a trace that
 * cannot be one is none.
 */
function traceIn(read: Reader, count: number, end: number): string | undefined {
  if (count < 0 || count * LEAST_HEADER_BYTES > end - read.at) {
    throw new RangeError(`a record has ${count} headers, which its size does not hold`)
  }
  let trace: string | undefined
  for (let left = count; left > 0; left--) {
    const name = read.raw(read.varint())
    const size = read.varint()
    const value = size < 0 ? undefined : read.raw(size)
    if (read.at > end) throw new RangeError('a header is longer than its record')
    const isOurs = name.length === TRACE_HEADER.length && name.toString() === TRACE_HEADER
    if (!isOurs || value === undefined || value.length > MAX_TRACE_BYTES) continue
    const text = value.toString('latin1')
    if (isTrace(text)) trace = text
  }
  return trace
}

/** A control record's key says what it is: two numbers of 16 bits, its version and its type. */
function controlOf(packed: Buffer): 'abort' | 'commit' | 'other' {
  const read = new Reader(packed)
  read.varint()
  read.at += 1
  read.skipVarlong()
  read.varint()
  const key = new Reader(read.raw(read.varint()))
  key.int16()
  const type = key.int16()
  if (type === 0) return 'abort'
  return type === 1 ? 'commit' : 'other'
}

function compress(body: Buffer, compression: Compression): Buffer {
  switch (compression) {
    case 'none':
      return body
    case 'gzip':
      return gzipSync(body, { level: 1 })
    case 'zstd':
      return zstdCompressSync(body, { params: { [zlib.ZSTD_c_compressionLevel]: 1 } })
  }
}

function decompress(packed: Buffer, codec: number): Buffer {
  switch (codec) {
    case CODEC.none:
      return packed
    case CODEC.gzip:
      return gunzipSync(packed)
    case CODEC.zstd:
      return zstdDecompressSync(packed)
    default:
      throw new Error(
        `a batch packed with codec ${codec}: set compression.type=producer on the topic, and let no other program write there`,
      )
  }
}
