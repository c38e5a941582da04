/**
 * Follows `control` for relist requests to one cluster's watcher and for other watchers' records
 * about its connection, and `orders` for the users' protections and the policy's rules.
 *
 * What must stay true: a request is done once: its place is passed only when the relist that
 * answers it is finished and acknowledged.
 */

import type { ClusterId } from '../../core/model/object.ts'
import type { Entry, Log } from '../../ports/log.ts'
import { LogError } from '../../ports/log.ts'
import type { Codec } from '../../ports/record/codec.ts'
import { CodecError } from '../../ports/record/codec.ts'
import { MARK_BOOK_KEY, PROTECT_PREFIX, RULE_BOOK_KEY } from '../../ports/record/control-key.ts'
import type { Control } from '../../ports/record/service-record.ts'
import type { WatcherConfig } from './config.ts'
import { forgettingIn } from './kind/marks.ts'

export interface RelistAsked {
  /** Null for all kinds. */
  readonly kind: Control['kind']
  readonly offset: bigint
}

export class ControlReader {
  readonly #log: Log
  readonly #codec: Codec
  readonly #cluster: ClusterId
  readonly #reader: string
  #next: bigint
  #saved: bigint
  #connectionAt = -1n
  /** At first, too: it may have changed since it was read. */
  #isProjected = true
  /** Of `orders`, next to be read. */
  #nextOrder = 0n

  private constructor(log: Log, codec: Codec, cluster: ClusterId, reader: string, from: bigint) {
    this.#log = log
    this.#codec = codec
    this.#cluster = cluster
    this.#reader = reader
    this.#next = from
    this.#saved = from
  }

  /**
   * Continues where the last watcher of the cluster was; the first one lists everything anyway and
   * begins at the end.
   */
  static async open(log: Log, codec: Codec, cluster: ClusterId): Promise<ControlReader> {
    const reader = `watcher/${cluster}`
    const saved = await log.loadPosition(reader, 'control', 0)
    const from = saved?.offset ?? (await log.bounds('control', 0)).end
    const opened = new ControlReader(log, codec, cluster, reader, from)
    opened.#nextOrder = (await log.bounds('orders', 0)).end
    if (saved === undefined) await opened.#save(from)
    return opened
  }

  /** Waits for requests; `take` has each of them before `position` passes it. */
  async requests(
    config: WatcherConfig,
    take: (asked: RelistAsked) => void,
    signal: AbortSignal,
  ): Promise<void> {
    await unlessAway(() => this.#read(config, take, signal))
  }

  /** Waits for orders, which `takeProjected` knows then; not while the log is away. */
  async orders(config: WatcherConfig, signal: AbortSignal): Promise<void> {
    await unlessAway(() => this.#readOrders(config, signal))
  }

  async #read(
    config: WatcherConfig,
    take: (asked: RelistAsked) => void,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      const options = { limit: config.controlPage, waitMs: config.controlWaitMs }
      const page = await this.#log.read('control', 0, this.#next, options, signal)
      for (const entry of page.entries) this.#relistIn(entry, take)
      this.#next = page.next
    } catch (error) {
      if (!(error instanceof LogError && error.code === 'OUT_OF_RANGE')) throw error
      await this.#startOver(take)
    }
  }

  async #readOrders(config: WatcherConfig, signal: AbortSignal): Promise<void> {
    try {
      const options = { limit: config.controlPage, waitMs: config.controlWaitMs }
      const page = await this.#log.read('orders', 0, this.#nextOrder, options, signal)
      if (page.entries.some((entry) => this.#isAboutReading(entry))) this.#isProjected = true
      this.#nextOrder = page.next
    } catch (error) {
      if (!(error instanceof LogError && error.code === 'OUT_OF_RANGE')) throw error
      const { end } = await this.#log.bounds('orders', 0)
      // Labels that the log lost are published nevertheless until the graph publishes the
      // protection again: without them it would end the protection of their objects (F39).
      if (end >= this.#nextOrder) this.#isProjected = true
      this.#nextOrder = end
    }
  }

  /**
   * Offset at which the connection of our cluster was last published, by any watcher; below 0 if
   * not since this was opened.
   */
  get connectionAt(): bigint {
    return this.#connectionAt
  }

  /** Whether the protections or the rules may have changed since the last call. */
  takeProjected(): boolean {
    const was = this.#isProjected
    this.#isProjected = false
    return was
  }

  /** Next to be read. */
  get position(): bigint {
    return this.#next
  }

  /** Everything before it is settled. */
  async save(position: bigint): Promise<void> {
    if (position !== this.#saved) await this.#save(position)
  }

  async #save(offset: bigint): Promise<void> {
    await this.#log.savePosition(this.#reader, 'control', 0, { offset, detail: '' })
    this.#saved = offset
  }

  /**
   * The records in between are compacted away, or lost: the last request of each kind is enough.
   */
  async #startOver(take: (asked: RelistAsked) => void): Promise<void> {
    const { end } = await this.#log.bounds('control', 0)
    const latest = await this.#log.latest('control', 0)
    for (const entry of latest) if (entry.offset >= this.#saved) this.#relistIn(entry, take)
    this.#next = end
  }

  /**
   * By protections, rules and marks follows what is published of objects, and by orders which
   * clusters of owners are followed.
   */
  #isAboutReading(entry: Entry): boolean {
    const { key } = entry
    if (key === RULE_BOOK_KEY || key === MARK_BOOK_KEY) return true
    if (key.startsWith(PROTECT_PREFIX)) return true
    return forgettingIn(this.#codec, entry, this.#cluster) !== undefined
  }

  #relistIn(entry: Entry, take: (asked: RelistAsked) => void): void {
    if (entry.value === null) return
    try {
      const control = this.#codec.decode(entry.value)
      if (control.type !== 'Control' || control.cluster !== this.#cluster) return
      if (control.verb === 'epoch') this.#connectionAt = entry.offset
      if (control.verb === 'relist') take({ kind: control.kind, offset: entry.offset })
    } catch (error) {
      // A newer program's directive, or damage: it asks nothing of us that we could do.
      if (error instanceof CodecError) return
      throw error
    }
  }
}

async function unlessAway(read: () => Promise<void>): Promise<void> {
  try {
    await read()
  } catch (error) {
    if (!(error instanceof LogError && error.remedy === 'retry')) throw error
  }
}
