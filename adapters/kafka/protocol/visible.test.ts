/**
 * A reader sees the same as a simple model: the records of transactions that were committed, and
 * those of none.
 *
 * The model knows of every transaction how it ended; the filter has only what a broker sends:
 * batches, some from the middle of transactions, and the list of those that were aborted.
 */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { crc32c } from '../../../ports/crc32c.ts'
import type { Produced } from '../../../ports/log.ts'
import { decodeBatches, encodeBatch } from './record-batch.ts'
import { type Aborted, visibleParts } from './visible.ts'

const ATTRIBUTES_AT = 21
const CRC_AT = 17
const TRANSACTIONAL = 16
const CONTROL = 32
/** Keys of the records that end a transaction: version 0, type 0 or 1. Users may have them too. */
const ABORT = '\0\0\0\0'
const COMMIT = '\0\0\0\u0001'

interface Transaction {
  readonly first: bigint
  fate: 'open' | 'commit' | 'abort'
}

interface Written {
  readonly offset: bigint
  readonly key: string
  readonly transaction: Transaction | null
}

/** One partition, as a broker has it. */
class Partition {
  readonly records: Written[] = []
  readonly batches: { readonly first: bigint; readonly last: bigint; readonly bytes: Buffer }[] = []
  readonly aborted: (Aborted & { readonly end: bigint })[] = []
  readonly #open = new Map<bigint, Transaction>()
  #end = 0n

  write(producerId: bigint, keys: readonly string[], isTransactional: boolean): void {
    const transaction = isTransactional ? this.#transactionOf(producerId) : null
    for (const [index, key] of keys.entries()) {
      this.records.push({ offset: this.#end + BigInt(index), key, transaction })
    }
    this.#store(producerId, keys, isTransactional ? TRANSACTIONAL : 0)
  }

  finish(producerId: bigint, fate: 'commit' | 'abort'): void {
    const transaction = this.#open.get(producerId)
    if (transaction === undefined) return
    this.#open.delete(producerId)
    transaction.fate = fate
    if (fate === 'abort') {
      this.aborted.push({ producerId, first: transaction.first, end: this.#end })
    }
    this.#store(producerId, [fate === 'abort' ? ABORT : COMMIT], TRANSACTIONAL | CONTROL)
  }

  /** No reader may read beyond the first that is open. */
  get stableEnd(): bigint {
    const open = [...this.#open.values()].map(({ first }) => first)
    return open.reduce((least, first) => (first < least ? first : least), this.#end)
  }

  #transactionOf(producerId: bigint): Transaction {
    const open = this.#open.get(producerId) ?? { first: this.#end, fate: 'open' }
    this.#open.set(producerId, open)
    return open
  }

  #store(producerId: bigint, keys: readonly string[], attributes: number): void {
    const records: Produced[] = keys.map((key) => ({ key, value: Buffer.alloc(6) }))
    const stamp = { producerId, epoch: 0, sequence: 0, isTransactional: false }
    const bytes = encodeBatch(records, stamp, 0, 'none')
    bytes.writeBigInt64BE(this.#end, 0)
    bytes.writeInt16BE(attributes, ATTRIBUTES_AT)
    bytes.writeUInt32BE(crc32c(bytes.subarray(ATTRIBUTES_AT)), CRC_AT)
    const last = this.#end + BigInt(keys.length) - 1n
    this.batches.push({ first: this.#end, last, bytes })
    this.#end = last + 1n
  }
}

const keys = fc.array(fc.constantFrom('a', 'b', ABORT, COMMIT, ''), { minLength: 1, maxLength: 4 })
const producerId = fc.bigInt({ min: 1n, max: 4n })
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ producerId, keys, isTransactional: fc.constant(true) }) },
  { weight: 1, arbitrary: fc.record({ producerId, keys, isTransactional: fc.constant(false) }) },
  { weight: 2, arbitrary: fc.record({ producerId, fate: fc.constantFrom('commit', 'abort') }) },
)

test('any interleaving of transactions, read from anywhere in answers of any size', () => {
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 40 }),
      fc.nat(),
      fc.nat(),
      fc.infiniteStream(fc.nat()),
      (steps, start, size, order) => {
        const partition = new Partition()
        for (const each of steps) {
          if ('fate' in each) partition.finish(each.producerId, each.fate as 'commit' | 'abort')
          else partition.write(each.producerId, each.keys, each.isTransactional)
        }
        const from = BigInt(start) % (partition.stableEnd + 1n)
        check(partition, from, size, order)
      },
    ),
    { numRuns: 2_000 },
  )
})

function check(partition: Partition, from: bigint, size: number, order: Iterator<number>): void {
  const readable = partition.batches.filter(
    ({ first, last }) => last >= from && first < partition.stableEnd,
  )
  const sent = readable.slice(0, readable.length === 0 ? 0 : 1 + (size % readable.length))
  const end = (sent.at(-1)?.last ?? from - 1n) + 1n
  // The broker lists the transactions that overlap with the records it sends.
  const aborted = partition.aborted
    .filter((each) => each.end >= from && each.first < end)
    .map((each) => ({ each, place: order.next().value as number }))
    .sort((a, b) => a.place - b.place)
    .map(({ each }) => each)
  const set = Buffer.concat(sent.map(({ bytes }) => bytes))
  const parts = [...visibleParts(decodeBatches(set), aborted, from)]
  const entries = parts.flatMap((part) => part.entries)
  const next = parts.at(-1)?.next ?? from
  const expected = partition.records.filter(
    ({ offset, transaction }) =>
      offset >= from && offset < end && (transaction === null || transaction.fate === 'commit'),
  )
  deepEqual(
    entries.map(({ offset, key }) => ({ offset, key })),
    expected.map(({ offset, key }) => ({ offset, key })),
  )
  deepEqual(next, end)
}

test('a large batch that is read from its midst comes in pieces, each with where it ends', () => {
  const partition = new Partition()
  partition.write(
    1n,
    Array.from({ length: 700 }, (_, number) => `key-${number}`),
    false,
  )
  const set = partition.batches[0]!.bytes
  const parts = [...visibleParts(decodeBatches(set), [], 300n)]
  deepEqual(
    parts.map(({ entries, next }) => [entries[0]?.key, entries.length, next]),
    [
      ['key-300', 212, 512n],
      ['key-512', 188, 700n],
      [undefined, 0, 700n],
    ],
  )
})
