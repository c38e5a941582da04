/**
 * Writes for each event of a partition as much as a fold does, and folds nothing: for
 * copy-process.ts.
 *
 * What must stay true: sizes, numbers and reads are those of the Kafka Streams program
 * (peers/streams), which does the same; outputs are written to the partitions of their keys, as
 * those of both are.
 */

import type { Produced, TaskLog, Topic } from '../../ports/log.ts'
import { partitionOf } from '../../ports/partition.ts'
import type { Store, StoreChange } from '../../ports/store.ts'
import type { Shape, Shapes } from './streams-peer.ts'

export interface CopierOptions {
  /** Of events, and of every output. */
  readonly partitions: number
  readonly owned: TaskLog
  readonly store: Store
  readonly shapes: Shapes
}

interface Output {
  readonly topic: Topic
  readonly partition: number
  readonly records: Produced[]
}

const OUTPUTS = ['lineage', 'history', 'commands'] as const

/** Different keys, again and again. */
class Keys {
  readonly #most: number
  #number = 0

  constructor(most: number) {
    this.#most = most
  }

  next(bytes: number): string {
    return keyOf(this.#number++ % this.#most, bytes)
  }
}

/** The records to be written: as many as were due. */
class Due {
  readonly #shape: Shape
  readonly #keys: Keys
  #due = 0

  constructor(shape: Shape, keys: Keys) {
    this.#shape = shape
    this.#keys = keys
  }

  /** For one more event. */
  *records(event: Uint8Array): Iterable<{ key: string; value: Uint8Array }> {
    const { perEvent, keyBytes, valueBytes } = this.#shape
    for (this.#due += perEvent; this.#due >= 1; this.#due--) {
      const key = this.#keys.next(Math.round(keyBytes))
      yield { key, value: filled(event, Math.round(valueBytes)) }
    }
  }
}

export class Copier {
  readonly #partitions: number
  readonly #owned: TaskLog
  readonly #store: Store
  readonly #changes: Due
  readonly #outputs: readonly { readonly topic: Topic; readonly due: Due }[]
  readonly #written = new Map<string, Output>()
  #changed: { key: string; value: Uint8Array }[] = []
  position = 0n

  constructor({ partitions, owned, store, shapes }: CopierOptions) {
    const written = new Keys(shapes.keys)
    this.#partitions = partitions
    this.#owned = owned
    this.#store = store
    this.#changes = new Due(shapes.changes, new Keys(shapes.keys))
    this.#outputs = OUTPUTS.map((topic) => ({ topic, due: new Due(shapes[topic], written) }))
  }

  get keys(): number {
    return this.#changed.length
  }

  take(event: Uint8Array, offset: bigint): void {
    for (const change of this.#changes.records(event)) {
      const before = this.#store.get(change.key)
      change.value[0] = (before?.[0] ?? 0) + 1
      this.#changed.push(change)
    }
    for (const { topic, due } of this.#outputs) {
      for (const record of due.records(event)) this.#write(topic, record)
    }
    this.position = offset + 1n
  }

  #write(topic: Topic, record: Produced): void {
    const partition = partitionOf(record.key, this.#partitions)
    const name = `${topic}/${partition}`
    const output = this.#written.get(name) ?? { topic, partition, records: [] }
    this.#written.set(name, output)
    output.records.push(record)
  }

  async commit(): Promise<void> {
    const changelog = this.#changed
    const end = await this.#owned.commit({ changelog, outputs: [...this.#written.values()] })
    const changes: StoreChange[] = changelog.map(({ key, value }) => [key, value])
    await this.#store.write(changes, { changelog: end, position: this.position })
    this.#changed = []
    this.#written.clear()
  }
}

/** Spread as uids are. */
function keyOf(number: number, size: number): string {
  const mixed = BigInt.asUintN(64, BigInt(number) * 0x9e3779b97f4a7c15n)
  return mixed.toString(16).padStart(16, '0').padEnd(size, 'k').slice(0, size)
}

/** As compressible as its source. */
function filled(from: Uint8Array, size: number): Uint8Array {
  const value = Buffer.allocUnsafe(size)
  for (let at = 0; at < size; at += from.length) value.set(from.subarray(0, size - at), at)
  return new Uint8Array(value.buffer, value.byteOffset, size)
}
