/**
 * Writes for each event of a partition as much as a fold does, and folds nothing: for copy-process.ts.
 *
 * What must stay true: sizes, numbers and looks are those of the Kafka Streams program (peers/streams), which does the same.
 */
import type { Produced, TaskLog, Topic } from '../ports/log.ts'
import type { Store, StoreChange } from '../ports/store.ts'
import type { Shape, Shapes } from './streams-peer.ts'

export interface CopierOptions {
  readonly partition: number
  readonly owned: TaskLog
  readonly store: Store
  readonly shapes: Shapes
}

const OUTPUTS = ['lineage', 'history', 'commands'] as const

/** What is to be written: as many as were due. */
class Due {
  readonly #shape: Shape
  readonly #keys: number
  #due = 0
  #number = 0

  constructor(shape: Shape, keys: number) {
    this.#shape = shape
    this.#keys = keys
  }

  /** For one more event. */
  *records(event: Uint8Array): Iterable<{ key: string; value: Uint8Array }> {
    const { perEvent, keyBytes, valueBytes } = this.#shape
    for (this.#due += perEvent; this.#due >= 1; this.#due--) {
      const key = keyOf(this.#number++ % this.#keys, Math.round(keyBytes))
      yield { key, value: filled(event, Math.round(valueBytes)) }
    }
  }
}

export class Copier {
  readonly #partition: number
  readonly #owned: TaskLog
  readonly #store: Store
  readonly #changes: Due
  readonly #outputs: readonly { readonly topic: Topic; readonly due: Due }[]
  readonly #written = new Map<Topic, Produced[]>(OUTPUTS.map((topic) => [topic, []]))
  #changed: { key: string; value: Uint8Array }[] = []
  position = 0n

  constructor({ partition, owned, store, shapes }: CopierOptions) {
    const { changes, keys } = shapes
    this.#partition = partition
    this.#owned = owned
    this.#store = store
    this.#changes = new Due(changes, keys)
    this.#outputs = OUTPUTS.map((topic) => ({ topic, due: new Due(shapes[topic], keys) }))
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
      this.#written.get(topic)?.push(...due.records(event))
    }
    this.position = offset + 1n
  }

  async commit(): Promise<void> {
    const changelog = this.#changed
    const outputs = [...this.#written].map(([topic, records]) => {
      return { topic, partition: this.#partition, records }
    })
    const filled = outputs.filter(({ records }) => records.length > 0)
    const end = await this.#owned.commit({ changelog, outputs: filled })
    const changes: StoreChange[] = changelog.map(({ key, value }) => [key, value])
    await this.#store.write(changes, { changelog: end, position: this.position })
    this.#changed = []
    for (const topic of OUTPUTS) this.#written.set(topic, [])
  }
}

/** Spread as uids are. */
function keyOf(number: number, size: number): string {
  const mixed = BigInt.asUintN(64, BigInt(number) * 0x9e3779b97f4a7c15n)
  return mixed.toString(16).padStart(16, '0').padEnd(size, 'k').slice(0, size)
}

/** As compressible as what it was made of. */
function filled(from: Uint8Array, size: number): Uint8Array {
  const value = Buffer.allocUnsafe(size)
  for (let at = 0; at < size; at += from.length) value.set(from.subarray(0, size - at), at)
  return new Uint8Array(value.buffer, value.byteOffset, size)
}
