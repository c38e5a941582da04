/**
 * Which objects bear marks of other tools, by the name of the manager that a mark names: of the
 * store once, from its first node to its last, and from then on of the changes of each commit.
 *
 * What must stay true: what it answers equals a scan of the store. It is memory alone, made anew at
 * each start: nothing is decided by it, and no record has it. Beyond its bound it answers nothing,
 * and who asks scans. Where no mark is asked for there is none (task.ts).
 *
 * Not here: what a mark names (ports/record/manager-mark.ts), objects of the past and what is
 * answered (query/across).
 */
import type { StateReader } from '../../../core/graph/graph.ts'
import { ALL_NODES_PREFIX, nodesPrefix } from '../../../core/graph/key.ts'
import type { ClusterId, Uid } from '../../../core/model/object.ts'
import type { StateValue } from '../../../core/model/state.ts'
import type { Codec } from '../../../ports/record/codec.ts'
import { type MarkSettings, managersOf } from '../../../ports/record/manager-mark.ts'
import { prefixRange, type Store } from '../../../ports/store.ts'
import { COUNT_KEYS } from '../config.ts'
import { stateValueOf } from './bytes/long-node.ts'
import type { ChangedKey } from './bytes/working-set.ts'

/** Of a partition, each for one name: some 200 bytes each. */
const MOST_MARKED = 200_000
/** After all keys. */
const END = '~'

export interface MarkedIndexBounds {
  /** Read at a time. */
  readonly pageKeys?: number
  readonly most?: number
}

export class MarkedIndex {
  readonly #codec: Codec
  readonly #settings: MarkSettings
  readonly #pageKeys: number
  readonly #most: number
  /** By the nodes' prefix of the cluster, and the name behind it. */
  #uids = new Map<string, Set<Uid>>()
  #size = 0
  #cursor = ''
  #isBeyond = false

  constructor(codec: Codec, settings: MarkSettings, bounds: MarkedIndexBounds = {}) {
    this.#codec = codec
    this.#settings = settings
    this.#pageKeys = bounds.pageKeys ?? COUNT_KEYS
    this.#most = bounds.most ?? MOST_MARKED
  }

  /** Nothing is left to be read: all is, or there is too much of it. */
  get isOver(): boolean {
    return this.#cursor === END || this.#isBeyond
  }

  /**
   * Uids of objects with a mark that names a manager of that name; undefined: it is not known here.
   */
  named(cluster: ClusterId, name: string): readonly Uid[] | undefined {
    if (this.#isBeyond || this.#cursor !== END) return undefined
    return [...(this.#uids.get(nodesPrefix(cluster) + name) ?? [])]
  }

  /** Reads a further part of the store; no commit may be under way. */
  async goOn(store: Pick<Store, 'get' | 'page'>): Promise<void> {
    if (this.isOver) return
    const { gte, lt, limit } = prefixRange(ALL_NODES_PREFIX, this.#pageKeys)
    const from = this.#cursor === '' ? gte : `${this.#cursor}\0`
    const { rows, isCut } = await store.page({ gte: from, lt, limit })
    for (const [key, bytes] of rows) {
      this.#count(
        key,
        stateValueOf(this.#codec, key, bytes, (each) => store.get(each)),
        1,
      )
    }
    this.#cursor = isCut ? rows.at(-1)![0] : END
  }

  /** `changes` will be stored next; `before` reads the present state. */
  committed(changes: readonly ChangedKey[], before: StateReader): void {
    if (this.#isBeyond) return
    changes.forEach(({ key, value }) => {
      if (!key.startsWith(ALL_NODES_PREFIX) || key > this.#cursor) return
      this.#count(key, before.get(key), -1)
      this.#count(key, value ?? undefined, 1)
    })
  }

  #count(key: string, value: StateValue | undefined, sign: 1 | -1): void {
    if (value?.type !== 'Node' || this.#isBeyond) return
    const { object } = value
    const names = new Set(managersOf(object, this.#settings).map(({ name }) => name))
    if (names.size === 0) return
    const prefix = key.slice(0, key.lastIndexOf('/') + 1)
    for (const name of names) {
      const of = prefix + name
      const uids = this.#uids.get(of) ?? new Set()
      const former = uids.size
      if (sign > 0) uids.add(object.uid)
      else uids.delete(object.uid)
      this.#size += uids.size - former
      if (uids.size === 0) this.#uids.delete(of)
      else this.#uids.set(of, uids)
    }
    if (this.#size <= this.#most) return
    this.#isBeyond = true
    this.#uids = new Map()
  }
}
