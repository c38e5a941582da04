/**
 * The keys of the state that a batch changes, or reads and finds: each is found once, and has what
 * is stored of it, what it is now, and its bytes in one place.
 *
 * Between two batches nearly all values are remembered as bytes: to decode one again costs a
 * microsecond, and an object that lives for longer than a batch costs V8's garbage collector more.
 * Only the few that every record reads stay decoded, and some nodes with a long list of owners:
 * each answer about one of the owners reads the list again, which takes as long as all else that
 * the answer costs (T10).
 *
 * What must stay true: every read sees every earlier change, in points and in pages alike; what is
 * stored is what the store answers, and every write of the store is reported here. A change leaves
 * with its commit only. What is remembered without need is bounded, by forgetting.
 *
 * Not here: what a change makes for the log (batch.ts), the meaning of the changes (core/fold.ts).
 */
import type { Graph, OverlaidRange, StateReader } from '../../../../core/graph/graph.ts'
import { type Table, tableOf } from '../../../../core/graph/table.ts'
import { LONG_LIST } from '../../../../core/model/constant.ts'
import { invariant } from '../../../../core/model/invariant.ts'
import type { Node } from '../../../../core/model/node.ts'
import type { StateValue } from '../../../../core/model/state.ts'
import type { Codec } from '../../../../ports/record/codec.ts'
import type { Store, StoreChange } from '../../../../ports/store.ts'
import { DECODED_VALUES, LONG_LIST_OWNERS, REMEMBERED_BYTES } from '../../config.ts'
import { valueIn } from '../former/row.ts'
import type { RowReader } from '../former/row-store.ts'
import { ABSENT, ByteTable } from './byte-table.ts'
import { ChangedRanges } from './changed-ranges.ts'
import { stateValueOf } from './long-node.ts'
import { copyOf } from './slab.ts'

/** Of all tasks of the process. */
const table = new ByteTable(REMEMBERED_BYTES)

/** What it is now; null: nothing. Undefined: a part of another value. */
export interface ChangedKey {
  readonly key: string
  readonly value: StateValue | null | undefined
}

/** A key that holds nothing has null where it was asked; undefined is what was not asked. */
export class Entry implements ChangedKey {
  readonly key: string
  readonly table: Table
  stored: StateValue | null | undefined
  /** All of what is stored, as it is there. */
  row: Uint8Array | null | undefined
  /** As the records before this one left it; undefined: as it is stored. */
  settled: StateValue | null | undefined
  bytes: Uint8Array | null | undefined
  /** With this record; undefined: as it is stored. */
  value: StateValue | null | undefined
  /** This record changed it. */
  isRecent = false
  /** It has bytes that are not stored. */
  isChanged = false

  constructor(key: string, of: Table) {
    this.key = key
    this.table = of
  }
}

/** What it is now is what is stored. */
function noteStored(entry: Entry): void {
  entry.stored = entry.value
  entry.value = entry.settled = entry.bytes = entry.row = undefined
  entry.isChanged = false
}

export class WorkingSet implements Graph {
  /** A value of the state, or all of its row. */
  readonly #read: (key: string) => Uint8Array | undefined
  readonly #isOfRows: boolean
  readonly #codec: Codec
  readonly #owner = table.newOwner()
  readonly #few = new Map<string, Entry>()
  #ofBatch = new Map<string, Entry>()
  /** Of the entries of a batch beyond so many those are forgotten that nothing changed. */
  #most = DECODED_VALUES
  readonly #ranges = new ChangedRanges()
  #recent: Entry[] = []
  #changed: Entry[] = []
  /** Nodes by their keys. */
  readonly #long = new Map<string, Node>()
  #longOwners = 0

  /** `store`: a fold's, whose rows are remembered, or any other. */
  constructor(store: Pick<Store, 'get'> | Pick<RowReader, 'row'>, codec: Codec) {
    this.#isOfRows = 'row' in store
    this.#read = 'row' in store ? (key) => store.row(key) : (key) => store.get(key)
    this.#codec = codec
  }

  get(key: string): StateValue | undefined {
    const entry = this.#asked(key)
    if (entry === undefined) return undefined
    const value = entry.value === undefined ? this.storedOf(entry) : entry.value
    return value ?? undefined
  }

  put(key: string, value: StateValue): void {
    this.#change(key, value)
  }

  remove(key: string): void {
    this.#change(key, null)
  }

  overlaid(stored: readonly string[], range: OverlaidRange): readonly string[] {
    return this.#ranges.overlaid(stored, range, (key) => this.entry(key).value !== null)
  }

  /** Without the changes. */
  readonly stored: StateReader = {
    get: (key) => {
      const entry = this.#asked(key)
      return entry === undefined ? undefined : (this.storedOf(entry) ?? undefined)
    },
  }

  /** Those that the present record changed, in the order in which it first changed each. */
  takeRecent(): readonly Entry[] {
    const recent = this.#recent
    this.#recent = []
    for (const entry of recent) entry.isRecent = false
    return recent
  }

  /** Those that have bytes which are not stored, in the order in which they first had some. */
  get changed(): readonly Entry[] {
    return this.#changed
  }

  entry(key: string): Entry {
    return this.#known(key) ?? this.#entered(key, tableOf(key))
  }

