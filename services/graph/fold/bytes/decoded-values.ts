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
import type { Store } from '../../../../ports/store.ts'
import { DECODED_VALUES, LONG_LIST_OWNERS, REMEMBERED_BYTES } from '../../config.ts'
import { ABSENT, ByteTable } from './byte-table.ts'
import { stateValueOf } from './long-node.ts'

/** A key that holds nothing is remembered as null. */
type Values = Map<string, StateValue | null>

/** Of all tasks of the process. */
const table = new ByteTable(REMEMBERED_BYTES)

export class DecodedValues implements StateReader {
  readonly #store: Pick<Store, 'get'>
  readonly #codec: Codec
  readonly #owner = table.newOwner()
  readonly #ofBatch: Values = new Map()
  readonly #few: Values = new Map()
  /** Nodes, whose value is never null; by key. */
  readonly #long = new Map<string, Node>()
  #longOwners = 0

  constructor(store: Pick<Store, 'get'>, codec: Codec) {
    this.#store = store
    this.#codec = codec
  }

  get(key: string): StateValue | undefined {
    const { remembered } = tableOf(key)
    const decoded = remembered === 'decoded' ? this.#few : this.#ofBatch
    const known = decoded.get(key)
    if (known !== undefined) return known ?? undefined
    const long = this.#long.get(key)
    if (long !== undefined) return long
    const value = remembered === 'no' ? this.#stored(key) : this.#read(key)
    if (decoded.size >= DECODED_VALUES) decoded.clear()
    decoded.set(key, value)
    if (value?.type === 'Node') this.#remember(key, value)
    return value ?? undefined
  }

  /** As they are stored; a copy. */
  bytesOf(key: string): Uint8Array | undefined {
    if (tableOf(key).remembered === 'no') return this.#store.get(key)
    const bytes = this.#bytes(key)
    return bytes && new Uint8Array(bytes)
  }

  /** These are stored now, and a batch has ended. */
  stored(changes: ReadonlyMap<string, Uint8Array | null>): void {
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

  #read(key: string): StateValue | null {
    return this.#valueOf(key, this.#bytes(key))
  }

  #stored(key: string): StateValue | null {
    return this.#valueOf(key, this.#store.get(key))
  }

  /** Valid until anything else is read. */
  readonly #bytes = (key: string): Uint8Array | undefined => {
    const known = table.get(this.#owner, key)
    if (known === ABSENT) return undefined
    if (known !== undefined) return known
    const bytes = this.#store.get(key)
    table.put(this.#owner, key, bytes ?? null)
    return bytes
  }

  #valueOf(key: string, bytes: Uint8Array | undefined): StateValue | null {
    return bytes === undefined ? null : stateValueOf(this.#codec, key, bytes, this.#bytes)
  }
}
