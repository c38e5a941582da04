/**
 * How names and histories of one partition follow the log, in one store.
 *
 * What must stay true: of what is forgotten neither a name nor an entry is left. Where the log may
 * have forgotten something that is here still, both begin again.
 *
 * Not here: when it reads (index-follower.ts), what becomes of an entry (name-follower.ts,
 * history-follower.ts).
 */
import type { FollowerParts } from './follower-parts.ts'
import { HistoryFollower } from './history-follower.ts'
import { LineagePages } from './lineage-page.ts'
import { NameFollower } from './name-follower.ts'

/** Of one partition of the log. */
export interface Ends {
  readonly lineage: bigint
  readonly history: bigint
}

/** Pages in a round, and those that are forgotten (forgetting.ts). */
const PAGES_PER_ROUND = 4
const FORGOTTEN_PAGES = 4

export class PartitionFollower {
  readonly partition: number
  readonly names: NameFollower
  readonly histories: HistoryFollower
  readonly #parts: FollowerParts
  /** The log had no deletion that was missed here. */
  #isKnownWhole = false

  constructor(parts: FollowerParts) {
    this.partition = parts.partition
    this.#parts = parts
    this.names = new NameFollower(parts)
    this.histories = new HistoryFollower(parts)
  }

  /** It has read all that the log held when it began. */
  get isFollowing(): boolean {
    return this.names.isFollowing && this.histories.isFollowing
  }

  /** Entries that it has not read yet, of what lies before these ends. */
  left({ lineage, history }: Ends): bigint {
    const { names, histories } = this
    const known =
      names.position < histories.lineagePosition ? names.position : histories.lineagePosition
    return over(lineage, known) + over(history, histories.position)
  }

  async wipe(): Promise<void> {
    this.#startAnew()
    await this.#parts.store.wipe()
    // Who asked meanwhile how far they are read what was to be wiped.
    this.#startAnew()
  }

  #startAnew(): void {
    this.names.startAnew()
    this.histories.startAnew()
  }

  /** False when there was nothing new. */
  async follow(ends: Ends): Promise<boolean> {
    await this.#startAnewIfMissed()
    const isNew = await this.#followHistory(ends.history)
    return (await this.#followLineage(ends.lineage)) || isNew
  }

  /** It was away for so long that the log may no longer have a deletion of what is here. */
  async #startAnewIfMissed(): Promise<void> {
    if (this.#isKnownWhole) return
    const wholeFrom = await this.#parts.log.wholeFrom('lineage', this.partition)
    const positions = [this.names.position, this.histories.lineagePosition]
    if (positions.some((at) => at > 0n && at < wholeFrom)) await this.wipe()
    this.#isKnownWhole = true
  }

  async #followHistory(end: bigint): Promise<boolean> {
    const { histories } = this
    let isNew = false
    if (histories.isBehind(end)) {
      for (let left = PAGES_PER_ROUND; left > 0 && (await histories.follow()); left--) isNew = true
    }
    for (let left = FORGOTTEN_PAGES; left > 0 && (await histories.forgetOn()); left--) isNew = true
    return isNew
  }

  /** Of what is forgotten names know longest where it was: histories are the first to read it. */
  async #followLineage(end: bigint): Promise<boolean> {
    const { names, histories } = this
    const pages = new LineagePages(this.#parts.log, this.partition)
    let isNew = false
    for (let left = PAGES_PER_ROUND; left > 0; left--) {
      const isForgetting =
        histories.lineagePosition < end && (await histories.followForgotten(pages))
      const isNaming = names.isBehind(end) && (await names.follow(pages))
      if (!isForgetting && !isNaming) break
      isNew = true
    }
    return isNew
  }
}

export function over(end: bigint, position: bigint): bigint {
  return end > position ? end - position : 0n
}
