/**
 * A partition's events folded again from the log, offline: where it can begin, what each entry
 * says, and what came of it then.
 *
 * What must stay true: it makes no call to any cluster and writes to nothing but the store it was
 * given.
 *
 * Not here: what is compared (audit.ts, replay.ts).
 */
import type { StateReader } from '../../../core/graph/graph.ts'
import { POSITION_KEY } from '../../../core/graph/key.ts'
import type { Event } from '../../../core/model/event.ts'
import type { Position } from '../../../core/model/state.ts'
import type { Entry, Log, Topic } from '../../../ports/log.ts'
import type { Codec } from '../../../ports/record/codec.ts'
import { CodecError } from '../../../ports/record/codec.ts'
import type { Digest, OrderGiven, Snapshot } from '../../../ports/record/service-record.ts'
import type { Store, StoreChange } from '../../../ports/store.ts'
import { lastPosition } from '../fold/fold-version.ts'
import { NO_ORDER, orderOf, readEvent } from '../fold/order.ts'
import { CHUNKS_PER_READ, type SnapshotPlace, snapshots } from '../fold/retention.ts'

export interface RefoldParts {
  readonly log: Log
  readonly codec: Codec
  /** An empty one, to fold into. */
  readonly store: Store
  readonly partition: number
}

/** Where orders are looked up. */
export type OrderSource = Pick<Log, 'bounds' | 'read'>

export const READ_LIMIT = 1_000
/** Their records have up to 512 KiB. */
const PIECES: ReadonlySet<Topic> = new Set(['snapshots', 'archive'])

/**
 * Loads what the fold begins with: nothing where the events are kept from the first one on, else a
 * snapshot that has all events behind it. `choose`: which of those, oldest first; else the oldest
 * one. Answers the position, or undefined for the beginning of the log.
 */
export async function loadBase(
  parts: RefoldParts,
  choose?: (bases: readonly SnapshotPlace[]) => Promise<SnapshotPlace | undefined>,
): Promise<Position | undefined> {
  const { log, codec, store, partition } = parts
  const { start } = await log.bounds('events', partition)
  const usable = (await snapshots(log, codec, partition)).filter(
    ({ position }) => position >= start,
  )
  const isWhole = start === 0n
  const oldest = isWhole ? undefined : usable[0]
  const base = choose === undefined ? oldest : ((await choose(usable)) ?? oldest)
  if (base === undefined) {
    if (isWhole) return undefined
    throw new Error(
      `partition ${partition}: the events before ${start} are removed and no snapshot is left to begin from`,
    )
  }
  let position: Position | undefined
  for await (const entry of entriesOf(log, 'snapshots', partition, base.offset)) {
    if (entry.value === null) continue
    const { keys, values, last, position: at } = codec.decode(entry.value) as Snapshot
    if (at !== base.position) continue
    const changes = keys.map((key, index): StoreChange => [key, values[index] ?? null])
    await store.write(changes, { changelog: 0n, position: base.position })
    const index = keys.indexOf(POSITION_KEY)
    if (index >= 0) position = codec.decode(values[index] ?? new Uint8Array()) as Position
    if (last) break
  }
  return position
}

interface Obedient {
  readonly position: Pick<Position, 'partition' | 'inForce'>
  /** Before the entry. */
  readonly graph: StateReader
  obey(inForce: readonly string[]): void
}

interface OrderParts {
  readonly log: OrderSource
  readonly codec: Codec
}

/**
 * What an entry says to the fold, the orders that are in force noted: at once, but for an order.
 */
export function eventOf(parts: OrderParts, batch: Obedient, entry: Entry): Event | Promise<Event> {
  try {
    const read = readEvent(parts.codec, entry, batch.graph)
    if (read.type === 'OrderGiven') return orderIn(parts, batch, entry, read)
    return read.type === 'Refused' ? NO_ORDER : read
  } catch (error) {
    return unreadable(entry, error)
  }
}

async function orderIn(
  { log, codec }: OrderParts,
  batch: Obedient,
  entry: Entry,
  given: OrderGiven,
): Promise<Event> {
  try {
    const found = await orderOf(log, codec, given, batch.position)
    if (found.type === 'Refused') return NO_ORDER
    batch.obey(found.inForce)
    return found.order
  } catch (error) {
    return unreadable(entry, error)
  }
}

function unreadable({ key }: Entry, error: unknown): Event {
  if (!(error instanceof CodecError)) throw error
  return { type: 'Unreadable', home: key, reason: error.message }
}

type ReadParts = Omit<RefoldParts, 'store'>

/** How far the fold has come: what it has not folded, nothing has followed from. */
export async function committedEnd(parts: ReadParts): Promise<bigint> {
  return (await committed(parts))?.position ?? 0n
}

async function committed({ log, codec, partition }: ReadParts): Promise<Position | undefined> {
  const last = await lastPosition(log, partition)
  return last?.value == null ? undefined : (codec.decode(last.value) as Position)
}

/** The digests that were written, in order; the newest is the position of the last commit. */
export async function writtenDigests(parts: ReadParts): Promise<(Digest | Position)[]> {
  const { log, codec, partition } = parts
  const written: (Digest | Position)[] = []
  for await (const { value } of entriesOf(log, 'digests', partition)) {
    if (value !== null) written.push(codec.decode(value) as Digest)
  }
  const last = await committed(parts)
  if (last !== undefined) written.push(last)
  return written.filter(({ position }, index) => position !== written[index + 1]?.position)
}

/** Commands of this partition's fold, by id; they lie in the partitions of their targets. */
export async function issuedFrom(
  { log, codec, partition }: RefoldParts,
  from: bigint,
): Promise<Map<string, Buffer>> {
  const issued = new Map<string, Buffer>()
  for (let of = 0; of < log.partitions('commands'); of++) {
    for await (const entry of entriesOf(log, 'commands', of)) {
      if (entry.value === null) continue
      const command = codec.decode(entry.value) as { id?: string }
      const id = command.id ?? ''
      if (!id.startsWith(`${partition}-`) || offsetOf(id) < from) continue
      if (issued.has(id) && !issued.get(id)?.equals(entry.value)) {
        throw new Error(`command ${id} is on the log twice, and not the same`)
      }
      issued.set(id, Buffer.from(entry.value))
    }
  }
  return issued
}

export async function* entriesOf(
  log: Log,
  topic: Topic,
  partition: number,
  from?: bigint,
): AsyncIterable<Entry> {
  const { start, end } = await log.bounds(topic, partition)
  for (let next = from ?? start; next < end; ) {
    const limit = PIECES.has(topic) ? CHUNKS_PER_READ : READ_LIMIT
    const page = await log.read(topic, partition, next, { limit, waitMs: 0 })
    yield* page.entries
    if (page.next === next) return
    next = page.next
  }
}

/** A command's id is partition, position and index. */
export function offsetOf(id: string): bigint {
  return BigInt(id.split('-')[1] ?? '0')
}
