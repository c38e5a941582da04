/**
 * The functions that generated writers and readers call: numbers, texts and bytes as Avro has them
 * on the wire.
 *
 * What must stay true: nothing is read beyond the buffer; anything that is not read or written
 * exactly as avsc would is refused by throwing, and avsc is asked. Writing beyond the buffer writes
 * nothing there and moves `at`, so the caller sees that it was too small. A text is written whole,
 * or refused.
 *
 * Not here: what follows what (generated.ts).
 */

export interface Cursor {
  pos: number
}

/**
 * What `write` and `toString` come to, without their looking at encodings; avsc calls them as well.
 */
interface Utf8 {
  utf8Write(text: string, at: number): number
  utf8Slice(from: number, to: number): string
}

/**
 * avsc decides, and says what is wrong, if anything is. One error for all: its stack would cost
 * more than the rest.
 */
const ASK_AVSC = new Error('avsc has to be asked')

export function refuse(): never {
  throw ASK_AVSC
}

/** Below this a number can be folded in 32 bits. */
const MOST_SMALL = 2 ** 30
/** Folded, with its sign in the lowest bit, it is exact. */
const MOST_EXACT = 2 ** 49

export function writeLong(buffer: Uint8Array, at: number, value: number): number {
  if ((value | 0) === value && value >= -MOST_SMALL && value < MOST_SMALL) {
    let folded = ((value << 1) ^ (value >> 31)) >>> 0
    for (; folded > 0x7f; folded >>>= 7) buffer[at++] = (folded & 0x7f) | 0x80
    buffer[at++] = folded
    return at
  }
  if (!Number.isInteger(value) || value <= -MOST_EXACT || value >= MOST_EXACT) refuse()
  let folded = value < 0 ? -2 * value - 1 : 2 * value
  for (; folded > 0x7f; folded = Math.floor(folded / 128)) buffer[at++] = (folded % 128) | 0x80
  buffer[at++] = folded
  return at
}

export function writeOffset(buffer: Uint8Array, at: number, value: bigint): number {
  if (typeof value !== 'bigint') refuse()
  // Too large a one is too large a number, too.
  return writeLong(buffer, at, Number(value))
}

/** Short ASCII is written faster by hand than by a call out of JavaScript. */
const MOST_BY_HAND = 48
/** A UTF-16 unit takes no more bytes than 3, and a length no more than 5. */
const BYTES_A_UNIT = 3
const LENGTH_BYTES = 5

export function writeText(buffer: Buffer, at: number, text: string): number {
  if (typeof text !== 'string') refuse()
  const { length } = text
  if (length <= MOST_BY_HAND) {
    let i = 0
    for (; i < length; i++) {
      const code = text.charCodeAt(i)
      if (code > 0x7f) break
      buffer[at + 1 + i] = code
    }
    if (i === length) {
      buffer[at] = 2 * length
      return at + 1 + length
    }
  }
  // Half a surrogate pair has no UTF-8, and avsc an own way with it.
  if (!text.isWellFormed()) refuse()
  // Without room the text would be cut off silently.
  if (at + LENGTH_BYTES + BYTES_A_UNIT * length > buffer.length) refuse()
  const likely = lengthBytes(length)
  const written = (buffer as unknown as Utf8).utf8Write(text, at + likely)
  const needed = lengthBytes(written)
  const from = at + likely
  if (needed !== likely) buffer.copyWithin(at + needed, from, from + written)
  return writeLong(buffer, at, written) + written
}

function lengthBytes(length: number): number {
  if (length < 2 ** 6) return 1
  if (length < 2 ** 13) return 2
  if (length < 2 ** 20) return 3
  return length < 2 ** 27 ? 4 : LENGTH_BYTES
}

export function writeBytes(buffer: Buffer, at: number, bytes: Uint8Array): number {
  if (!(bytes instanceof Uint8Array)) refuse()
  if (at + LENGTH_BYTES + bytes.length > buffer.length) refuse()
  const from = writeLong(buffer, at, bytes.length)
  buffer.set(bytes, from)
  return from + bytes.length
}

