/**
 * What is committed of one cluster, for one question: its nodes, owners and edges in the one store
 * that has them.
 *
 * What must stay true: it reads and changes nothing. The store keeps changing while a long question
 * is answered, so each read is of its moment; a store that is closed meanwhile throws, and is never
 * read as empty.
 *
 * Not here: which process has the cluster (clusters.ts, forward.ts).
 */
import { type ClusterFacts, factsOf } from '../../../../core/graph/facts.ts'
import type { StateReader } from '../../../../core/graph/graph.ts'
import type { Identity } from '../../../../core/graph/identity.ts'
import { identityNamed, identityOf, isSameIdentity } from '../../../../core/graph/identity.ts'
import { coordinatesPart, edgesPrefix, lastPart, nodeKey } from '../../../../core/graph/key.ts'
import type { Node } from '../../../../core/model/node.ts'
import type {
  ClusterId,
  Coordinates,
  ObjectMeta,
  OwnerReference,
  Uid,
} from '../../../../core/model/object.ts'
import type { StateValue } from '../../../../core/model/state.ts'
import type { Clock } from '../../../../ports/clock.ts'
import type { Codec } from '../../../../ports/record/codec.ts'
import type { Store, StoreEntry } from '../../../../ports/store.ts'
import { entriesIn, prefixRange, StoreError } from '../../../../ports/store.ts'
import { type AsOf, timeOf } from '../../api/document.ts'
import { valueInPart } from '../../fold/bytes/long-node.ts'
import { changesBack, keysChanged, keysChangedBy, timeOfChange } from '../../fold/former/changed.ts'
import type { RowReader } from '../../fold/former/row-store.ts'
import { type StoreReader, storeAt } from '../../fold/former/store-at.ts'
import type { Task, TaskStatus } from '../../fold/task.ts'
import { Turns } from '../../turns.ts'
import type { Moment } from '../index/moment.ts'

/** Keys read at once. */
export const PAGE_KEYS = 500

/** Of one moment, decoded. */
const REMEMBERED_VALUES = 2_000

/** Of a task, what a question needs. */
export interface LocalPartition extends Pick<Task, 'partition' | 'store' | 'counts'> {
  status(): Omit<TaskStatus, 'faults'>
  /** Left out: not known without reading all objects. */
  readonly marked?: Task['marked']
}

/** Undefined when this process does not have the partition. */
export type Here = (partition: number) => LocalPartition | undefined

/** `at`: the time that was asked, or of the first event that is not in it. */
export interface ViewMoment extends Omit<Extract<Moment, { readonly type: 'position' }>, 'type'> {
  readonly type: 'position'
  /** What was asked is the time. */
  readonly isTime: boolean
}

/** An object as it was last, and the position of the event that removed it. */
export interface LastThere {
  readonly object: ObjectMeta
  readonly until: number
}

/** The position of the event, and the object before it. */
export interface NodeChange {
  readonly position: number
  readonly node: Node | undefined
}

/** The position of the event, and what a key held before it. */
export interface ValueChange {
  readonly position: number
  readonly before: StateValue | undefined
}

export interface ViewParts {
  readonly cluster: ClusterId
  readonly partition: LocalPartition
  /** Null: now. */
  readonly moment?: ViewMoment | null
  /** Of all processes together. */
  readonly partitions: number
  readonly codec: Codec
  readonly clock: Clock
}

export class View {
  readonly cluster: ClusterId
  readonly partition: LocalPartition
  /** Null: now. */
  readonly moment: ViewMoment | null
  readonly codec: Codec
  /** Of the moment. */
  readonly store: StoreReader
  readonly reader: StateReader
  /** Of the cluster, at the moment. */
  readonly facts: ClusterFacts
  /** To be taken between any two objects that are read. */
  readonly turns: Turns
  readonly #parts: ViewParts

  constructor(parts: ViewParts) {
    const { cluster, partition, codec, clock, moment = null } = parts
    this.cluster = cluster
    this.partition = partition
    this.moment = moment
    this.codec = codec
    const { store } = partition
    this.store = moment === null ? store : storeAt(store, codec, BigInt(moment.position))
    const reader = readerOf(this.store, codec)
    this.reader = moment === null ? reader : remembering(reader)
    this.facts = factsOf(this.reader, cluster)
    this.turns = new Turns(clock)
    this.#parts = parts
  }

