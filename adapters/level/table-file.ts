/**
 * Checks the checksums inside LevelDB's table files, which LevelDB under Node never checks.
 *
 * A flipped bit in a value is found by the value's own CRC. One in a key, an order number or a
 * filter makes an entry vanish without a trace, and one in a length or an index ends the process
 * (an assertion, or more memory than there is), again after every restart. So all tables are read
 * before LevelDB opens them: 2 MiB take 2 to 3 ms.
 *
 * What must stay true: tables are never compressed (the store opens LevelDB so), or index blocks
 * could not be read here. This file never opens the LOCK file: closing it would give up the lock.
 *
 * Not here: the write-ahead log (batch-number.ts), CURRENT and MANIFEST (LevelDB checks those
 * itself).
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32c } from '../../ports/crc32c.ts'
import { StoreError } from '../../ports/store.ts'

const FOOTER_BYTES = 48
/** Compression type and masked CRC after each block. */
const TRAILER_BYTES = 5
const MAGIC = 0xdb4775248b80fb57n
const TABLE_NAME = /^\d+\.(ldb|sst)$/

/**
 * Throws `DAMAGED` unless every block of every finished table in the directory has its checksum.
 */
export async function checkTables(directory: string, signal?: AbortSignal): Promise<void> {
  for (const name of await readdir(directory)) {
    signal?.throwIfAborted()
    if (!TABLE_NAME.test(name)) continue
    const path = join(directory, name)
    const bytes = await readIfThere(path)
    if (bytes !== undefined) checkTable(path, bytes)
  }
}

function checkTable(path: string, bytes: Buffer): void {
  const footer = bytes.length - FOOTER_BYTES
  // The magic number is written last: without it the table is unfinished, unreferenced, or LevelDB
  // itself will refuse it.
  if (footer < 0 || bytes.readBigUInt64LE(bytes.length - 8) !== MAGIC) return
  const [metaIndex, end] = handleAt(bytes, footer)
  const [index] = handleAt(bytes, end)
  for (const top of [metaIndex, index]) {
    for (const handle of handlesIn(checkedBlock(path, bytes, top))) {
      checkedBlock(path, bytes, handle)
    }
  }
}

interface BlockHandle {
  readonly offset: number
  readonly size: number
}

function checkedBlock(path: string, bytes: Buffer, { offset, size }: BlockHandle): Buffer {
  const end = offset + size
  if (
    end + TRAILER_BYTES > bytes.length ||
    crc32c(bytes.subarray(offset, end + 1)) !== unmasked(bytes.readUInt32LE(end + 1))
  ) {
    throw new StoreError(
      'DAMAGED',
      `the table ${path} fails its checksum at byte ${offset}; wipe the store and replay the changelog`,
    )
  }
  return bytes.subarray(offset, end)
}

/**
 * An index block: entries of (shared, rest and value lengths, rest of the key, value), then restart
 * points and their number.
 */
function handlesIn(block: Buffer): readonly BlockHandle[] {
  const handles: BlockHandle[] = []
  const restarts = block.readUInt32LE(block.length - 4)
  const end = block.length - 4 - restarts * 4
  let at = 0
  while (at < end) {
    const [, afterShared] = varintAt(block, at)
    const [restLength, afterRest] = varintAt(block, afterShared)
    const [valueLength, afterValue] = varintAt(block, afterRest)
    handles.push(handleAt(block, afterValue + restLength)[0])
    at = afterValue + restLength + valueLength
  }
  return handles
}

function handleAt(bytes: Buffer, at: number): readonly [BlockHandle, next: number] {
  const [offset, afterOffset] = varintAt(bytes, at)
  const [size, next] = varintAt(bytes, afterOffset)
  return [{ offset, size }, next]
}

/** Bytes beyond the end read as zero: a wrong handle fails its bounds or its checksum. */
function varintAt(bytes: Buffer, at: number): readonly [value: number, next: number] {
  let value = 0
  let factor = 1
  for (let next = at; ; next++) {
    const byte = bytes[next] ?? 0
    value += (byte & 0x7f) * factor
    if (byte < 0x80) return [value, next + 1]
    factor *= 128
  }
}

/** Undefined for a table that was compacted away meanwhile. */
async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** LevelDB stores its checksums masked, since they may be inside data that is summed again. */
function unmasked(stored: number): number {
  const rotated = (stored - 0xa282ead8) >>> 0
  return ((rotated >>> 17) | (rotated << 15)) >>> 0
}
