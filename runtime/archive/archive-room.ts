/**
 * How much of the disk the archive may use, and how much of that a namespace: users who create and
 * delete objects decide how many bytes are archived of them.
 *
 * What must stay true: the archive alone never brings the disk down to where nothing is deleted any
 * more; a namespace that has its share is not archived any more, and all others are; each refusal
 * is noted with the namespace. Bytes are counted before they are written, and by when they were,
 * since they are removed by age. After a start they are read from the log; until that is done too
 * little is counted, and the disk alone limits.
 *
 * Not here: measuring the disk (cli/process/disk-space.ts), what follows from a refusal: what a
 * user deletes is not archived (services/watcher/publish/deletion-archive.ts), what Kinfold would
 * delete stays (services/reaper/archive.ts). Logs on brokers: their disks are not measured.
 */
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import { type Codec, CodecError } from '../../ports/record/codec.ts'
import { type Check, warned } from '../health.ts'
import type { Cuts } from '../shares/cuts.ts'
import { LastingShares } from '../shares/lasting-shares.ts'

export interface ArchiveDisk {
  /** That the archive may have in all. */
  readonly mostBytes: number
  /** Free for it beside what others need. */
  readonly leftBytes: number
}

export interface ArchiveRoomParts {
  readonly disk: () => ArchiveDisk
  /** How long records stay. */
  readonly keepMs: number
  readonly clock: Pick<Clock, 'now'>
  readonly cuts: Cuts
}

export interface Place {
  readonly cluster: string
  /** Empty for cluster-scoped objects: these share one share. */
  readonly namespace: string
}

/** What a place was given: to be given back where it was not written after all. */
export interface Taken {
  readonly key: string
  readonly slot: number
  readonly bytes: number
}

export const ARCHIVE_CAP = 'archive bytes'
/** Room for an object of the largest size, and for many of the usual one. */
const LEAST_FLOOR = 2 * 1024 * 1024
/** Of all that there may be. */
const FLOOR = 1 / 1024
/** Of `keepMs`: bytes are forgotten in steps of it. */
const SLOTS = 32
/** Of a record beside its content: names, owner references, checksums. */
const ENVELOPE_BYTES = 1_024
/** Pieces have up to 512 KiB. */
const PAGE = 32
/** A refusal is said for so long after the last one. */
const SAID_FOR_MS = 3_600_000
const MOST_SAID = 100
const SHOWN = 5

interface Refused {
  readonly place: Place
  count: number
  readonly since: number
  last: number
}

export class ArchiveRoom {
  readonly #parts: ArchiveRoomParts
  readonly #shares = new LastingShares()
  /** By slot of time, of each key. */
  readonly #slots = new Map<number, Map<string, number>>()
  readonly #refused = new Map<string, Refused>()

  constructor(parts: ArchiveRoomParts) {
    this.#parts = parts
  }

  get takenBytes(): number {
    return this.#shares.taken
  }

  ofBytes(place: Place): number {
    return this.#shares.of(this.#shares.keyOf(nameOf(place)))
  }

  /** Whether not even a small object would be taken. Notes nothing. */
  isFull(place: Place): boolean {
    this.#forget()
    return !this.#shares.may(this.#keyOf(place), ENVELOPE_BYTES, this.#amounts())
  }

  /** Undefined: it has its share, or there is no room for anybody; noted. */
  take(place: Place, contentBytes: number): Taken | undefined {
    this.#forget()
    const bytes = contentBytes + ENVELOPE_BYTES
    const key = this.#keyOf(place)
    if (!this.#shares.may(key, bytes, this.#amounts())) {
      this.refuse(place)
      return undefined
    }
    const taken = { key, bytes, slot: this.#slotOf(this.#parts.clock.now()) }
    this.#add(taken)
    return taken
  }

  giveBack({ key, slot, bytes }: Taken): void {
    const counted = this.#slots.get(slot)
    const held = counted?.get(key)
    // Forgotten by age meanwhile.
    if (counted === undefined || held === undefined) return
    counted.set(key, Math.max(0, held - bytes))
    this.#shares.remove(key, Math.min(held, bytes))
  }

  refuse(place: Place): void {
    const name = nameOf(place)
    this.#parts.cuts.note(ARCHIVE_CAP, name)
    const now = this.#parts.clock.now()
    const known = this.#refused.get(name)
    // The one that was refused last is said last, and the first one is forgotten.
    this.#refused.delete(name)
    this.#refused.set(name, {
      ...{ place, since: known?.since ?? now, last: now, count: (known?.count ?? 0) + 1 },
    })
    const [oldest] = this.#refused.keys()
    if (this.#refused.size > MOST_SAID && oldest !== undefined) this.#refused.delete(oldest)
  }

