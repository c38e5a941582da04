/**
 * How names and histories of the partitions that this process has catch up with `lineage` and
 * `history`: all of them in one round after the other.
 *
 * What must stay true: it never competes with the fold: it pauses while many entries are appended.
 * A store that has to begin again, or that is closed because its partition is another process' now,
 * or a partition that cannot be read, disturbs no other.
 *
 * Not here: how one of them follows (partition-follower.ts).
 */
import type { Clock } from '../../../../../ports/clock.ts'
import type { Log } from '../../../../../ports/log.ts'
import { type Ends, over, type PartitionFollower } from './partition-follower.ts'
import { isOutdated, Rounds } from './rounds.ts'

/** The pause after each round. */
const PAUSE_MS = 200
/**
 * It must never compete with the fold: while more than so many entries are appended in a pause it
 * waits, until so many are pending.
 */
const BURST_ENTRIES = 200n
const MOST_WAITING = 200_000n

type EndsOf = ReadonlyMap<PartitionFollower, Ends>

export interface IndexFollowerParts {
  readonly log: Log
  readonly clock: Clock
  /** Of the partitions that are here now. */
  readonly here: () => readonly PartitionFollower[]
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
    // Each store is wiped where it is read (`#follow`), so that no other one is wiped with it.
    const store = { wipe: async () => undefined }
    this.#rounds = new Rounds({ clock: parts.clock, store, pauseMs: PAUSE_MS })
  }

  async run(signal: AbortSignal): Promise<void> {
    let before: EndsOf | undefined
    await this.#rounds.run(async () => {
      const ends = await this.#ends()
      const came = before === undefined ? 0n : cameBetween(before, ends)
      before = ends
      const isBurst = came > BURST_ENTRIES && this.#leftOf(ends) < MOST_WAITING
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

  async #ends(): Promise<EndsOf> {
    const { log, here } = this.#parts
    const all = await Promise.all(
      here().map(async (each): Promise<[PartitionFollower, Ends]> => {
        const [lineage, history] = await Promise.all([
          log.end('lineage', each.partition),
          log.end('history', each.partition),
        ])
        return [each, { lineage, history }]
      }),
    )
    return new Map(all)
  }

  /** Of what lies before these ends. What was closed meanwhile is read no more. */
  #leftOf(all: EndsOf): bigint {
    const here = new Set(this.#parts.here())
    return [...all].reduce(
      (sum, [its, ends]) => (here.has(its) ? sum + leftOf(its, ends) : sum),
      0n,
    )
  }

  /** False when there was nothing new anywhere. Of those that fail the first one is thrown. */
  async #followAll(all: EndsOf): Promise<boolean> {
    let isNew = false
    const failures: unknown[] = []
    // All ends are one request, a read of each partition is one each.
    for (const [its, ends] of all) {
      try {
        if (await this.#follow(its, ends)) isNew = true
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
    return isNew
  }

  async #follow(its: PartitionFollower, ends: Ends): Promise<boolean> {
    const isHere = (): boolean => this.#parts.here().includes(its)
    try {
      return isHere() && (await its.follow(ends))
    } catch (error) {
      if (!isHere()) return false
      if (!isOutdated(error)) throw error
      await its.wipe().catch((failure: unknown) => {
        // It was closed meanwhile.
        if (isHere()) throw failure
      })
      return false
    }
  }
}

/** Where a store is damaged it is all to be read again. */
function leftOf(its: PartitionFollower, ends: Ends): bigint {
  try {
    return its.left(ends)
  } catch (error) {
    if (!isOutdated(error)) throw error
    return ends.lineage + ends.history
  }
}

/** Entries that were appended to what was read both times. */
function cameBetween(before: EndsOf, now: EndsOf): bigint {
  let came = 0n
  for (const [each, { lineage, history }] of now) {
    const then = before.get(each)
    if (then !== undefined) came += over(lineage, then.lineage) + over(history, then.history)
  }
  return came
}
