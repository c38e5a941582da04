/**
 * Values of a store as they were last read or written: a fold reads a cluster, a kind or an owner
 * again with every record.
 *
 * Nearly all of them are remembered as bytes: to decode one again costs a microsecond, and an
 * object that lives for longer than a batch costs V8's garbage collector more. Decoded values are
 * remembered until the batch ends; for longer only the few that every record reads, and some nodes
 * with a long list of owners: each answer about one of the owners reads the list again, which takes
 * as long as all else that the answer costs (T10).
 *
 * What must stay true: it only ever answers what the store answers; every write of the store is
 * reported here. Bounded, by forgetting.
 *
 * Not here: changes that are not stored yet (core/graph/graph.ts).
 */
import type { StateReader } from '../../../../core/graph/graph.ts'
import { tableOf } from '../../../../core/graph/table.ts'
import { LONG_LIST } from '../../../../core/model/constant.ts'
import type { Node } from '../../../../core/model/node.ts'
import type { StateValue } from '../../../../core/model/state.ts'
import type { Codec } from '../../../../ports/record/codec.ts'
import type { Store, StoreChange } from '../../../../ports/store.ts'
import { DECODED_VALUES, LONG_LIST_OWNERS, REMEMBERED_BYTES } from '../../config.ts'
import { valueIn } from '../former/row.ts'
import type { RowReader } from '../former/row-store.ts'
import { ABSENT, ByteTable } from './byte-table.ts'
import { stateValueOf } from './long-node.ts'
import { copyOf } from './slab.ts'

/** A key that holds nothing is remembered as null. */
type Values = Map<string, StateValue | null>

/** Of all tasks of the process. */
const table = new ByteTable(REMEMBERED_BYTES)

export class DecodedValues implements StateReader {
  /** A value of the state, or all of its row. */
  readonly #stored: (key: string) => Uint8Array | undefined
  readonly #isOfRows: boolean
  readonly #codec: Codec
  readonly #owner = table.newOwner()
  readonly #ofBatch: Values = new Map()
  readonly #few: Values = new Map()
  /** Nodes, whose value is never null; by key. */
  readonly #long = new Map<string, Node>()
  #longOwners = 0

  /** `store`: a fold's, whose rows are remembered, or any other. */
  constructor(store: Pick<Store, 'get'> | Pick<RowReader, 'row'>, codec: Codec) {
    this.#isOfRows = 'row' in store
    this.#stored = 'row' in store ? (key) => store.row(key) : (key) => store.get(key)
    this.#codec = codec
  }

  get(key: string): StateValue | undefined {
    const { remembered } = tableOf(key)
    const decoded = remembered === 'decoded' ? this.#few : this.#ofBatch
    const known = decoded.get(key)
    if (known !== undefined) return known ?? undefined
    const long = this.#long.get(key)
    if (long !== undefined) return long
    const row = remembered === 'no' ? this.#stored(key) : this.#row(key)
    const value = this.#valueOf(key, row)
    if (decoded.size >= DECODED_VALUES) decoded.clear()
    decoded.set(key, value)
    if (value?.type === 'Node') this.#remember(key, value)
    return value ?? undefined
  }

  /** Of the value as it is stored; a copy. */
  bytesOf(key: string): Uint8Array | undefined {
    const row = this.row(key)
    return row && copyOf(this.#plain(row))
  }

  /** As it is stored; valid until anything else is read. */
  row(key: string): Uint8Array | undefined {
    return tableOf(key).remembered === 'no' ? this.#stored(key) : this.#row(key)
  }

  /** These rows, or values, are stored now, and a batch has ended. */
  stored(changes: Iterable<StoreChange>): void {
    this.#ofBatch.clear()
    for (const [key, bytes] of changes) {
      const { remembered } = tableOf(key)
      if (remembered === 'decoded') this.#few.delete(key)
      // With a chunk of its list the node is written, too.
      this.#forget(key)
      if (remembered !== 'no') table.put(this.#owner, key, bytes)
    }
  }

  #remember(key: string, node: Node): void {
    const { length } = node.object.ownerReferences
    if (length <= LONG_LIST || length > LONG_LIST_OWNERS) return
    for (const oldest of this.#long.keys()) {
      if (this.#longOwners + length <= LONG_LIST_OWNERS) break
      this.#forget(oldest)
    }
    this.#longOwners += length
    this.#long.set(key, node)
  }

  #forget(key: string): void {
    const node = this.#long.get(key)
    if (node === undefined) return
    this.#longOwners -= node.object.ownerReferences.length
    this.#long.delete(key)
  }

  /** Valid until anything else is read. */
  #row(key: string): Uint8Array | undefined {
    const known = table.get(this.#owner, key)
    if (known === ABSENT) return undefined
    if (known !== undefined) return known
    const bytes = this.#stored(key)
    table.put(this.#owner, key, bytes ?? null)
    return bytes
  }

  #plain(row: Uint8Array): Uint8Array {
    return this.#isOfRows ? valueIn(row) : row
  }

  readonly #bytes = (key: string): Uint8Array | undefined => {
    const row = this.#row(key)
    return row && this.#plain(row)
  }

  #valueOf(key: string, row: Uint8Array | undefined): StateValue | null {
    return row === undefined ? null : stateValueOf(this.#codec, key, this.#plain(row), this.#bytes)
  }
}
