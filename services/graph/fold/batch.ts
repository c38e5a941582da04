/**
 * A batch of folded records: the changes, their results, and the digests, until one commit writes
 * them all.
 *
 * What must stay true: nothing here is visible to any reader before the commit; how records are
 * split into batches changes no byte of their results, except lineage, of which each batch writes
 * only the last version for an object.
 *
 * Not here: the log and the store (task.ts), the meaning of a record (core/fold.ts).
 */
import { faultsOf } from '../../../core/fault.ts'
import { foldRecordFrom } from '../../../core/fold.ts'
import type { PageRequest } from '../../../core/graph/agenda.ts'
import { FactsByCluster } from '../../../core/graph/facts.ts'
import { agendaOf, type Graph, type StateReader } from '../../../core/graph/graph.ts'
import { clusterIn, POSITION_KEY } from '../../../core/graph/key.ts'
import type { At, Outcome, Touch } from '../../../core/graph/outcome.ts'
import type { Event } from '../../../core/model/event.ts'
import { objectKey } from '../../../core/model/partition.ts'
import { FOLD_VERSION } from '../../../core/model/policy.ts'
import type { Position } from '../../../core/model/state.ts'
import type { Entry, Produced, Topic, TopicBatch } from '../../../ports/log.ts'
import { partitionOf } from '../../../ports/partition.ts'
import type { Codec } from '../../../ports/record/codec.ts'
import type { Digest } from '../../../ports/record/service-record.ts'
import type { Store, StoreChange } from '../../../ports/store.ts'
import { chained, digestOf, NO_DIGEST } from './bytes/digest.ts'
import { loggedCommand } from './bytes/long-command.ts'
import { nodeChanges } from './bytes/long-node.ts'
import { overlaidPage } from './bytes/overlaid-page.ts'
import { type ChangedKey, type Entry as KeyEntry, WorkingSet } from './bytes/working-set.ts'
import { type FormerChange, formerRecords } from './former/former-record.ts'
import { type Formers, rowsOf } from './former/former-rows.ts'
import { RowStore } from './former/row-store.ts'
import { type ChangedNode, changedNode, historyOf, isNodeKey, isOtherHold } from './known-object.ts'
import { lineageOf } from './lineage.ts'

export interface BatchOptions {
  readonly store: Store
  readonly codec: Codec
  readonly partition: number
  readonly partitions: number
  /** Where the fold continues; undefined on an empty store. */
  readonly from: Position | undefined
  /** What facts were before each change is kept in the store, a task's; not unless it says so. */
  readonly isRemembering?: boolean
}

interface Output extends TopicBatch {
  readonly records: Produced[]
}

export interface Taken {
  readonly changelog: readonly Produced[]
  readonly outputs: readonly TopicBatch[]
  /** For a task's store: the changelog's, and what is kept beside them. */
  readonly rows: readonly StoreChange[]
}

export class Batch {
  readonly #store: Store
  readonly #codec: Codec
  readonly #isRemembering: boolean
  readonly #working: WorkingSet
  /** As the fold reads them. */
  readonly #facts: FactsByCluster
  /**
   * The state of each object after the batch: readers keep the last entry of a key, and history has
   * every change.
   */
  #lineage = new Map<string, Uint8Array | null>()
  /** As the last `take` has them. */
  #rows: readonly StoreChange[] = []
  /** Of these, the first: what is kept beside the state is behind it. */
  #stateRows = 0
  /** What facts were before each change, in the order of events. */
  #formers: FormerChange[] = []
  #outputs = new Map<string, Output>()
  /** Of each topic the one that was written last: mostly the next one's, too. */
  #lastOutputs = new Map<Topic, Output>()
  #position: Position
  /** Before the first record. */
  #begin: bigint
  #records = 0

  constructor({ store, codec, partition, partitions, from, isRemembering = false }: BatchOptions) {
    this.#store = store
    this.#codec = codec
    this.#working = new WorkingSet(store, codec)
    this.#facts = new FactsByCluster(this.#working)
    this.#position = from ?? firstPosition(partition, partitions)
    this.#begin = this.#position.position
    this.#isRemembering = isRemembering
  }

  /** After the last record folded. */
  get position(): Position {
    return this.#position
  }

  get records(): number {
    return this.#records
  }

  get keys(): number {
    return this.#working.changed.length
  }

  /** Reads as the fold does: the store with the batch's changes. */
  get graph(): Graph {
    return this.#working
  }

  /** What the batch changed, as its last record left it. */
  get changes(): readonly ChangedKey[] {
    return this.#working.changed
  }

  /** Reads the stored state, without the batch's changes. */
  get stored(): StateReader {
    return this.#working.stored
  }

  /** With the next record; the orders that are in effect then. */
  obey(inForce: readonly string[]): void {
    this.#position = { ...this.#position, inForce }
  }