  #known(key: string): Entry | undefined {
    const known = this.#ofBatch.get(key)
    if (known !== undefined) return known
    const few = this.#few.get(key)
    if (few !== undefined) this.#ofBatch.set(key, few)
    return few
  }

  #entered(key: string, of: Table): Entry {
    const entry = new Entry(key, of)
    if (of.remembered === 'decoded') this.#few.set(key, entry)
    else {
      if (this.#ofBatch.size >= this.#most) this.#forgetUnchanged()
      entry.stored = this.#long.get(key)
    }
    this.#ofBatch.set(key, entry)
    return entry
  }

  /**
   * Undefined where nothing is stored: a half of what is asked is not there, most of it is asked
   * once, and what is kept until the end of a batch costs more than to find that out again.
   */
  #asked(key: string): Entry | undefined {
    const known = this.#known(key)
    if (known !== undefined) return known
    const of = tableOf(key)
    if (of.remembered === 'decoded') return this.#entered(key, of)
    const row = this.#found(key, of)
    if (row === undefined) return undefined
    const entry = this.#entered(key, of)
    this.#note(entry, row)
    return entry
  }

  /** Decoded. */
  storedOf(entry: Entry): StateValue | null {
    if (entry.stored !== undefined) return entry.stored
    const row = this.#load(entry)
    if (row !== undefined) return this.#note(entry, row)
    entry.stored = null
    return null
  }

  /** What its row says, unless that is known. */
  #note(entry: Entry, row: Uint8Array): StateValue | null {
    if (entry.stored !== undefined) return entry.stored
    const { key } = entry
    if (entry.table.remembered === 'no') entry.row = row
    const value = stateValueOf(this.#codec, key, this.#plain(row), this.#bytes)
    entry.stored = value
    if (value.type === 'Node') this.#remember(key, value)
    return value
  }

  /** As the records before this one left it, decoded. */
  settledOf(entry: Entry): StateValue | null {
    return entry.settled === undefined ? this.storedOf(entry) : entry.settled
  }

  /** As the records before this one left it. */
  bytesOf(entry: Entry): Uint8Array | undefined {
    if (entry.bytes !== undefined) return entry.bytes ?? undefined
    const row = this.rowOf(entry)
    return row && this.#plain(row)
  }

  /** All that is stored of it. */
  rowOf(entry: Entry): Uint8Array | undefined {
    if (entry.row === undefined) {
      const row = this.#load(entry)
      // What the table gives is valid until anything else is read.
      if (row !== undefined && entry.row === undefined) entry.row = copyOf(row)
    }
    return entry.row ?? undefined
  }

  settle(entry: Entry, bytes: Uint8Array | null): void {
    entry.bytes = bytes
    if (entry.isChanged) return
    entry.isChanged = true
    this.#changed.push(entry)
  }

  /** The batch has ended: these rows, or values, are stored now. */
  clear(rows: Iterable<StoreChange>): void {
    invariant(this.#recent.length === 0, 'a record was folded whose changes nobody took')
    for (const [key, bytes] of rows) {
      // With a chunk of its list the node is written, too.
      this.#forget(key)
      const few = this.#few.get(key)
      if (few !== undefined) noteStored(few)
      if (tableOf(key).remembered !== 'no') table.put(this.#owner, key, bytes)
    }
    for (const entry of this.#changed) if (entry.isChanged) noteStored(entry)
    this.#changed = []
    // A map that is cleared leaves its old table to V8, which has the new one's address: once the
    // old one is among V8's old objects, each batch from there on survives until all are collected.
    this.#ofBatch = new Map()
    this.#most = DECODED_VALUES
    if (this.#few.size >= DECODED_VALUES) this.#few.clear()
    this.#ranges.clear()
  }

  #change(key: string, value: StateValue | null): void {
    const entry = this.entry(key)
    entry.value = value
    if (entry.isRecent) return
    entry.isRecent = true
    this.#recent.push(entry)
    this.#ranges.add(key)
  }

  #forgetUnchanged(): void {
    for (const [key, { isRecent, isChanged }] of this.#ofBatch)
      if (!isRecent && !isChanged) this.#ofBatch.delete(key)
    this.#most = this.#ofBatch.size + DECODED_VALUES
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

  /** Its row; valid until anything else is read. */
  #load(entry: Entry): Uint8Array | undefined {
    if (entry.row !== undefined) return entry.row ?? undefined
    const row = this.#found(entry.key, entry.table)
    if (row === undefined) entry.row = null
    else if (entry.table.remembered === 'no') entry.row = row
    return row
  }

  #found(key: string, of: Table): Uint8Array | undefined {
    return of.remembered === 'no' ? this.#read(key) : this.#remembered(key)
  }

  #remembered(key: string): Uint8Array | undefined {
    const known = table.get(this.#owner, key)
    if (known === ABSENT) return undefined
    if (known !== undefined) return known
    const bytes = this.#read(key)
    table.put(this.#owner, key, bytes ?? null)
    return bytes
  }

  #plain(row: Uint8Array): Uint8Array {
    return this.#isOfRows ? valueIn(row) : row
  }

  readonly #bytes = (key: string): Uint8Array | undefined => {
    const row = this.#remembered(key)
    return row && this.#plain(row)
  }
}