  /** None while everything is archived. */
  checks(clusterName: (id: string) => string): Check[] {
    const now = this.#parts.clock.now()
    for (const [name, { last }] of this.#refused) {
      if (now - last > SAID_FOR_MS) this.#refused.delete(name)
    }
    const refused = [...this.#refused.values()].reverse()
    if (refused.length === 0) return []
    const shown = refused.slice(0, SHOWN).map(({ place, count, since }) => {
      const whose = `${clusterName(place.cluster)}/${place.namespace || 'cluster-scoped objects'}`
      return `${whose} (${count} since ${new Date(since).toISOString()})`
    })
    const more = refused.length > SHOWN ? ` and ${refused.length - SHOWN} more` : ''
    const reason = `not archived, having its share of the disk: ${shown.join(', ')}${more}; what others delete there is not archived, and what Kinfold would delete there stays, until older records are removed or archive.maxSize is raised`
    return [warned('archive', reason)]
  }

  /** What is on the log, counted once, at a start. */
  async restore(log: Log, codec: Codec, signal: AbortSignal): Promise<void> {
    const ends: bigint[] = []
    const partitions = log.partitions('archive')
    for (let of = 0; of < partitions; of++) ends.push((await log.bounds('archive', of)).end)
    for (const [partition, end] of ends.entries()) {
      let { start: next } = await log.bounds('archive', partition)
      while (next < end && !signal.aborted) {
        const page = await log.read('archive', partition, next, { limit: PAGE, waitMs: 0 }, signal)
        for (const { offset, timestamp, value } of page.entries) {
          if (offset >= end || value === null) continue
          const place = placeIn(codec, value)
          const key = place === undefined ? '' : this.#keyOf(place)
          this.#add({ key, slot: this.#slotOf(timestamp), bytes: value.byteLength })
        }
        if (page.next === next) break
        next = page.next
      }
    }
    this.#forget()
  }

  #keyOf(place: Place): string {
    return this.#shares.keyOf(nameOf(place))
  }

  #amounts(): { left: number; floor: number } {
    const { mostBytes, leftBytes } = this.#parts.disk()
    const left = Math.max(0, Math.min(mostBytes - this.#shares.taken, leftBytes))
    return { left, floor: Math.max(LEAST_FLOOR, (this.#shares.taken + left) * FLOOR) }
  }

  #slotOf(at: number): number {
    return Math.floor((at * SLOTS) / Math.max(this.#parts.keepMs, SLOTS))
  }

  #add({ key, slot, bytes }: Taken): void {
    this.#shares.add(key, bytes)
    const counted = this.#slots.get(slot) ?? new Map<string, number>()
    counted.set(key, (counted.get(key) ?? 0) + bytes)
    this.#slots.set(slot, counted)
  }

  /** The graph has removed these records, or does so soon. */
  #forget(): void {
    const kept = this.#slotOf(this.#parts.clock.now()) - SLOTS
    for (const [slot, counted] of this.#slots) {
      if (slot >= kept) continue
      for (const [key, bytes] of counted) this.#shares.remove(key, bytes)
      this.#slots.delete(slot)
    }
  }
}

function nameOf({ cluster, namespace }: Place): string {
  return `${cluster}/${namespace}`
}

function placeIn(codec: Codec, value: Uint8Array): Place | undefined {
  try {
    const record = codec.decode(value)
    return record.type === 'Archived' || record.type === 'ArchiveGap' ? record : undefined
  } catch (error) {
    if (error instanceof CodecError) return undefined
    throw error
  }
}
