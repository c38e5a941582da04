/**
 * What events changed, as the log has it for stores that did not fold them (filling.ts).
 *
 * What must stay true: records of a partition follow each other without gaps, also where nothing
 * changed; what one event changed is in one record.
 */
import type { FormerValues } from '../../../../ports/record/former-value.ts'
import type { Folded, FormerChange } from './former-rows.ts'

/** A record is closed behind the event with which it has so many bytes. */
const RECORD_BYTES = 512 * 1024

const NO_BYTES = new Uint8Array()

export function formerRecords(
  partition: number,
  changes: readonly FormerChange[],
  { from, to }: Folded,
): readonly FormerValues[] {
  const records: FormerValues[] = []
  let [first, begin, bytes] = [Number(from), 0, 0]
  const close = (end: number, upTo: number): void => {
    const own = changes.slice(begin, end)
    records.push({
      ...{ type: 'FormerValues', partition, from: first, to: upTo },
      keys: own.map(({ key }) => key),
      positions: own.map(({ position }) => Number(position)),
      times: own.map(({ at }) => at),
      values: own.map(({ before }) => before ?? NO_BYTES),
    })
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