  /** The same cluster at a moment of the past. Whether that can be asked: open-view.ts. */
  at(moment: ViewMoment): View {
    return new View({ ...this.#parts, moment })
  }

  /** Whatever moment this view is of. */
  get now(): RowReader {
    return this.partition.store
  }

  get name(): string {
    return this.facts.state?.name ?? this.cluster
  }

  node(uid: Uid): Node | undefined {
    return this.facts.node(uid)
  }

  identityOf(object: Coordinates & { readonly uid: Uid }): Identity {
    return identityOf(this.cluster, object)
  }

  /** Whether this reference of an object names that owner. */
  isNamed(owner: Identity, object: ObjectMeta, reference: OwnerReference): boolean {
    if (reference.uid !== owner.uid) return false
    return isSameIdentity(owner, identityNamed(this.facts, object, reference))
  }

  /** By which an object names that owner. Undefined where it does not. */
  referenceTo(owner: Identity, object: ObjectMeta): OwnerReference | undefined {
    return object.ownerReferences.find((each) => this.isNamed(owner, object, each))
  }

  hasDependents(owner: Identity): boolean {
    return this.facts.isNamed(owner.uid, owner)
  }

  /**
   * Uids of the objects that reference it as an owner, in the order of keys, from a part of one on.
   */
  async *dependents(owner: Identity, from?: string, pageKeys?: number): AsyncIterable<Uid> {
    for await (const [key] of this.entries(edgesOf(owner), from, pageKeys)) yield lastPart(key)
  }

  /** Uids of the objects that ever referenced it as an owner, as far as that is remembered. */
  async *formerDependents(owner: Identity): AsyncIterable<Uid> {
    const keys = keysChanged(this.now, this.codec, edgesOf(owner), this.#before)
    for await (const key of keys) yield lastPart(key)
  }

  /** Of an object that is not there. Undefined: what it was is not remembered. */
  lastThere(uid: Uid): LastThere | undefined {
    for (const { node, position } of this.changes(uid)) {
      if (node !== undefined) return { object: node.object, until: position }
    }
    return undefined
  }

  /** The newest first: what it was before each, undefined where it was not there. */
  *changes(uid: Uid): Generator<NodeChange> {
    const key = nodeKey(this.cluster, uid)
    for (const { position, value } of changesBack(this.now, this.codec, key, this.#before)) {
      // What belongs to it is beside it in the store of then.
      const then = storeAt(this.now, this.codec, BigInt(position))
      const part = (each: string): Uint8Array | undefined => then.get(each)
      const node = value.length === 0 ? undefined : valueInPart(this.codec, key, value, part)
      yield { position, node: node?.type === 'Node' ? node : undefined }
    }
  }

  /** The newest first: what a key held before each, undefined where it held nothing. */
  *valuesBefore(key: string): Generator<ValueChange> {
    for (const { position, value } of changesBack(this.now, this.codec, key, this.#before)) {
      const before = value.length === 0 ? undefined : (this.codec.decode(value) as StateValue)
      yield { position, before }
    }
  }

  /** Keys that an event changed. */
  async keysChangedBy(position: number): Promise<readonly string[]> {
    return await keysChangedBy(this.now, this.codec, position)
  }

  /** What was known of the cluster before an event. */
  factsBefore(position: number): ClusterFacts {
    const then = storeAt(this.now, this.codec, BigInt(position))
    return factsOf(readerOf(then, this.codec), this.cluster)
  }

  /** Append time of an event that changed something; undefined where that is not remembered. */
  async timeOf(position: number): Promise<number | undefined> {
    return await timeOfChange(this.now, this.codec, position)
  }

  /** What was recorded from there on is not in this view. */
  get #before(): number {
    return this.moment?.position ?? Number.MAX_SAFE_INTEGER
  }

  /**
   * Everything stored under a prefix, from a key below it on, a page at a time, with turns for
   * others in between.
   */
  async *entries(
    prefix: string,
    from: string = '',
    pageKeys: number = PAGE_KEYS,
  ): AsyncIterable<StoreEntry> {
    const range = { ...prefixRange(prefix, pageKeys), gte: prefix + from }
    for await (const entry of entriesIn(this.store, range)) {
      await this.turns.take()
      yield entry
    }
  }

  /** To be read before anything else: a change meanwhile may be in the answer, or not. */
  asOf(): AsOf {
    const { partition } = this.partition
    if (this.moment !== null) {
      const { position, at, isTime } = this.moment
      return { partition, position: isTime ? null : position, time: timeOf(at) }
    }
    const position = Number(this.partition.status().position)
    const time = timeOf(this.facts.state?.now ?? null)
    return { partition, position, time }
  }

  /** Why an answer may be incomplete; empty when it is not. */
  partial(): string {
    if (this.moment !== null) {
      const isRecorded = this.facts.state !== undefined
      return isRecorded ? '' : 'nothing of this cluster was recorded by then'
    }
    if (this.partition.status().state === 'folding') return ''
    const reasons = new Map([[this.partition.partition, 'still being restored']])
    return lacking(reasons, this.#parts.partitions)
  }
}

/** Of all that name an owner by its uid and coordinates. */
export function edgesOf(owner: Identity): string {
  return edgesPrefix(owner.cluster, owner.uid, coordinatesPart(owner))
}

/** In words: why each of these partitions cannot be read as it should be. */
export function lacking(reasons: ReadonlyMap<number, string>, partitions: number): string {
  return [...Map.groupBy(reasons, ([, reason]) => reason)]
    .map(([reason, some]) => {
      const numbers = some.map(([partition]) => partition).join(', ')
      return `partition${some.length === 1 ? '' : 's'} ${numbers} of ${partitions}: ${reason}`
    })
    .join('; ')
}

/**
 * Of a store that may be on its way to what is committed: of a node with a part missing it knows
 * nothing.
 */
export function readerOf(store: Pick<Store, 'get'>, codec: Codec): StateReader {
  return {
    get(key) {
      const bytes = store.get(key)
      if (bytes === undefined) return undefined
      return valueInPart(codec, key, bytes, (each) => store.get(each))
    },
  }
}

/** What a moment has never changes: an owner is decoded once for all of its dependents. */
function remembering(reader: StateReader): StateReader {
  const known = new Map<string, StateValue | undefined>()
  return {
    get(key) {
      const value = known.get(key)
      if (value !== undefined || known.has(key)) return value
      if (known.size >= REMEMBERED_VALUES) known.clear()
      const read = reader.get(key)
      known.set(key, read)
      return read
    },
  }
}

/** A task that was fenced is another process' already. */
export function hereOf(graph: { readonly tasks: readonly LocalPartition[] }): Here {
  return (partition) =>
    graph.tasks.find((task) => task.partition === partition && task.status().state !== 'stopped')
}

/** The store was closed under a question: its partition is another process' now. */
export function isClosed(error: unknown): boolean {
  return error instanceof StoreError && error.code === 'CLOSED'
}
