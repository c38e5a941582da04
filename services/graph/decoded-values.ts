/**
 * Values of a store as they were last decoded, the ones read of late: a fold reads a cluster, a kind or an owner again with every record.
 *
 * Nodes that await the result of a command are kept for longer: they are read again for certain, seconds later.
 *
 * What must stay true: it only ever answers what the store answers; whoever writes the store says so here. Bounded, by forgetting.
 *
 * Not here: changes that are not stored yet (core/graph.ts).
 */
import type { StateReader } from '../../core/graph.ts'
import type { StateValue } from '../../core/state.ts'
import type { Codec } from '../../ports/codec.ts'
import type { Store } from '../../ports/store.ts'
import { AWAITED_NODES, DECODED_VALUES } from './config.ts'

/** A key that holds nothing is remembered as null. */
type Values = Map<string, StateValue | null>

export class DecodedValues implements StateReader {
  readonly #store: Pick<Store, 'get'>
  readonly #codec: Codec
  /** Two generations: what is not read while the young one fills goes with the old one. */
  #young: Values = new Map()
  #old: Values = new Map()
  /** Commands are carried out in the order they came in, so the first that fit in are the first that are read again. */
  readonly #awaited: Values = new Map()

  constructor(store: Pick<Store, 'get'>, codec: Codec) {
    this.#store = store
    this.#codec = codec
  }

  get(key: string): StateValue | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young ?? undefined
    const awaited = this.#awaited.get(key)
    if (awaited !== undefined) return awaited ?? undefined
    const old = this.#old.get(key)
    const value = old === undefined ? this.#read(key) : old
    if (isReadAgain(key)) this.#keep(key, value)
    return value ?? undefined
  }

  /** These are stored now. */
  stored(changes: ReadonlyMap<string, StateValue | null>): void {
    for (const [key, value] of changes) {
      if (isReadAgain(key)) this.#keep(key, value)
      if (!isAwaited(value)) this.#awaited.delete(key)
      else if (this.#awaited.size < AWAITED_NODES || this.#awaited.has(key)) {
        this.#awaited.set(key, value)
      }
    }
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

/** These are read in pages, or once: a third of all that changes would only drive out what is read by its key. */
function isReadAgain(key: string): boolean {
  return !(key.startsWith('edge/') || key.startsWith('due/') || key.startsWith('waits/'))
}

/** Its command, or the watch that confirms it, will tell more of it soon. */
function isAwaited(value: StateValue | null): boolean {
  if (value?.type !== 'Node' || value.attempt === null) return false
  return value.attempt.state === 'issued' || value.attempt.state === 'confirming'
}
