/**
 * The identity of a data directory, and its starts: kept in its log, so that a copy has both.
 *
 * What must stay true: each start has a name that no other start has, not even one of a copy, and
 * is recorded before it is published anywhere.
 *
 * Not here: how a second process on a copy is noticed (copied-data.ts).
 */
import type { Log } from '../../ports/log.ts'
import type { Random } from '../../ports/random.ts'

export interface DataStart {
  /** Of the directory and of all its copies. */
  readonly directory: string
  /** Of this start alone: its number, and a random part. */
  readonly start: string
  /**
   * Of earlier starts, the latest last: none of them runs any more, since the directory is locked.
   */
  readonly former: readonly string[]
}

const READER = 'data-start'
/**
 * A cluster that no start reached for longer than that says of an unknown one, and is waited for.
 */
const MOST_FORMER = 32

export async function recordStart(log: Log, random: Random): Promise<DataStart> {
  const known = await readStart(log)
  const directory = known?.directory ?? hex(random)
  const former = known === undefined ? [] : [...known.former, known.start].slice(-MOST_FORMER)
  const number = ((await log.loadPosition(READER, 'orders', 0))?.offset ?? 0n) + 1n
  const start = `${number}-${hex(random)}`
  const detail = JSON.stringify({ directory, start, former })
  await log.savePosition(READER, 'orders', 0, { offset: number, detail })
  return { directory, start, former }
}

/** Of the start that runs, or ran last; undefined where none ever did. */
export async function readStart(log: Log): Promise<DataStart | undefined> {
  const saved = await log.loadPosition(READER, 'orders', 0)
  return saved === undefined ? undefined : (JSON.parse(saved.detail) as DataStart)
}

function hex(random: Random): string {
  const word = (): string => Math.floor(random.next() * 2 ** 32).toString(16)
  return `${word().padStart(8, '0')}${word().padStart(8, '0')}`
}
