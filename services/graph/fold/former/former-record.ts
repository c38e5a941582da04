/**
 * What events changed, as the log has it for stores that did not fold them (filling.ts).
 *
 * What must stay true: records of a partition follow each other without gaps, also where nothing
 * changed; what one event changed is in one record.
 */
import { constants, inflateRawSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
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

/**
 * A record is closed behind the event with which it has so many bytes before it is
 * compressed: to read one old value all of its record is read.
 */
const RECORD_BYTES = 4 * 1024
/** Most of it is keys that are alike: the fastest level finds them. */
const FASTEST = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
/** The first bytes of a Zstandard frame; no record that was deflated (before 0.1.0) has them. */
const ZSTD_MAGIC = [0x28, 0xb5, 0x2f, 0xfd] as const

/** Kept open of a store: a question asks of the same moment again and again. */
const MOST_OPEN = 64

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
  changes.forEach(({ key, position, before }, index) => {
    const isNewEvent = position !== changes[index - 1]?.position
    if (isNewEvent && bytes >= RECORD_BYTES) close(index, Number(position))
    bytes += key.length + (before?.length ?? 0)
  })
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
  return zstdCompressSync(values, FASTEST)
}

export function valuesIn(codec: Codec, { packed }: PackedFormers): FormerValues {
  const isZstd = ZSTD_MAGIC.every((byte, at) => packed[at] === byte)
  const values = codec.decode(isZstd ? zstdDecompressSync(packed) : inflateRawSync(packed))
  invariant(values.type === 'FormerValues', 'packed formers are former values')
  return values
}

/** A record that was unpacked. */
export class OpenedRecord {
  readonly #values: FormerValues
  readonly #changes = new Map<
    string,
    { readonly position: number; readonly value: Uint8Array | undefined }[]
  >()

  constructor(values: FormerValues) {
    this.#values = values
    for (const [at, key] of values.keys.entries()) {
      const value = values.values[at]
      const change = {
        position: values.positions[at] ?? 0,
        value: value?.length === 0 ? undefined : value,
      }
      const known = this.#changes.get(key)
      if (known === undefined) this.#changes.set(key, [change])
      else known.push(change)
    }
  }

  get values(): FormerValues {
    return this.#values
  }

  /** In the order of events. */
  changesOf(
    key: string,
  ): readonly { readonly position: number; readonly value: Uint8Array | undefined }[] {
    return this.#changes.get(key) ?? []
  }
}

/** By their numbers; what a record has never changes. */
export class OpenedRecords {
  readonly #opened = new Map<number, OpenedRecord>()

  get(number: number): OpenedRecord | undefined {
    const known = this.#opened.get(number)
    if (known === undefined) return undefined
    this.#opened.delete(number)
    this.#opened.set(number, known)
    return known
  }

  set(number: number, record: OpenedRecord): void {
    this.#opened.set(number, record)
    if (this.#opened.size <= MOST_OPEN) return
    for (const oldest of this.#opened.keys()) {
      this.#opened.delete(oldest)
      return
    }
  }
}

const OPENED = new WeakMap<object, OpenedRecords>()

export function recordsOf(store: object): OpenedRecords {
  let known = OPENED.get(store)
  if (known === undefined) {
    known = new OpenedRecords()
    OPENED.set(store, known)
  }
  return known
}
