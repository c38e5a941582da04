/**
 * How the index of names, and the histories of the partitions that this process has, catch up with
 * `lineage` and `history`: all of them in one round after the other.
 *
 * What must stay true: it never competes with the fold: it pauses while many entries are appended.
 * A store that has to begin again, or that is closed because its partition is another process' now,
 * disturbs no other.
 *
 * Not here: what becomes of an entry (name-follower.ts, history-follower.ts).
 */
import type { Clock } from '../../../../../ports/clock.ts'
import type { Log } from '../../../../../ports/log.ts'
import type { HistoryFollower } from './history-follower.ts'
import { LineagePages } from './lineage-page.ts'
import type { NameFollower } from './name-follower.ts'
import { isOutdated, Rounds } from './rounds.ts'

/** Pages of each partition in a round, and the pause after each round. */
const PAGES_PER_ROUND = 4
const PAUSE_MS = 200
/**
 * It must never compete with the fold: while more than so many entries are appended in a pause it
 * waits, until so many are pending.
 */
const BURST_ENTRIES = 200n
const MOST_WAITING = 200_000n
/** Pages of each partition that are forgotten in a round (forgetting.ts). */
const FORGOTTEN_PAGES = 4

/** Of one partition of the log. Of `history` only where its histories are here. */
interface Ends {
  readonly lineage: bigint
  readonly history: bigint | undefined
}

export interface IndexFollowerParts {
  readonly log: Log
  readonly clock: Clock
  readonly names: NameFollower
  /** Undefined of a partition whose histories are not here now. */
  readonly histories: (partition: number) => HistoryFollower | undefined
}

export class IndexFollower {
  readonly #parts: IndexFollowerParts
  readonly #rounds: Rounds
  /**
   * Of the questions that join before its ends are requested: one question may ask for each of
   * hundreds of clusters, and each time it is a request to a broker.
   */
  #joined: Promise<bigint> | undefined
  #looking: Promise<unknown> = Promise.resolve()

  constructor(parts: IndexFollowerParts) {
    this.#parts = parts
    const { clock, names } = parts
    this.#rounds = new Rounds({ clock, store: names, pauseMs: PAUSE_MS })
  }

  async run(signal: AbortSignal): Promise<void> {
    let isKnownWhole = false
    let before: readonly Ends[] | undefined
    await this.#rounds.run(async () => {
      if (!isKnownWhole && (await this.#hasMissedNames())) await this.#parts.names.wipe()
      isKnownWhole = true
      const ends = await this.#ends()
      const came = before === undefined ? 0n : cameBetween(before, ends)
      before = ends
      const isBurst = came > BURST_ENTRIES && (await this.lagEntries()) < MOST_WAITING
      return isBurst || (await this.#followAll(ends))
    }, signal)
  }

  /** Entries of the log it has not read yet. */
  async lagEntries(): Promise<bigint> {
    return this.#leftOf(await this.#ends())
  }

  /**
   * Waits a moment for all that the log holds now; answers with how many entries of that it has not
   * read yet.
   */
  async caughtUp(): Promise<bigint> {
    this.#joined ??= this.#waited()
    return await this.#joined
  }

  async #waited(): Promise<bigint> {
    await this.#looking
    // A question from now on has to include entries that are appended from now on.
    this.#joined = undefined
    const look = this.#ends()
    this.#looking = look.catch(() => undefined)
    const ends = await look
    return await this.#rounds.waitFor(() => this.#leftOf(ends))
  }

  /** By partition. */
  async #ends(): Promise<readonly Ends[]> {
    const { log, histories } = this.#parts
    const partitions = Array.from({ length: log.partitions('lineage') }, (_, each) => each)
    return await Promise.all(
      partitions.map(async (partition) => {
        const [lineage, history] = await Promise.all([
          log.end('lineage', partition),
          histories(partition) !== undefined ? log.end('history', partition) : undefined,
        ])
        return { lineage, history }
      }),
    )
  }

  /** Of what lies before these ends. */
  #leftOf(ends: readonly Ends[]): bigint {
    const { names, histories } = this.#parts
    let left = 0n
    for (const [partition, { lineage, history }] of ends.entries()) {
      const its = histories(partition)
      const named = names.position(partition)
      const forgotten = its?.lineagePosition ?? named
      left += over(lineage, named < forgotten ? named : forgotten)
      if (its !== undefined && history !== undefined) left += over(history, its.position)
    }
    return left
  }

  /** It was away for so long that the log may no longer have the deletion of a name here. */
  async #hasMissedNames(): Promise<boolean> {
    const { log, names } = this.#parts
    for (let partition = 0; partition < log.partitions('lineage'); partition++) {
      const at = names.position(partition)
      if (at > 0n && at < (await log.wholeFrom('lineage', partition))) return true
    }
    return false
  }

  /** False when there was nothing new anywhere. */
  async #followAll(ends: readonly Ends[]): Promise<boolean> {
    let isNew = false
    // All ends are one request, a read of each partition is one each.
    for (const [partition, each] of ends.entries()) {
      const its = this.#parts.histories(partition)
      if (its !== undefined && (await this.#followHistory(its, each.history))) isNew = true
      if (await this.#followLineage(partition, its, each.lineage)) isNew = true
    }
    return isNew
  }

  async #followHistory(its: HistoryFollower, end: bigint | undefined): Promise<boolean> {
    return await this.#guarded(its, async () => {
      await its.startAnewIfMissed()
      let isNew = false
      if (end !== undefined && its.isBehind(end)) {
        for (let left = PAGES_PER_ROUND; left > 0 && (await its.follow()); left--) isNew = true
      }
      for (let left = FORGOTTEN_PAGES; left > 0 && (await its.forgetOn()); left--) isNew = true
      return isNew
    })
  }

  /** Of what is forgotten names know longest where it was: histories are the first to read it. */
  async #followLineage(
    partition: number,
    its: HistoryFollower | undefined,
    end: bigint,
  ): Promise<boolean> {
    const { log, names } = this.#parts
    const pages = new LineagePages(log, partition)
    let isNew = false
    for (let left = PAGES_PER_ROUND; left > 0; left--) {
      const isForgetting =
        its !== undefined &&
        (await this.#guarded(its, async () => {
          return its.lineagePosition < end && (await its.followForgotten(pages))
        }))
      const isNaming = names.position(partition) < end && (await names.follow(partition, pages))
      if (!isForgetting && !isNaming) break
      isNew = true
    }
    return isNew
  }

  async #guarded(its: HistoryFollower, work: () => Promise<boolean>): Promise<boolean> {
    const isHere = (): boolean => this.#parts.histories(its.partition) === its
    try {
      return isHere() && (await work())
    } catch (error) {
      if (!isHere()) return false
      if (!isOutdated(error)) throw error
      await its.wipe()
      return false
    }
  }
}

/** Entries that were appended to what was read both times. */
function cameBetween(before: readonly Ends[], now: readonly Ends[]): bigint {
  let came = 0n
  for (const [partition, { lineage, history }] of now.entries()) {
    const then = before[partition]
    came += over(lineage, then?.lineage ?? lineage)
    if (history !== undefined) came += over(history, then?.history ?? history)
  }
  return came
}

function over(end: bigint, position: bigint): bigint {
  return end > position ? end - position : 0n
}
