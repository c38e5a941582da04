/**
 * Orders: directives of users, and the policy. Each is in `orders`, which only the graph may write;
 * an `OrderGiven` among the events of a partition says from which position on it takes effect
 * there.
 *
 * What must stay true: a producer that may write to `events`, and not to `orders`, gives no order
 * (watchers, reapers): an order in `events` itself changes nothing, nor does one that `orders` does
 * not hold as the event says, nor one that took effect before. Folding again later has the same
 * result: an order is never removed, and no later one can match an earlier event.
 *
 * Not here: who may give it (orders/directive-http.ts), its effect (core/admit).
 */
import { createHash } from 'node:crypto'
import type { StateReader } from '../../../core/graph/graph.ts'
import type { Directive, Event, PolicyChanged } from '../../../core/model/event.ts'
import { EMPTY_SET } from '../../../core/model/hash.ts'
import type { Position } from '../../../core/model/state.ts'
import type { Entry, Log } from '../../../ports/log.ts'
import { type Codec, CodecError } from '../../../ports/record/codec.ts'
import { ORDER_PREFIX } from '../../../ports/record/control-key.ts'
import { isEvent } from '../../../ports/record/event-type.ts'
import type { OrderGiven } from '../../../ports/record/service-record.ts'
import { wholeOf, wholeResult } from './bytes/edited-object.ts'
import { checkFoldVersion } from './fold-version.ts'

export type Order = Directive | PolicyChanged

/** An order that takes effect, and all that are in effect with it. */
export interface Found {
  readonly type: 'Found'
  readonly order: Order
  readonly inForce: readonly string[]
}

/** A record that is no order, from any producer. */
export interface Refused {
  readonly type: 'Refused'
  readonly why: string
  /** It may be there in a moment: brokers may show an older end after an election. */
  readonly isLater: boolean
}

/** Returns the offsets of the events that make it take effect, in the order of `partitions`. */
export async function giveOrder(
  log: Pick<Log, 'append' | 'bounds'>,
  codec: Codec,
  order: Order,
  partitions: readonly number[],
): Promise<readonly bigint[]> {
  const value = codec.encode(order)
  const digest = digestOf(value)
  // Keys that are never given again: nothing that is compacted away may be an order.
  const { end } = await log.bounds('orders', 0)
  const key = `${ORDER_PREFIX}${partitions.join('+')}/${end}/${digest.slice(0, 16)}`
  const offset = await log.append('orders', 0, [{ key, value }])
  const given = codec.encode({ type: 'OrderGiven', offset, digest })
  const about = order.type === 'PolicyChanged' ? 'policy' : order.cluster || 'directive'
  return await Promise.all(
    partitions.map((partition) => log.append('events', partition, [{ key: about, value: given }])),
  )
}

/**
 * A record that may be in `events`, with the state before it; anything else there is as unreadable
 * as garbage. Throws `CodecError`.
 */
export function readEvent(
  codec: Codec,
  entry: Entry,
  state: StateReader,
): Event | OrderGiven | Refused {
  if (entry.value === null) throw new CodecError('CORRUPT', 'an event without a value')
  const record = codec.decode(entry.value)
  if (record.type === 'ObjectEdited') return wholeOf(state, record)
  if (record.type === 'CommandSettled') return wholeResult(state, record)
  if (record.type === 'OrderGiven') return record
  if (!isEvent(record)) throw new CodecError('CORRUPT', `a ${record.type} is no event`)
  return isOrder(record) ? refused(`a ${record.type} counts in orders only`) : record
}

function isFor(key: string, partition: number): boolean {
  const [partitions = ''] = key.slice(ORDER_PREFIX.length).split('/')
  return key.startsWith(ORDER_PREFIX) && partitions.split('+').includes(String(partition))
}

/**
 * The order that an event of a partition is about, as `orders` has it. `inForce`: the last ones
 * there; of these, an order that `orders` lost since (F39) is no longer in effect, and its offset
 * may be that of another one. Throws `FORMAT` for an order that another version of the fold has to
 * decide, and the errors of the log.
 */