export function readLong(buffer: Uint8Array, cursor: Cursor): number {
  let byte = buffer[cursor.pos++] ?? refuse()
  if (byte < 0x80) return (byte >>> 1) ^ -(byte & 1)
  let folded = byte & 0x7f
  for (let scale = 2 ** 7; byte >= 0x80; scale *= 2 ** 7) {
    // Ten bytes could be a number beyond 2^53; what has so many is rare.
    if (scale > 2 ** 42) refuse()
    byte = buffer[cursor.pos++] ?? refuse()
    folded += (byte & 0x7f) * scale
  }
  return folded % 2 === 0 ? folded / 2 : -(folded + 1) / 2
}

export function readBoolean(buffer: Uint8Array, cursor: Cursor): boolean {
  const byte = buffer[cursor.pos++]
  return byte === 1 || (byte === 0 ? false : refuse())
}

/** The branch of a union of null and another. */
export function isNull(buffer: Uint8Array, cursor: Cursor): boolean {
  const branch = buffer[cursor.pos++]
  return branch === 0 || (branch === 2 ? false : refuse())
}

export function readBytes(buffer: Buffer, cursor: Cursor): Uint8Array {
  const from = begin(buffer, cursor)
  return new Uint8Array(buffer.subarray(from, cursor.pos))
}

export function readText(buffer: Buffer, cursor: Cursor): string {
  const from = begin(buffer, cursor)
  return from === cursor.pos ? '' : textIn(buffer, from, cursor.pos)
}

function textIn(buffer: Buffer, from: number, to: number): string {
  return (buffer as unknown as Utf8).utf8Slice(from, to)
}

/** Reads the length of texts or bytes, moves after them and returns where they begin. */
function begin(buffer: Uint8Array, cursor: Cursor): number {
  const length = readLong(buffer, cursor)
  const from = cursor.pos
  if (length < 0 || length > buffer.length - from) refuse()
  cursor.pos = from + length
  return from
}

/**
 * Of an array; nothing follows the last block, of 0 items. All of Kinfold's items take a byte at
 * least.
 */
export function readBlockLength(buffer: Uint8Array, cursor: Cursor): number {
  let length = readLong(buffer, cursor)
  if (length < 0) {
    length = -length
    // The block's size in bytes, for readers who want to skip it.
    readLong(buffer, cursor)
  }
  if (length > buffer.length - cursor.pos) refuse()
  return length
}

/**
 * Texts read of late, at the place that their bytes make: 1 MB of bytes and as much of texts, for
 * all schemas of the process.
 */
const SLOTS = 16_384
const SLOT_BITS = 6
const SLOT_BYTES = 1 << SLOT_BITS
const texts: string[] = new Array(SLOTS).fill('')
const textBytes = new Uint8Array(SLOTS * SLOT_BYTES)
const textLengths = new Uint8Array(SLOTS)

/**
 * The very same string each time for a text that came of late: comparing and hashing it costs next
 * to nothing then.
 */
export function readRepeated(buffer: Buffer, cursor: Cursor): string {
  const from = begin(buffer, cursor)
  const length = cursor.pos - from
  if (length === 0) return ''
  if (length > SLOT_BYTES) return textIn(buffer, from, cursor.pos)
  const slot = slotOf(buffer, from, length)
  const at = slot << SLOT_BITS
  if (textLengths[slot] === length && isAlike(buffer, from, at, length)) return texts[slot]!
  const text = textIn(buffer, from, cursor.pos)
  for (let i = 0; i < length; i++) textBytes[at + i] = buffer[from + i]!
  textLengths[slot] = length
  texts[slot] = text
  return text
}

function isAlike(buffer: Uint8Array, from: number, at: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (textBytes[at + i] !== buffer[from + i]) return false
  return true
}

/** FNV-1a. */
function slotOf(buffer: Uint8Array, from: number, length: number): number {
  let hash = 0x811c9dc5 ^ length
  for (let i = 0; i < length; i++) hash = Math.imul(hash ^ buffer[from + i]!, 0x01000193)
  return (hash ^ (hash >>> 15)) & (SLOTS - 1)
}
