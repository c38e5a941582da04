/**
 * The records that a read-committed reader may see in the batches that a broker sends: nothing of
 * an aborted transaction, no control record.
 *
 * What must stay true: it holds for any order of the broker's list of aborted transactions (it
 * comes in the order of their ends), for several open at once, and for any bytes in a key; a
 * control batch is known by its flag alone. (kafkajs' own filter holds for none of these.)
 */
import type { Entry } from '../../../ports/log.ts'
import type { Batch } from './record-batch.ts'

/** A transaction that was aborted: its producer, and where it began. */
export interface Aborted {
  readonly producerId: bigint
  readonly first: bigint
}

export interface Visible {
  readonly entries: Entry[]
  /**
   * Where to read on; beyond the last entry where the batch ends with what is not seen, or was
   * compacted away.
   */
  readonly next: bigint
}

/**
 * Piece by piece of one batch after the other, from `from` on: records that were not requested yet
 * stay packed.
 */
export function* visibleParts(
  batches: Iterable<Batch>,
  aborted: readonly Aborted[],
  from: bigint,
): Generator<Visible, void> {
  const waiting = aborted.toSorted((a, b) => (a.first < b.first ? 1 : a.first > b.first ? -1 : 0))
  const open = new Set<bigint>()
  for (const batch of batches) {
    if (batch.last < from) continue
    for (
      let first = waiting.at(-1);
      first !== undefined && first.first <= batch.last;
      first = waiting.at(-1)
    ) {
      open.add(first.producerId)
      waiting.pop()
    }
    if (batch.control === 'abort') open.delete(batch.producerId)
    const isSeen = batch.control === null && !(batch.isTransactional && open.has(batch.producerId))
    for (const piece of isSeen ? batch.pieces() : []) {
      const entries = batch.first >= from ? piece : piece.filter(({ offset }) => offset >= from)
      const last = entries.at(-1)
      if (last !== undefined) yield { entries, next: last.offset + 1n }
    }
    yield { entries: [], next: batch.last + 1n }
  }
}