export async function orderOf(
  log: Pick<Log, 'bounds' | 'read'>,
  codec: Codec,
  { offset, digest }: OrderGiven,
  { partition, inForce }: Pick<Position, 'partition' | 'inForce'>,
): Promise<Found | Refused> {
  const { start, end } = await log.bounds('orders', 0)
  if (offset >= end) return { ...refused('orders ends before that order'), isLater: true }
  if (offset < start) return refused(NO_SUCH)
  const { entries } = await log.read('orders', 0, offset, { limit: 1, waitMs: 0 })
  const [entry] = entries
  // A leader that has just begun may show it a moment later.
  if (entry === undefined) return { ...refused(NO_SUCH), isLater: true }
  if (entry.offset !== offset || entry.value === null || digestOf(entry.value) !== digest)
    return refused(NO_SUCH)
  if (!isFor(entry.key, partition)) return refused('that order was given to other partitions')
  const record = codec.decode(entry.value)
  if (!isEvent(record) || !isOrder(record)) return refused(`a ${record.type} is no order`)
  if (record.type === 'PolicyChanged') checkFoldVersion(record.policy.foldVersion)
  const left = mayComeIntoForce(inForce, offset) ? inForce : await held(log, inForce, end)
  if (!mayComeIntoForce(left, offset)) return refused('that order was in force before')
  return { type: 'Found', order: record, inForce: withOrder(left, { offset, digest }) }
}

/**
 * Of these, by offset, the orders that `orders` still has: after it lost its end, offsets are
 * assigned again. It has all orders below one that it has.
 */
async function held(
  log: Pick<Log, 'read'>,
  inForce: readonly string[],
  end: bigint,
): Promise<readonly string[]> {
  for (const [index, mark] of [...inForce.entries()].reverse()) {
    const offset = offsetOf(mark)
    if (offset >= end) continue
    const { entries } = await log.read('orders', 0, offset, { limit: 1, waitMs: 0 })
    const [entry] = entries
    // If it is missing here, nothing contradicts it.
    const isTold = entry?.offset === offset && entry.value !== null
    const isSame = !isTold || markOf({ offset, digest: digestOf(entry.value) }) === mark
    if (isSame) return inForce.slice(0, index + 1)
  }
  return []
}

const NO_SUCH = 'orders has no such order at that offset'
/**
 * Orders that several processes give at the same time may take effect in another sequence than they
 * were recorded in; never so many.
 */
const KEPT_ORDERS = 32
/** Of a digest: two orders at one offset differ. */
const MARKED_DIGITS = 16

function mayComeIntoForce(inForce: readonly string[], offset: bigint): boolean {
  const offsets = inForce.map(offsetOf)
  const [oldest = offset] = inForce.length < KEPT_ORDERS ? [] : offsets
  return offset >= oldest && !offsets.includes(offset)
}

function withOrder(inForce: readonly string[], given: Marked): readonly string[] {
  const marks = [...inForce, markOf(given)]
  return marks.toSorted((a, b) => Number(offsetOf(a) - offsetOf(b))).slice(-KEPT_ORDERS)
}

type Marked = Pick<OrderGiven, 'offset' | 'digest'>

/** As `Position` has it. */
function markOf({ offset, digest }: Marked): string {
  return `${offset}/${digest.slice(0, MARKED_DIGITS)}`
}

function offsetOf(mark: string): bigint {
  return BigInt(mark.slice(0, mark.indexOf('/')))
}

export function isOrder(event: { readonly type: string }): event is Order {
  return event.type === 'Directive' || event.type === 'PolicyChanged'
}

function refused(why: string): Refused {
  return { type: 'Refused', why, isLater: false }
}

/** An unknown verb: it replaces a refused order, and changes nothing. */
export const NO_ORDER: Directive = {
  ...{ type: 'Directive', verb: '', cluster: '', subject: '', digest: null },
  ...{ listed: EMPTY_SET, who: '', isProven: false, why: '' },
}

function digestOf(value: Uint8Array): string {
  return createHash('sha256').update(value).digest('hex')
}
