/**
 * How far a reader of a stream has come: `PARTITION-OFFSET` of each partition, the offset being the
 * next one to read.
 *
 * What must stay true: a reader that continues from a position that is no longer kept gets an error
 * with the earliest one that is; no reader is moved on silently.
 *
 * Not here: reading (record-stream.ts).
 */
import { COMPACTED, type Log, type Topic } from '../../ports/log.ts'
import { Problem } from '../../runtime/http/problem.ts'

export type Positions = Map<number, bigint>

export function positionText(positions: Positions): string {
  return [...positions].map(([partition, offset]) => `${partition}-${offset}`).join(',')
}

/** `start`, `end`, or positions; a partition that they do not name is read from its start. */
export async function positionsFrom(log: Log, topic: Topic, from: string): Promise<Positions> {
  const positions: Positions = new Map()
  const named = from === 'start' || from === 'end' ? new Map() : namedIn(log, topic, from)
  const expired: number[] = []
  for (let partition = 0; partition < log.partitions(topic); partition++) {
    const { start, end } = await log.bounds(topic, partition)
    const offset = named.get(partition)
    positions.set(partition, offset ?? (from === 'end' ? end : start))
    if (offset === undefined) continue
    if (offset > end) {
      throw new Problem(
        400,
        `position ${partition}-${offset} lies beyond the end of ${topic}, which is ${partition}-${end}: it is of another log, or of entries that were lost; begin again with from=start`,
      )
    }
    const earliest = await earliestOf(log, topic, partition, start)
    if (offset >= earliest) continue
    expired.push(partition)
    positions.set(partition, earliest)
  }
  if (expired.length > 0) throw gone(topic, expired, named, positions)
  return positions
}

/** Of a stream that is read on: what was there when it began is kept no longer. */
export async function trimmed(
  log: Log,
  topic: Topic,
  partition: number,
  positions: Positions,
): Promise<Problem> {
  const { start } = await log.bounds(topic, partition)
  return gone(topic, [partition], positions, new Map([...positions, [partition, start]]))
}

function gone(
  topic: Topic,
  expired: readonly number[],
  named: Positions,
  earliest: Positions,
): Problem {
  const where = expired.map((each) => `${each}-${named.get(each)}`).join(', ')
  const verb = expired.length === 1 ? 'position' : 'positions'
  const lost = COMPACTED.has(topic)
    ? 'that an object is forgotten may have been missed: begin again with from=start, and with nothing'
    : `what lies between is lost to this reader: begin again with from=start, or go on with from=${positionText(earliest)}`
  const first = expired.map((each) => `${each}-${earliest.get(each)}`).join(', ')
  return new Problem(410, `${verb} ${where} of ${topic} expired; the earliest is ${first}: ${lost}`)
}

/** A compacted topic keeps more entries than those from which a reader can continue. */
async function earliestOf(
  log: Log,
  topic: Topic,
  partition: number,
  start: bigint,
): Promise<bigint> {
  if (!COMPACTED.has(topic)) return start
  const whole = await log.wholeFrom(topic, partition)
  return whole > start ? whole : start
}

function namedIn(log: Log, topic: Topic, from: string): Positions {
  const named: Positions = new Map()
  for (const each of from.split(',')) {
    const [, partition = '', offset = ''] = /^(\d{1,9})-(\d{1,18})$/.exec(each) ?? []
    if (offset === '') throw new Problem(400, `from ${from} is none of ${FROM}`)
    if (Number(partition) >= log.partitions(topic)) {
      const partitions = log.partitions(topic)
      throw new Problem(
        400,
        `there is no partition ${partition} of ${topic}: it has ${partitions}, counted from 0`,
      )
    }
    if (named.has(Number(partition))) {
      throw new Problem(400, `from names partition ${partition} more than once`)
    }
    named.set(Number(partition), BigInt(offset))
  }
  return named
}

/** What `from` takes. */
const FROM = 'start, end, PARTITION-OFFSET,…'
