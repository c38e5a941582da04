/**
 * Finds in the index of who asked for deletions those requests that may be one deletion's, and the
 * times of which not all are kept.
 *
 * What must stay true: the newest requests of each user are read, up to the same number of each, so
 * no user's requests hide another's; `isCut` says that there are more than were read.
 *
 * Not here: writing them (actor-index.ts), which of them it was (actor.ts).
 */
import type { Codec } from '../../../../ports/record/codec.ts'
import type { Actor, ActorGap } from '../../../../ports/record/service-record.ts'
import { prefixRange, type Store } from '../../../../ports/store.ts'
import { type About, gapRange, groupPrefix, requestRange, type Span } from './actor-key.ts'
import { part } from './index-key.ts'

/** Read of one user about one object, the newest; and of all users together. */
const MOST_OF_USER = 64
const MOST_USERS = 256
const MOST_FOUND = 4_096
/** Of a group whose resource is not known. */
const MOST_RESOURCES = 16
const MOST_GAPS = 100
/** A gap that begins so long before a moment may reach it (actors/audit-gap.ts). */
const LONGEST_GAP_MS = 300_000
/** Before a value: where on the log it is, so that of two equal ones the later one stays. */
const OFFSET_BYTES = 8

export interface Found<T> {
  readonly found: readonly T[]
  /** There are more. */
  readonly isCut: boolean
}

type Pages = Pick<Store, 'page'>

export function withOffset(value: Uint8Array, offset: bigint): Uint8Array {
  const placed = Buffer.alloc(OFFSET_BYTES + value.length)
  placed.writeBigUInt64BE(offset)
  placed.set(value, OFFSET_BYTES)
  return placed
}

export function offsetIn(value: Uint8Array): bigint {
  return Buffer.from(value.buffer, value.byteOffset, OFFSET_BYTES).readBigUInt64BE()
}

export async function requestsIn(
  store: Pages,
  codec: Codec,
  about: About,
  span: Span,
): Promise<Found<Actor>> {
  const prefix = groupPrefix(about)
  const { resource, uid } = about
  const resources =
    resource === undefined
      ? await partsBelow(store, prefix, MOST_RESOURCES)
      : { found: [part(resource)], isCut: false }
  const found: Actor[] = []
  let { isCut } = resources
  for (const each of resources.found) {
    const users = await partsBelow(store, `${prefix}${each}/`, MOST_USERS)
    isCut ||= users.isCut
    for (const user of users.found) {
      for (const its of uid === '' ? [''] : ['', uid]) {
        if (found.length >= MOST_FOUND) return { found, isCut: true }
        const range = requestRange(`${prefix}${each}/${user}/`, its, span, MOST_OF_USER)
        const page = await store.page(range)
        isCut ||= page.isCut
        for (const [, value] of page.rows) {
          found.push(codec.decode(value.subarray(OFFSET_BYTES)) as Actor)
        }
      }
    }
  }
  return { found, isCut }
}

export async function gapsIn(
  store: Pages,
  codec: Codec,
  { cluster, namespace }: Pick<About, 'cluster' | 'namespace'>,
  { since, until }: Span,
): Promise<Found<ActorGap>> {
  const within = { since: since - LONGEST_GAP_MS, until }
  const ranges = [
    gapRange(cluster, namespace, within, MOST_GAPS),
    gapRange(cluster, null, within, MOST_GAPS),
  ]
  // Of all times.
  const whole = await store.page(gapRange(cluster, null, { since: 0, until: 0 }, 2))
  const pages = await Promise.all(ranges.map(async (range) => await store.page(range)))
  const found = [...pages.flatMap(({ rows }) => rows), ...whole.rows].map(
    ([, value]) => codec.decode(value.subarray(OFFSET_BYTES)) as ActorGap,
  )
  return {
    found: found.filter(({ to }) => to > since),
    isCut: pages.some(({ isCut }) => isCut),
  }
}

/** The different next parts of keys below a prefix. */
async function partsBelow(store: Pages, prefix: string, most: number): Promise<Found<string>> {
  const found: string[] = []
  const range = prefixRange(prefix, 1)
  for (let { gte } = range; ; ) {
    const { rows } = await store.page({ ...range, gte })
    const [row] = rows
    if (row === undefined) return { found, isCut: false }
    if (found.length === most) return { found, isCut: true }
    const [next = ''] = row[0].slice(prefix.length).split('/', 1)
    found.push(next)
    // What follows a part is a separator, and then comes this.
    gte = `${prefix}${next}0`
  }
}
