/**
 * Values of a store as they were last decoded, the ones read of late: a fold reads a cluster, a kind or an owner again with every record.
 *
 * What must stay true: it only ever answers what the store answers; whoever writes the store says so here. Bounded, by forgetting.
 *
 * Not here: changes that are not stored yet (core/graph.ts).
 */
import type { StateReader } from '../../core/graph.ts'
import type { StateValue } from '../../core/state.ts'
import type { Codec } from '../../ports/codec.ts'
import type { Store } from '../../ports/store.ts'
import { DECODED_VALUES } from './config.ts'

/** A key that holds nothing is remembered as null. */
type Values = Map<string, StateValue | null>

export class DecodedValues implements StateReader {
  readonly #store: Pick<Store, 'get'>
  readonly #codec: Codec
  /** Two generations: what is not read while the young one fills goes with the old one. */
  #young: Values = new Map()
  #old: Values = new Map()

  constructor(store: Pick<Store, 'get'>, codec: Codec) {
    this.#store = store
    this.#codec = codec
  }

  get(key: string): StateValue | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young ?? undefined
    const old = this.#old.get(key)
    const value = old === undefined ? this.#read(key) : old
    this.#keep(key, value)
    return value ?? undefined
  }

  /** These are stored now. */
  stored(changes: ReadonlyMap<string, StateValue | null>): void {
    for (const [key, value] of changes) this.#keep(key, value)
  }

  #read(key: string): StateValue | null {
    const bytes = this.#store.get(key)
    return bytes === undefined ? null : (this.#codec.decode(bytes) as StateValue)
  }

  #keep(key: string, value: StateValue | null): void {
    if (this.#young.size >= DECODED_VALUES) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, value)
  }
}
