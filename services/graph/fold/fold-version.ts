/**
 * Which version of the fold has folded a log so far, and whether this program may continue it.
 *
 * What must stay true: one version decides per log. A log that another version has folded is not
 * continued, since folding it again would have another result; it is refused with a sentence that
 * says what to do.
 *
 * Not here: how a new log is begun (generation.ts).
 */
import { POSITION_KEY } from '../../../core/graph/key.ts'
import { FOLD_VERSION } from '../../../core/model/policy.ts'
import { type Entry, type Log, LogError } from '../../../ports/log.ts'
import type { Codec } from '../../../ports/record/codec.ts'
import { CodecError } from '../../../ports/record/codec.ts'

/** `unreadable`: it is a log of ours, by schemas that this version does not have. */
export type FoundVersion = number | 'unreadable' | undefined

/**
 * Entries read first, from the end of a changelog; then twice as many. A commit ends with its
 * position.
 */
const FIRST_LOOK = 64n

/**
 * As the last commit of any partition says, or the first policy where there was none; undefined for
 * a log that is new.
 */
export async function foldVersionOf(log: Log, codec: Codec): Promise<FoundVersion> {
  for (let partition = 0; partition < log.partitions('changelog'); partition++) {
    const position = await lastPosition(log, partition)
    const found =
      position?.value == null
        ? await firstPolicy(log, codec, partition)
        : versionIn(codec, position.value)
    if (found !== undefined) return found
  }
  return undefined
}

function versionIn(codec: Codec, value: Uint8Array): FoundVersion {
  try {
    const record = codec.decode(value)
    if (record.type === 'PolicyChanged') return record.policy.foldVersion
    return record.type === 'Position' ? record.foldVersion : undefined
  } catch (error) {
    if (error instanceof CodecError) return 'unreadable'
    throw error
  }
}

/** It is one of the first orders of any log; before version 15, one of the first events. */
async function firstPolicy(log: Log, codec: Codec, partition: number): Promise<FoundVersion> {
  const { start } = await log.bounds('events', partition)
  const { entries } = await log.read('events', partition, start, { limit: 100, waitMs: 0 })
  for (const { value } of [...(await log.latest('orders', 0)), ...entries]) {
    const found = value === null ? undefined : versionIn(codec, value)
    if (typeof found === 'number') return found
  }
  return undefined
}

/** Throws `FORMAT` when this program does not continue a log of that version. */
export function checkFoldVersion(found: FoundVersion): void {
  if (found === undefined || found === FOLD_VERSION) return
  const was =
    found === 'unreadable'
      ? 'was written in a format that this one does not read'
      : `was folded by version ${found} of the rules`
  const what = `The log ${was}, and this Kinfold has version ${FOLD_VERSION}`
  const isNewer = typeof found === 'number' && found > FOLD_VERSION
  const remedy = isNewer
    ? 'run the newer Kinfold that wrote it'
    : 'begin a new log with "kinfold upgrade --data DIR", or on Kafka with another --application, or run the Kinfold that wrote it'
  throw new LogError('FORMAT', `${what}: ${remedy}`)
}

/** Undefined where nothing was committed. */
export async function lastPosition(log: Log, partition: number): Promise<Entry | undefined> {
  const { start, end } = await log.bounds('changelog', partition)
  for (let count = FIRST_LOOK; ; count *= 2n) {
    const from = end - count > start ? end - count : start
    let last: Entry | undefined
    for (let next = from; next < end; ) {
      const page = await log.read('changelog', partition, next, { limit: 1_000, waitMs: 0 })
      last = page.entries.findLast(({ key }) => key === POSITION_KEY) ?? last
      if (page.next === next) break
      next = page.next
    }
    if (last !== undefined || from === start) return last
  }
}
