/**
 * Pages of one partition of `lineage`, for the two that follow it: names, and histories of that
 * partition.
 *
 * What must stay true: it is the page of the log, or an error of the log. Both are mostly at one
 * position, and then the page is read once.
 */
import type { Log, Page } from '../../../../../ports/log.ts'
import { isOutdated } from './rounds.ts'

/** Entries read at once, of `history`, too. */
export const PAGE_LIMIT = 500

export class LineagePages {
  readonly #log: Log
  readonly #partition: number
  #last: { readonly from: bigint; readonly page: Page } | undefined

  constructor(log: Log, partition: number) {
    this.#log = log
    this.#partition = partition
  }

  async from(position: bigint): Promise<Page> {
    if (this.#last?.from === position) return this.#last.page
    const page = await this.#read(position)
    this.#last = { from: position, page }
    return page
  }

  async #read(position: bigint): Promise<Page> {
    const options = { limit: PAGE_LIMIT, waitMs: 0 }
    try {
      return await this.#log.read('lineage', this.#partition, position, options)
    } catch (error) {
      if (!isOutdated(error)) throw error
      const { start } = await this.#log.bounds('lineage', this.#partition)
      // What is beyond the end is lost; what was before the start is replaced by later records.
      if (position >= start) throw error
      return await this.#log.read('lineage', this.#partition, start, options)
    }
  }
}
