/**
 * How much is free where the data directory is, whether that is too little to delete by, and how
 * much of it the archive may use.
 *
 * What must stay true: deleting stops before recording does: below the reserve nothing is deleted,
 * while the log still takes what is observed. It begins again by itself, and only with a quarter
 * more than the reserve free, so that it does not come and go with every record. The archive alone
 * never gets there: it may take what is free beyond twice the reserve, and never more than its part
 * of the file system.
 *
 * Not here: who asks (services/reaper/decide/gate.ts), which namespace has how much of the
 * archive's part (runtime/archive/archive-room.ts).
 */
import { statfsSync } from 'node:fs'
import type { Clock } from '../../ports/clock.ts'
import type { ArchiveDisk } from '../../runtime/archive/archive-room.ts'
import { type Check, warned } from '../../runtime/health.ts'
import type { Logger } from '../../runtime/logger.ts'

const MIB = 1024 ** 2
/**
 * Room for some hours of recording, for the write-ahead log and for a backup that an operator makes
 * before freeing space.
 */
const LEAST_BYTES = 512 * MIB
/** Of the log: a snapshot writes the whole graph once more. */
const SHARE_OF_LOG = 0.1
/** Of the file system: on a small one the rest must be of use. */
const SHARE_OF_ALL = 0.25
const ENOUGH = 1.25
/**
 * Times the reserve: with less free nothing is archived, since users decide how many bytes that is.
 */
const RESERVES_BESIDE_ARCHIVE = 2
/** Of the file system, unless the settings say so. */
const ARCHIVE_PART = 0.25
const LOOK_EVERY_MS = 5_000
/** The same words each time, so that they are logged once. */
const LOW = 'disk: too little is free to record what is deleted'

export interface Space {
  readonly freeBytes: number
  readonly allBytes: number
}

export interface DiskParts {
  readonly directory: string
  /** As the settings have it; undefined: by the size of the log and of the file system. */
  readonly reserveBytes: number | undefined
  /** What the archive may have; undefined: a part of the file system. */
  readonly archiveBytes: number | undefined
  readonly logBytes: () => number
  readonly clock: Pick<Clock, 'sleep'>
  readonly logger: Logger
  readonly measure?: (directory: string) => Space
}

export class DiskSpace {
  readonly #parts: DiskParts
  #space: Space
  #isLow = false

  constructor(parts: DiskParts) {
    this.#parts = parts
    this.#space = this.#measured()
    this.look()
  }

  /** Until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#parts.clock.sleep(LOOK_EVERY_MS, signal)
      if (!signal.aborted) this.look()
    }
  }

  look(): void {
    this.#space = this.#measured()
    const { freeBytes } = this.#space
    const reserve = this.reserveBytes
    const isLow = this.#isLow ? freeBytes < reserve * ENOUGH : freeBytes < reserve
    if (isLow === this.#isLow) return
    this.#isLow = isLow
    const { directory, logger } = this.#parts
    const fields = { directory, free_bytes: freeBytes, reserve_bytes: reserve }
    if (isLow) logger.log('warn', 'the disk is low, so nothing is deleted', fields)
    else logger.log('info', 'the disk has room again', fields)
  }

  /** Why nothing may be deleted now; empty while there is room. */
  lacking(): string {
    return this.#isLow ? LOW : ''
  }

  get isLow(): boolean {
    return this.#isLow
  }

  get archive(): ArchiveDisk {
    const { freeBytes, allBytes } = this.#space
    return {
      mostBytes: this.#parts.archiveBytes ?? allBytes * ARCHIVE_PART,
      leftBytes: Math.max(0, freeBytes - this.reserveBytes * RESERVES_BESIDE_ARCHIVE),
    }
  }

  get reserveBytes(): number {
    const { reserveBytes, logBytes } = this.#parts
    if (reserveBytes !== undefined) return reserveBytes
    const wanted = Math.max(LEAST_BYTES, logBytes() * SHARE_OF_LOG)
    return Math.min(wanted, this.#space.allBytes * SHARE_OF_ALL)
  }

  /** None while there is room. */
  checks(): Check[] {
    if (!this.#isLow) return []
    const { directory } = this.#parts
    const enough = mib(this.reserveBytes * ENOUGH)
    const reason = `${mib(this.#space.freeBytes)} are free at ${directory}, so nothing is deleted until ${enough} are; what is observed is still recorded`
    return [warned('disk', reason)]
  }

  #measured(): Space {
    const { directory, measure = spaceOf } = this.#parts
    return measure(directory)
  }
}

export function spaceOf(directory: string): Space {
  const { bavail, blocks, bsize } = statfsSync(directory)
  return { freeBytes: bavail * bsize, allBytes: blocks * bsize }
}

function mib(bytes: number): string {
  return `${Math.round(bytes / MIB)} MiB`
}
