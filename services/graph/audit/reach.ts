/**
 * How far back a partition can be folded again, and what such a fold begins with.
 *
 * What must stay true: a time that the log does not reach back to is refused, with the earliest
 * one.
 */
import type { Position } from '../../../core/model/state.ts'
import { checkFoldVersion, foldVersionOf } from '../fold/fold-version.ts'
import { snapshots } from '../fold/retention.ts'
import { loadBase, type RefoldParts } from './refold.ts'

/** It lies before anything that can still be folded. */
export class TooEarlyError extends Error {
  readonly earliestMs: number

  constructor(partition: number, earliestMs: number) {
    const text = new Date(earliestMs).toISOString()
    super(`partition ${partition} can be folded again from ${text} on: name a later time`)
    this.earliestMs = earliestMs
  }
}

/**
 * Loads the newest snapshot behind which everything from there on is still ahead; undefined for the
 * beginning of the log. Throws `TooEarlyError`, and where another version of the fold wrote the log
 * or the snapshot.
 */
export async function loadBaseBefore(
  parts: RefoldParts,
  atMs: number,
): Promise<Position | undefined> {
  checkFoldVersion(await foldVersionOf(parts.log, parts.codec))
  const isAhead = async (position: bigint): Promise<boolean> =>
    (await timeOf(parts, position)) <= atMs
  const base = await loadBase(parts, async (bases) => {
    for (const each of bases.toReversed()) if (await isAhead(each.position)) return each
    return undefined
  })
  if (base === undefined) return undefined
  if (base.position > 0n && !(await isAhead(base.position))) {
    throw new TooEarlyError(parts.partition, await timeOf(parts, base.position))
  }
  checkFoldVersion(base.foldVersion)
  return base
}

/** Of the first event from there on; where there is none yet, of the snapshot that ends there. */
async function timeOf({ log, codec, partition }: RefoldParts, position: bigint): Promise<number> {
  const page = await log.read('events', partition, position, { limit: 1, waitMs: 0 })
  const event = page.entries[0]
  if (event !== undefined) return event.timestamp
  const places = await snapshots(log, codec, partition)
  return places.find((place) => place.position === position)?.at ?? Number.MAX_SAFE_INTEGER
}
