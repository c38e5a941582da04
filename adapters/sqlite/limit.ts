/**
 * How large records are to a transaction that gathers several writes. The limits of the port are in
 * ports/record/record-limit.ts.
 */
import type { Produced } from '../../ports/log.ts'

/** Roughly, in bytes. */
export function sizeOf(records: readonly Produced[]): number {
  let bytes = 0
  for (const { key, value } of records) bytes += key.length + (value?.length ?? 0)
  return bytes
}
