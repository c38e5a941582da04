/**
 * Which part of the log a piece of evidence is about: of an object or a cascade all that is kept
 * about it, of a span what was appended then.
 *
 * What must stay true: nothing is guessed: a uid that two clusters have needs the cluster, and what
 * is not kept is said to be beyond reach.
 */
import type { ClusterId, Uid } from '../../../core/model/object.ts'
import { objectKey } from '../../../core/model/partition.ts'
import type { History } from '../../../core/model/record.ts'
import type { Log } from '../../../ports/log.ts'
import { type Codec, CodecError } from '../../../ports/record/codec.ts'
import { ASSIGN_PREFIX, assignKey } from '../../../ports/record/control-key.ts'
import type { Assignment } from '../../../ports/record/service-record.ts'
import { EXIT, ExitError } from '../../../runtime/lifecycle.ts'
import { committedEnd, entriesOf } from '../audit/refold.ts'
import { firstSince } from '../fold/retention.ts'
import { BeyondReachError } from './refusal.ts'
import type { About } from './statement.ts'

export interface Question {
  readonly type: About['type']
  /** Of an object, or of the root of a cascade. */
  readonly uid?: Uid
  readonly cluster?: ClusterId
  /** Append times in milliseconds: the first one, and the first one beyond. */
  readonly fromMs?: number
  readonly toMs?: number
}

/** Offsets of events; the first one, and the one beyond the last. */
export interface Asked {
  readonly about: About
  readonly partition: number
  readonly from: bigint
  readonly to: bigint
  /** From then on or nothing. Of an object what is kept is enough. */
  readonly isWhole: boolean
}

interface Parts {
  readonly log: Log
  readonly codec: Codec
}

export async function askedBy(parts: Parts, question: Question): Promise<Asked> {
  const found =
    question.type === 'span' ? await spanOf(parts, question) : await lifeOf(parts, question)
  const { log } = parts
  const { partition } = found
  const since = async (ms: number): Promise<bigint> =>
    await firstSince(log, 'events', partition, ms)
  const { fromMs, toMs } = question
  const end = await committedEnd({ ...parts, partition })
  const later = fromMs === undefined ? 0n : await since(fromMs)
  if (fromMs !== undefined) await checkReach(log, partition, later, fromMs)
  const until = toMs === undefined ? end : await since(toMs)
  const from = found.from > later ? found.from : later
  const to = [found.to ?? end, until, end].reduce((least, each) => (each < least ? each : least))
  if (to <= from) {
    throw new BeyondReachError(
      question.type === 'span'
        ? 'no event that was folded is kept from that time'
        : `nothing about the uid ${JSON.stringify(question.uid)} is kept from that time`,
    )
  }
  return { about: found.about, partition, from, to, isWhole: fromMs !== undefined }
}

/**
 * Throws where the event there is only the first one that is kept: earlier ones may have been
 * appended since `fromMs`, too.
 */
async function checkReach(
  log: Log,
  partition: number,
  from: bigint,
  fromMs: number,
): Promise<void> {
  const { start } = await log.bounds('events', partition)
  if (start === 0n || from > start) return
  const { entries } = await log.read('events', partition, from, { limit: 1, waitMs: 0 })
  const [first] = entries
  if (first !== undefined && first.timestamp <= fromMs) return
  throw tooEarly(partition, first?.timestamp)
}

export function tooEarly(partition: number, earliestMs: number | undefined): BeyondReachError {
  return new BeyondReachError(
    earliestMs === undefined
      ? `no event of partition ${partition} is kept`
      : `partition ${partition} can be folded again from ${new Date(earliestMs).toISOString()} on: name a later --from`,
  )
}

interface Found {
  readonly about: About
  readonly partition: number
  readonly from: bigint
  /** Undefined: as far as the fold has come. */
  readonly to: bigint | undefined
}

/** Where a schema registry is used, `history` has its framing, which needs that registry. */
function historyIn(codec: Codec, value: Uint8Array): History {
  try {
    return codec.decode(value) as History
  } catch (error) {
    if (!(error instanceof CodecError)) throw error
    throw new BeyondReachError(
      `the history on this log cannot be read (${error.message}): ask for a span (--from), which needs none`,
    )
  }
}

async function spanOf({ log, codec }: Parts, { cluster }: Question): Promise<Found> {
  const about: About = { type: 'span', cluster: cluster ?? null }
  const all = { about, from: 0n, to: undefined }
  const partitions = log.partitions('events')
  if (cluster === undefined && partitions === 1) return { ...all, partition: 0 }
  const assigned = (await log.latest('control', 0)).filter(({ key }) =>
    key.startsWith(ASSIGN_PREFIX),
  )
  const one = assigned.find(({ key }) => cluster !== undefined && key === assignKey(cluster))
  if (one?.value != null) {
    return { ...all, partition: (codec.decode(one.value) as Assignment).partition }
  }
  const known = assigned.map(({ key }) => key.slice(ASSIGN_PREFIX.length)).sort()
  throw new ExitError(
    EXIT.input,
    cluster === undefined
      ? `the log has ${partitions} partitions: name a --cluster by its id, one of ${known.join(', ')}`
      : `the log has no cluster ${cluster}: name one by its id, one of ${known.join(', ')}`,
  )
}

/** By its history: an entry for each change, in the partition of its key, that names the event. */
async function lifeOf(
  { log, codec }: Parts,
  { type, uid = '', cluster }: Question,
): Promise<Found> {
  const lives = new Map<ClusterId, { partition: number; first: bigint; last: bigint }>()
  for (let partition = 0; partition < log.partitions('history'); partition++) {
    for await (const { key, value } of entriesOf(log, 'history', partition)) {
      if (value === null || !key.endsWith(objectKey('', uid))) continue
      const entry = historyIn(codec, value)
      if (entry.uid !== uid || (cluster !== undefined && entry.cluster !== cluster)) continue
      const first = lives.get(entry.cluster)?.first ?? entry.position
      lives.set(entry.cluster, { partition: entry.partition, first, last: entry.position })
    }
  }
  const [life, other] = lives
  if (life === undefined) {
    throw new BeyondReachError(`nothing about the uid ${JSON.stringify(uid)} is kept on this log`)
  }
  if (other !== undefined) {
    throw new ExitError(
      EXIT.input,
      `${lives.size} clusters have an object with that uid: name a --cluster, one of ${[...lives.keys()].join(', ')}`,
    )
  }
  const [id, { partition, first, last }] = life
  const isObject = type === 'object'
  return {
    about: { type: isObject ? 'object' : 'cascade', cluster: id, uid },
    partition,
    from: first,
    // A cascade continues after the last change of its root.
    to: isObject ? last + 1n : undefined,
  }
}