  /** At once, unless a page of the store has to be read. */
  fold(event: Event, at: At): Outcome | Promise<Outcome> {
    const outcome = foldRecordFrom(this.#working, event, at, (page) => this.#page(page))
    return outcome instanceof Promise
      ? outcome.then((read) => this.#finished(read, at))
      : this.#finished(outcome, at)
  }

  #finished(outcome: Outcome, at: At): Outcome {
    this.#gather(outcome, at)
    return outcome
  }

  async #page(page: PageRequest): Promise<readonly string[]> {
    const count = page.countKey === null ? undefined : this.stored.get(page.countKey)
    const stored =
      page.countKey === null ? undefined : count?.type === 'Count' ? count.dependents : 0
    return await overlaidPage(this.#store, this.#working, page, stored)
  }

  #gather(outcome: Outcome, at: At): void {
    const offset = at.position.toString()
    const changed: (string | Uint8Array)[] = [offset]
    const nodes: ChangedNode[] = []
    for (const entry of this.#working.takeRecent()) {
      const { key, value = null } = entry
      const node = isNodeKey(key)
        ? changedNode(key, this.#working.settledOf(entry) ?? undefined, value)
        : undefined
      if (node === undefined) {
        this.#settle(entry, value && this.#codec.encode(value), changed, at)
      } else {
        nodes.push(node)
        const states = [node.before, node.after ?? null] as const
        for (const [each, bytes] of nodeChanges(this.#codec, key, states, at.position)) {
          const of = each === key ? entry : this.#working.entry(each)
          this.#settle(of, bytes, changed, at)
        }
      }
      entry.settled = value
    }
    const issued: (string | Uint8Array)[] = []
    for (const command of outcome.commands) {
      const key = objectKey(command.cluster, command.target.uid)
      issued.push(this.#putCommand(key, this.#codec.encode(loggedCommand(command))))
    }
    if (outcome.continues) {
      const bytes = this.#codec.encode({ type: 'Continue' })
      issued.push(bytes)
      this.#putIn('events', at.partition, '~', bytes)
    }
    this.#publish(outcome, nodes, at)
    const { state, outputs } = this.#position
    this.#position = {
      ...this.#position,
      position: at.position + 1n,
      state: changed.length === 1 ? state : chained(state, changed),
      outputs: issued.length === 0 ? outputs : chained(outputs, [offset, ...issued]),
    }
    this.#records += 1
  }

  /** With what it was before, and both for the digest of the record. */
  #settle(
    entry: KeyEntry,
    bytes: Uint8Array | null,
    digested: (string | Uint8Array)[],
    at: At,
  ): void {
    if (this.#isRemembering && entry.table.hasFormer) this.#keepFormer(entry, bytes, at)
    this.#working.settle(entry, bytes)
    digested.push(entry.key, bytes ?? '')
  }

  #keepFormer(entry: KeyEntry, bytes: Uint8Array | null, { position, timestamp }: At): void {
    const before = this.#working.bytesOf(entry)
    if (isSame(before, bytes ?? undefined)) return
    const { formerFields } = entry.table
    if (formerFields !== undefined && before !== undefined && bytes !== null) {
      const was = this.#working.settledOf(entry) as Fields | null
      const is = entry.value as Fields | null
      if (formerFields.every((field) => was?.[field] === is?.[field])) return
    }
    this.#formers.push({ key: entry.key, position, at: timestamp, before })
  }

  /**
   * Public records, and requests to watchers: made from the same state, so not part of the digest.
   */
  #publish(outcome: Outcome, nodes: readonly ChangedNode[], at: At): void {
    for (const touch of outcome.touched.values()) this.#publishObject(touch, at)
    for (const { cluster, node, before, after } of nodes) {
      const { uid } = node.object
      const isTouched = outcome.touched.has(objectKey(cluster, uid))
      if (!isTouched && isOtherHold(before, after)) {
        this.#publishObject({ cluster, uid, last: null }, at)
      }
    }
    // The tombstone of a compacted topic: consumers forget the object, too.
    for (const key of outcome.forgotten) this.#putLineage(key, null)
    for (const entry of historyOf(this.#facts, outcome.history, nodes, at)) {
      const key = objectKey(entry.cluster, entry.uid)
      this.#putOwn('history', key, this.#codec.encode(entry))
    }
    for (const { cluster, kind, number, why } of outcome.relists) {
      const record = this.#codec.encode({
        type: 'Control',
        protection: null,
        mode: null,
        verb: 'relist',
        cluster,
        kind,
        number,
        connected: false,
        who: 'graph',
        why,
      })
      this.#putIn('control', 0, `relist/${cluster}/${kind.group}/${kind.kind}`, record)
    }
  }

  #publishObject(touch: Touch, at: At): void {
    const lineage = lineageOf(this.#facts.of(touch.cluster), touch, at)
    if (lineage === null) return
    this.#putLineage(objectKey(touch.cluster, touch.uid), this.#codec.encode(lineage))
  }

  /** After all others, where its last change belongs. */
  #putLineage(key: string, lineage: Uint8Array | null): void {
    this.#lineage.delete(key)
    this.#lineage.set(key, lineage)
  }

  /** For records that cannot be read. */
  deadLetter(key: string, value: Uint8Array): void {
    this.#putIn('dead-letter', this.#position.partition, key, value)
  }

  /** Spread over all partitions, so over all reapers. */
  #putCommand(key: string, value: Uint8Array): Uint8Array {
    this.#putIn('commands', partitionOf(key, this.#position.partitions), key, value)
    return value
  }

  /** What readers follow by cluster is in the partition of the cluster. */
  #putOwn(topic: 'history' | 'lineage', key: string, value: Uint8Array | null): void {
    this.#putIn(topic, this.#position.partition, key, value)
  }

  #putIn(topic: Topic, partition: number, key: string, value: Uint8Array | null): void {
    let output = this.#lastOutputs.get(topic)
    if (output?.partition !== partition) {
      const name = `${topic}/${partition}`
      output = this.#outputs.get(name) ?? { topic, partition, records: [] }
      this.#outputs.set(name, output)
      this.#lastOutputs.set(topic, output)
    }
    output.records.push({ key, value })
  }

  /**
   * Of one of the nodes that the batch changed, another one each time: whether it is as the facts
   * around it say. None while work is left for them.
   */
  faultsOfOne(): readonly string[] {
    const { head, tail } = agendaOf(this.#working)
    if (head !== tail) return []
    const { changed } = this.#working
    const from = Number(this.#position.position) % Math.max(1, changed.length)
    const isNode = ({ value }: ChangedKey): boolean => value?.type === 'Node'
    const { key, value } = changed.find((each, at) => at >= from && isNode(each)) ?? NO_CHANGE
    if (value?.type !== 'Node') return []
    return faultsOf(this.#facts.of(clusterIn(key)), value).map((fault) => `${key}: ${fault}`)
  }

  /** Of the position reached, for audits. */
  putDigest(): void {
    const { partition, position, state, outputs, foldVersion } = this.#position
    const digest: Digest = { type: 'Digest', partition, position, state, outputs, foldVersion }
    this.#putIn('digests', partition, POSITION_KEY, this.#codec.encode(digest))
  }

  /**
   * All of it, for the commit, with the position among the changes. `last`: the entry that was
   * folded last, where that is to be known again.
   */
  take(last?: Entry): Taken {
    this.#lineage.forEach((value, key) => {
      this.#putOwn('lineage', key, value)
    })
    this.#lineage = new Map()
    if (last !== undefined) this.#position = { ...this.#position, last: digestOf(last) }
    const changelog: Produced[] = []
    const values: StoreChange[] = []
    const put = (key: string, value: Uint8Array | null): void => {
      changelog.push({ key, value })
      values.push([key, value])
    }
    this.#working.changed.forEach((entry) => {
      const { key, bytes = null } = entry
      if (bytes !== null || !this.#cameAndWent(entry)) put(key, bytes)
    })
    put(POSITION_KEY, this.#codec.encode(this.#position))
    this.#stateRows = values.length
    this.#rows = this.#rowsOf(values)
    return { changelog, outputs: [...this.#outputs.values()], rows: this.#rows }
  }

  #rowsOf(values: readonly StoreChange[]): readonly StoreChange[] {
    if (!(this.#store instanceof RowStore)) return values
    const before = {
      get: (key: string) => this.#store.get(key),
      row: (key: string) => this.#working.rowOf(this.#working.entry(key)),
    }
    return rowsOf(before, this.#codec, values, this.#remembered())
  }

  /** What facts were before: for this store and, on the log, for those that did not fold it. */
  #remembered(): Formers | undefined {
    if (!this.#isRemembering) return undefined
    const { partition, position } = this.#position
    const folded = { from: this.#begin, to: position }
    const changes = this.#formers
    const records = formerRecords(this.#codec, partition, changes, folded)
    for (const record of records) {
      this.#putIn('former', partition, `${record.from}`, this.#codec.encode(record))
    }
    return { changes, records, folded }
  }

  /**
   * Work of the agenda that was put there and done within the batch: nothing is stored that would
   * have to be removed.
   */
  #cameAndWent(entry: KeyEntry): boolean {
    return entry.table.isWork && this.#working.storedOf(entry) === null
  }

  /** Once committed and stored. */
  clear(): void {
    this.#working.clear(this.#rows.slice(0, this.#stateRows))
    this.#rows = []
    this.#formers = []
    this.#outputs = new Map()
    this.#lastOutputs = new Map()
    this.#records = 0
    this.#begin = this.#position.position
  }
}

type Fields = Readonly<Record<string, unknown>>

const NO_CHANGE: ChangedKey = { key: '', value: undefined }

function isSame(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return a.length === b.length && Buffer.compare(a, b) === 0
}

/** Of a partition of which nothing was folded. */
export function firstPosition(partition: number, partitions: number): Position {
  return {
    type: 'Position',
    partition,
    partitions,
    position: 0n,
    state: NO_DIGEST,
    outputs: NO_DIGEST,
    foldVersion: FOLD_VERSION,
    last: '',
    inForce: [],
  }
}
