/**
 * Histories of objects as they were known at a moment: the index, without what was recorded later.
 *
 * What must stay true: an entry is of the moment where its event is before it. Entries of one
 * object are in the order of events, so where they end is found by halving.
 */
import { type Identity, identityKey } from '../../../../core/graph/identity.ts'
import type { History, HistoryChange } from '../../../../core/model/record.ts'
import { HISTORY_LIMIT, type HistoryIndex } from './history-index.ts'
import { holds, type Moment } from './moment.ts'

/** What answers read of histories. */
export type Histories = Pick<HistoryIndex, 'history' | 'newest' | 'entries'>

/** `isTime`: what is asked is the time, and the position is of no event of it. */
type Asked = Moment & { readonly isTime?: boolean }

/** Null: as of now. */
export function historiesAt(index: Histories, asked: Asked | null): Histories {
  if (asked === null) return index
  return new HistoriesThen(index, asked.isTime === true ? { type: 'time', at: asked.at } : asked)
}

class HistoriesThen implements Histories {
  readonly #index: Histories
  readonly #moment: Moment
  /** Of each object, after the last entry that was recorded by then. */
  readonly #ends = new Map<string, Promise<bigint>>()

  constructor(index: Histories, moment: Moment) {
    this.#index = index
    this.#moment = moment
  }

  async history(of: Identity): ReturnType<Histories['history']> {
    const { entries, isCut } = await this.newest(of, HISTORY_LIMIT)
    return { entries: entries.map(([, entry]) => entry), isCut }
  }

  async newest(of: Identity, limit: number, before?: bigint): ReturnType<Histories['newest']> {
    const end = await this.#endOf(of)
    return await this.#index.newest(of, limit, before === undefined || before > end ? end : before)
  }

  async entries(of: Identity, from: bigint, limit: number): ReturnType<Histories['entries']> {
    const end = await this.#endOf(of)
    return (await this.#index.entries(of, from, limit)).filter(([offset]) => offset < end)
  }

  async #endOf(of: Identity): Promise<bigint> {
    const key = identityKey(of)
    const known = this.#ends.get(key) ?? this.#found(of)
    this.#ends.set(key, known)
    return await known
  }

  async #found(of: Identity): Promise<bigint> {
    const [last] = (await this.#index.newest(of, 1)).entries
    if (last === undefined) return 0n
    if (this.#wasThen(last[1])) return last[0] + 1n
    // Below `low` all were recorded by then, from `high` on none.
    let [low, high] = [0n, last[0]]
    while (low < high) {
      const middle = (low + high) / 2n
      const [next] = await this.#index.entries(of, middle, 1)
      if (next !== undefined && this.#wasThen(next[1])) low = next[0] + 1n
      else high = middle
    }
    return low
  }

  #wasThen({ position, at }: History): boolean {
    return holds(this.#moment, Number(position), at)
  }
}

/** Entries of one object that may follow what says whether it is there. */
const MOST_BEHIND = 50
const OF_REQUESTS: ReadonlySet<HistoryChange> = new Set(['command', 'result', 'owner'])

/** The last entry that says whether an object exists: `gone`, or any other of its state. */
export async function lastStateOf(
  histories: Pick<Histories, 'newest'>,
  of: Identity,
): Promise<History | undefined> {
  const { entries } = await histories.newest(of, MOST_BEHIND)
  return entries.findLast(([, { change }]) => !OF_REQUESTS.has(change))?.[1]
}
