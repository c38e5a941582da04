/**
 * The limits of one record and of one saved position, for every adapter alike.
 *
 * What must stay true: it refuses before anything is written, and the sentence names the field that
 * is too large.
 */
import {
  COMPACTED,
  type Header,
  LogError,
  type Produced,
  type SavedPosition,
  type Topic,
} from '../log.ts'

const MAX_KEY_BYTES = 32 * 1024
/**
 * A DELETE of an object with as many references as core/model/cap.ts takes in, and its other
 * fields. Services that sell Kafka take 8 MiB with a batch's own bytes.
 */
export const MAX_RECORD_BYTES: number = 7 * 1024 * 1024
const MAX_DETAIL_BYTES = 64 * 1024
export const MAX_TRACE_BYTES = 64
const MAX_HEADERS_BYTES = 256 * 1024
const TRACE = /^[\x21-\x7e]{1,64}$/
/** No UTF-16 unit of a key takes more in UTF-8. */
const UNIT_BYTES = 3

export function checkRecords(topic: Topic, records: readonly Produced[]): void {
  for (const { key, value, trace, headers } of records) {
    if (headers !== undefined && bytesOf(headers) > MAX_HEADERS_BYTES) {
      throw invalid(`The headers of the record ${key} for ${topic} take over 256 KiB: drop some`)
    }
    if (trace !== undefined && !isTrace(trace)) {
      throw invalid(`The trace of the record ${key} for ${topic} is not 1 to 64 of ASCII: drop it`)
    }
    if (isFarBelow(key, value)) continue
    const keyBytes = Buffer.byteLength(key)
    if (keyBytes === 0 || keyBytes > MAX_KEY_BYTES || !key.isWellFormed()) {
      throw invalid(`A key for ${topic} is not text of 1 byte to 32 KiB: give it another`)
    }
    if (value === null && !COMPACTED.has(topic)) {
      throw invalid(`Topic ${topic} is not compacted and takes no tombstone (key ${key})`)
    }
    if (keyBytes + (value?.length ?? 0) > MAX_RECORD_BYTES) {
      throw invalid(`The record ${key} for ${topic} is larger than 7 MiB: split it`)
    }
  }
}

/** In UTF-8. */
function bytesOf(headers: readonly Header[]): number {
  let bytes = 0
  for (const [name, value] of headers) bytes += Buffer.byteLength(name) + Buffer.byteLength(value)
  return bytes
}

/**
 * Whether a log may carry it. A reader leaves out a value that does not fit: it may be another
 * program's.
 */
export function isTrace(text: string): boolean {
  return TRACE.test(text)
}

/**
 * As nearly all are: within all limits, however many UTF-8 bytes its key takes, which are slow to
 * count.
 */
function isFarBelow(key: string, value: Uint8Array | null): boolean {
  const most = key.length * UNIT_BYTES
  if (value === null || most === 0 || !key.isWellFormed()) return false
  return most <= MAX_KEY_BYTES && most + value.length <= MAX_RECORD_BYTES
}

export function checkPosition(reader: string, { offset, detail }: SavedPosition): void {
  if (Buffer.byteLength(detail) > MAX_DETAIL_BYTES) {
    throw invalid(`The note of a position of ${reader} is longer than 64 KiB: shorten it`)
  }
  if (offset < 0n || offset > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw invalid(`No reader can be at ${offset}: save an offset of the log`)
  }
}

function invalid(message: string): LogError {
  return new LogError('INVALID', message)
}
