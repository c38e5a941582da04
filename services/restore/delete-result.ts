/**
 * The result of the DELETE that a record of the archive was made for, where it did not succeed: the
 * object may have lived on, changed, and been deleted later without being archived again.
 *
 * What must stay true: only results that the log holds of exactly that command and object are
 * reported. That none is reported proves nothing: results are kept as long as events are. It writes
 * nothing.
 */
import type { CommandSettled } from '../../core/model/event.ts'
import type { Uid } from '../../core/model/object.ts'
import type { Log } from '../../ports/log.ts'
import type { Codec } from '../../ports/record/codec.ts'
import { CodecError } from '../../ports/record/codec.ts'
import type { ArchivedObject } from './archive-reader.ts'

/** Events read at once. */
const PAGE = 500
/**
 * A command is void ten minutes after it was decided, and its result follows soon, unless the
 * reaper or the log is away.
 */
const RESULT_MS = 3_600_000

/** How it ended, of each of these objects whose DELETE did not go through. */
export async function failedDeletes(
  log: Log,
  codec: Codec,
  chosen: Iterable<ArchivedObject>,
  signal: AbortSignal,
): Promise<ReadonlyMap<Uid, string>> {
  const failed = new Map<Uid, string>()
  const decided = [...chosen].flatMap(decidedAt)
  for (const [partition, some] of Map.groupBy(decided, (each) => each.partition)) {
    if (partition >= log.partitions('events')) continue
    const sought = new Map(some.map(({ object }) => [object.command, object]))
    for await (const { result, at } of resultsOf(log, codec, partition, some, sought, signal)) {
      if (!isOf(result, at, sought.get(result.command))) continue
      sought.delete(result.command)
      const { outcome, reason, uid } = result
      const hasGone = outcome === 'done' || outcome === 'absent'
      if (!hasGone) failed.set(uid, reason === '' ? outcome : `${outcome}: ${reason}`)
    }
  }
  return failed
}

interface Decided {
  readonly object: ArchivedObject
  readonly partition: number
  /** Of the event that decided it: its result is appended after that. */
  readonly position: bigint
}

interface RecordedResult {
  readonly result: CommandSettled
  readonly at: number
}

/** A command's id is the position that decided it, after which its result is recorded. */
function decidedAt(object: ArchivedObject): readonly Decided[] {
  const [, partition, position] = /^(\d{1,9})-(\d{1,18})-\d+$/.exec(object.command) ?? []
  if (partition === undefined || position === undefined) return []
  return [{ object, partition: Number(partition), position: BigInt(position) }]
}

/**
 * Results of a partition, read after the position of each command for as long as that is sought.
 */
async function* resultsOf(
  log: Log,
  codec: Codec,
  partition: number,
  decided: readonly Decided[],
  sought: ReadonlyMap<string, ArchivedObject>,
  signal: AbortSignal,
): AsyncIterable<RecordedResult> {
  const { start: first, end } = await log.bounds('events', partition)
  let next = first
  for (const { object, position } of decided.toSorted(byPosition)) {
    if (position > next) next = position
    while (next < end && sought.has(object.command)) {
      const page = await log.read('events', partition, next, { limit: PAGE, waitMs: 0 }, signal)
      for (const { value, timestamp } of page.entries) {
        const result = value === null ? undefined : resultIn(codec, value)
        if (result !== undefined) yield { result, at: timestamp }
      }
      if (page.next === next) return
      next = page.next
      if ((page.entries.at(-1)?.timestamp ?? 0) > object.at + RESULT_MS) break
    }
  }
}

function byPosition(a: Decided, b: Decided): number {
  return Number(a.position - b.position)
}

/**
 * A log that was begun anew gives the ids of commands again, and a reaper that carries out a
 * command a second time archives again.
 */
function isOf(
  { cluster, uid }: CommandSettled,
  at: number,
  object: ArchivedObject | undefined,
): boolean {
  return object?.cluster === cluster && object.uid === uid && at >= object.at
}

function resultIn(codec: Codec, value: Uint8Array): CommandSettled | undefined {
  try {
    const record = codec.decode(value)
    return record.type === 'CommandSettled' ? record : undefined
  } catch (error) {
    if (error instanceof CodecError) return undefined
    throw error
  }
}
