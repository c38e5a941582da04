/**
 * What a checkpoint has of a compacted topic: a digest of each record, since blocks of many would
 * all differ as soon as one record is replaced by a later one of its key.
 *
 * What must stay true: a record that is still at its offset is unchanged, and an offset that had no
 * record still has none; a record that was removed counts neither as the same nor as different.
 * That a key has a later record does not show who wrote it, and a list of keys would be one of
 * names, so neither is asked for. Where there are more records than are listed, the oldest are not,
 * and the part begins after them.
 *
 * Not here: topics that are only trimmed (checkpoint.ts).
 */
import type { Entry, Log, Topic } from '../../../ports/log.ts'
import { entriesOf } from '../audit/refold.ts'
import { chained, NO_DIGEST } from '../fold/bytes/digest.ts'

/** The log of one topic and partition: from the earliest position that was kept up to the end. */
export interface Span {
  readonly topic: Topic
  readonly partition: number
  readonly start: bigint
  readonly end: bigint
}

/** By growing offset; each digest has `DIGEST_BYTES`. */
export interface ListedRecords {
  readonly offsets: readonly bigint[]
  readonly digests: Buffer
}

/** Half of SHA-256: a record is compared with one digest only, the one of its offset. */
const DIGEST_BYTES = 16

/** The newest ones, and from where on they are all. */
export async function listRecords(
  log: Log,
  { topic, partition, start, end }: Span,
  mostListed: number,
  signal: AbortSignal,
): Promise<{ readonly start: bigint; readonly records: ListedRecords }> {
  let listed: { readonly offset: bigint; readonly digest: Buffer }[] = []
  let isCut = false
  const cut = (): void => {
    if (listed.length <= mostListed) return
    isCut = true
    listed = listed.slice(listed.length - mostListed)
  }
  for await (const entry of entriesOf(log, topic, partition)) {
    signal.throwIfAborted()
    if (entry.offset >= end) break
    listed.push({ offset: entry.offset, digest: digestOf(entry) })
    if (listed.length > 2 * mostListed) cut()
  }
  cut()
  const offsets = listed.map(({ offset }) => offset)
  const digests = Buffer.concat(listed.map(({ digest }) => digest))
  return { start: isCut ? (offsets[0] ?? end) : start, records: { offsets, digests } }
}

function digestOf({ offset, timestamp, key, value }: Entry): Buffer {
  // A removed key and an empty value are two things.
  const kind = value === null ? 'removed' : 'value'
  const pieces = [String(offset), String(timestamp), key, kind, value ?? '']
  return Buffer.from(chained(NO_DIGEST, pieces), 'hex').subarray(0, DIGEST_BYTES)
}

/** Distances of offsets, and all digests in base64. */
export type WrittenRecords = readonly [distances: readonly number[], digests: string]

export function writtenRecords({ offsets, digests }: ListedRecords, start: bigint): WrittenRecords {
  const distances = offsets.map((offset, index) => Number(offset - (offsets[index - 1] ?? start)))
  return [distances, digests.toString('base64')]
}

export function readRecords([distances, text]: WrittenRecords, start: bigint): ListedRecords {
  let at = start
  const offsets = distances.map((distance) => {
    at += BigInt(distance)
    return at
  })
  return { offsets, digests: Buffer.from(text, 'base64') }
}

export function areSound({ offsets, digests }: ListedRecords, start: bigint, end: bigint): boolean {
  const areInOrder = offsets.every((offset, index) => {
    const before = offsets[index - 1]
    return offset >= start && offset < end && (before === undefined || offset > before)
  })
  return areInOrder && digests.length === offsets.length * DIGEST_BYTES
}

export interface RecordComparison {
  /** As they were. */
  readonly same: number
  /** Removed: replaced by later records of their keys, or trimmed. */
  readonly replaced: number
  /** Offset of the first that is another one, or was not there. */
  readonly different: { readonly offset: bigint; readonly what: string } | null
}

/** From `start` up to `end`. */
export async function compareRecords(
  log: Log,
  { topic, partition, start, end, records }: Span & { readonly records: ListedRecords },
  signal: AbortSignal,
): Promise<RecordComparison> {
  const { offsets, digests } = records
  let same = 0
  let next = 0
  const found = (offset: bigint, what: string): RecordComparison => ({
    ...{ same, replaced: 0, different: { offset, what } },
  })
  for await (const entry of entriesOf(log, topic, partition)) {
    signal.throwIfAborted()
    if (entry.offset < start) continue
    if (entry.offset >= end) break
    while (next < offsets.length && (offsets[next] ?? end) < entry.offset) next++
    if (offsets[next] !== entry.offset) return found(entry.offset, 'a record there was not there')
    const digest = digests.subarray(next * DIGEST_BYTES, (next + 1) * DIGEST_BYTES)
    if (!digest.equals(digestOf(entry))) {
      return found(entry.offset, 'the record there is not the one that there was')
    }
    same++
  }
  return { same, replaced: offsets.length - same, different: null }
}
