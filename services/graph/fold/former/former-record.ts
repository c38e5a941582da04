/**
 * What events changed, as the log has it for stores that did not fold them (filling.ts).
 *
 * What must stay true: records of a partition follow each other without gaps, also where nothing
 * changed; what one event changed is in one record.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { invariant } from '../../../../core/model/invariant.ts'
import type { Codec } from '../../../../ports/record/codec.ts'
import type { FormerValues, PackedFormers } from '../../../../ports/record/former-value.ts'

/** One event's change of one key. */
export interface FormerChange {
  readonly key: string
  /** Of the event, and its append time. */
  readonly position: bigint
  readonly at: number
  /** Undefined: there was none. */
  readonly before: Uint8Array | undefined
}

/** The positions that a commit folded: from the first to the one behind the last. */
export interface Folded {
  readonly from: bigint
  readonly to: bigint
}

/** A record is closed behind the event with which it has so many bytes before it is deflated. */
const RECORD_BYTES = 512 * 1024
/** Most of it is keys that are alike: the fastest level finds them. */
const LEVEL = { level: 1 }

const NO_BYTES = new Uint8Array()

export function formerRecords(
  codec: Codec,
  partition: number,
  changes: readonly FormerChange[],
  { from, to }: Folded,
): readonly PackedFormers[] {
  const records: PackedFormers[] = []
  let [first, begin, bytes] = [Number(from), 0, 0]
  const close = (end: number, upTo: number): void => {
    const packed = packedOf(codec, changes.slice(begin, end))
    records.push({ type: 'PackedFormers', partition, from: first, to: upTo, packed })
    ;[first, begin, bytes] = [upTo, end, 0]
  }
  for (const [index, { key, position, before }] of changes.entries()) {
    const isNewEvent = position !== changes[index - 1]?.position
    if (isNewEvent && bytes >= RECORD_BYTES) close(index, Number(position))
    bytes += key.length + (before?.length ?? 0)
  }
  close(changes.length, Number(to))
  return records
}

function packedOf(codec: Codec, changes: readonly FormerChange[]): Uint8Array {
  const values = codec.encode({
    type: 'FormerValues',
    keys: changes.map(({ key }) => key),
    positions: changes.map(({ position }) => Number(position)),
    times: changes.map(({ at }) => at),
    values: changes.map(({ before }) => before ?? NO_BYTES),
  })
  return deflateRawSync(values, LEVEL)
}

export function valuesIn(codec: Codec, { packed }: PackedFormers): FormerValues {
  const values = codec.decode(inflateRawSync(packed))
  invariant(values.type === 'FormerValues', 'packed formers are former values')
  return values
}
