/**
 * One fetch of one partition (Fetch, version 11), read-committed.
 *
 * What must stay true: an offset that the broker does not hold is an error, never moved to another.
 */
import { LogError } from '../../../ports/log.ts'
import { BrokerError, CODE } from '../failure.ts'
import type { Broker, Link } from '../inside.ts'
import { REQUEST_MS } from '../inside.ts'
import { type Batch, decodeBatches } from './record-batch.ts'
import type { Aborted, Visible } from './visible.ts'
import { visibleParts } from './visible.ts'
import { Reader, Writer } from './wire.ts'

const API_KEY = 1
const API_VERSION = 11
const READ_COMMITTED = 1
/**
 * Of one answer, for a reader that reads on; a larger first batch is returned whole nevertheless.
 */
export const PAGE_BYTES: number = 1024 * 1024

export interface FetchedPlace {
  readonly topic: string
  readonly partition: number
  readonly from: bigint
  readonly waitMs: number
  /** Of the answer; the first batch is returned whole, however large. */
  readonly maxBytes: number
}

export interface Fetched {
  /** Oldest offset, and the first that no reader may see yet. */
  readonly start: bigint
  readonly end: bigint
  /** Unpacked as they are asked for, once. */
  readonly parts: Iterator<Visible, void>
}

export async function fetchPage(link: Link, broker: Broker, place: FetchedPlace): Promise<Fetched> {
  const answer = await link.send(broker, {
    apiKey: API_KEY,
    apiVersion: API_VERSION,
    apiName: 'Fetch',
    body: bodyOf(place),
    timeoutMs: place.waitMs + REQUEST_MS,
  })
  return pageIn(answer, place)
}

function bodyOf({ topic, partition, from, waitMs, maxBytes }: FetchedPlace): Buffer {
  const out = new Writer(128)
  out.int32(-1).int32(waitMs).int32(1).int32(maxBytes).int8(READ_COMMITTED)
  out.int32(0).int32(-1) // no session
  out.int32(1).text(topic)
  out.int32(1).int32(partition).int32(-1).int64(from).int64(-1n).int32(maxBytes)
  out.int32(0).text('')
  return out.written
}

function pageIn(answer: Buffer, { topic, partition, from }: FetchedPlace): Fetched {
  const what = `reading partition ${partition} of ${topic}`
  const read = new Reader(answer)
  read.int32()
  check(read.int16(), what)
  read.int32()
  if (read.int32() !== 1) throw new BrokerError(CODE.unknownTopicOrPartition, what)
  read.text()
  read.int32()
  read.int32()
  check(read.int16(), what)
  read.int64()
  const end = read.int64()
  const start = read.int64()
  const aborted: Aborted[] = []
  for (let left = read.int32(); left > 0; left--) {
    aborted.push({ producerId: read.int64(), first: read.int64() })
  }
  read.int32()
  const set = read.raw(Math.max(read.int32(), 0))
  return { start, end, parts: partsOf(set, aborted, from, what) }
}

function* partsOf(
  set: Buffer,
  aborted: readonly Aborted[],
  from: bigint,
  what: string,
): Generator<Visible, void> {
  try {
    yield* visibleParts(wholeBatches(set), aborted, from)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    const hint = 'look for damage on the broker, and for other programs that write there'
    throw new LogError('DAMAGED', `${what} from offset ${from}: ${why}; ${hint}`, { cause: error })
  }
}

/** A broker sends the first batch whole, however large. */
function* wholeBatches(set: Buffer): Generator<Batch, void> {
  let count = 0
  for (const batch of decodeBatches(set)) {
    count += 1
    yield batch
  }
  if (set.length > 0 && count === 0) throw new Error('no batch of an answer is whole')
}

function check(code: number, what: string): void {
  if (code !== CODE.none) throw new BrokerError(code, what)
}
