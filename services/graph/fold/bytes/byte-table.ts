/**
 * Values by key, as bytes outside of V8's heap: V8's garbage collector never marks, moves or counts
 * any of it.
 *
 * A ring buffer: a new entry is put after the last one, and when it is full the oldest is evicted.
 * An entry that was read since it was put gets a second chance: it is put again. Each owner has
 * keys of its own. Keys of an owner that was closed are no longer read, and so are evicted.
 *
 * What must stay true: a key's answer is the last value put for it, or "unknown". No more than
 * `limit` bytes are taken, and an eighth of it for the index.
 *
 * Not here: the meaning of the values (working-set.ts).
 */
import { invariant } from '../../../../core/model/invariant.ts'

/** Known to be absent. */
export const ABSENT: unique symbol = Symbol('absent')

const FIRST_BYTES = 256 * 1024
/** A larger share of the ring buffer than this would evict too much at once. */
const LARGEST_SHARE = 16
const LONGEST_KEY = 1_024
/** Second chances that one put gives, so that it takes no longer than others. */
const MOST_CHANCES = 16
/**
 * Entries are no more than one for so many bytes of the limit; of those of ours a key alone takes
 * about as many.
 */
const BYTES_AN_ENTRY = 128

/**
 * An entry begins with these numbers of 32 bits, then its key and its value. It begins and ends at
 * a multiple of 8 bytes.
 */
const SIZE = 0
const HASH = 1
const OWNER = 2
const KEY_LENGTH = 3
const VALUE_LENGTH = 4
const STATE = 5
const HEADER_BYTES = 24
const ALIGNED = 8

const NO_VALUE = -1

/** In `STATE`. */
const DEAD = 0
const PUT = 1
const READ = 2

const scratch = new Uint8Array(LONGEST_KEY)

export class ByteTable {
  readonly #limit: number
  #bytes: Buffer
  #numbers: Int32Array
  /** Pairs: a hash, and 1 + the entry's place in 8 bytes; 0 where there is none. */
  #index: Int32Array = new Int32Array(2 * 1_024)
  #entries = 0
  #liveBytes = 0
  /** The oldest entry, and the position of the next one. */
  #tail = 0
  #head = 0
  /** Once the head has begun anew before the tail: where the entries after the tail end. */
  #wrappedAt: number | undefined
  #owners = 0

  /** `limit` and `first` are multiples of 8; the table begins with `first` and doubles. */
  constructor(limit: number, first: number = Math.min(FIRST_BYTES, limit)) {
    this.#limit = limit
    this.#bytes = Buffer.allocUnsafeSlow(first)
    this.#numbers = numbersOf(this.#bytes)
  }

  /** Bytes taken, used or not. */
  get memory(): number {
    return this.#bytes.length + this.#index.byteLength
  }

  /** Has no keys yet. */
  newOwner(): number {
    this.#owners += 1
    return this.#owners
  }

  /** Undefined when nothing is known. The view is valid until the next `put` or `forget`. */
  get(owner: number, key: string): Uint8Array | typeof ABSENT | undefined {
    const { length } = key
    if (length > LONGEST_KEY) return undefined
    const slot = this.#find(owner, hashOf(key), length)
    if (slot < 0) return undefined
    const entry = this.#entryAt(slot)
    this.#numbers[entry + STATE] = READ
    const size = this.#numbers[entry + VALUE_LENGTH]!
    if (size === NO_VALUE) return ABSENT
    const from = 4 * entry + HEADER_BYTES + length
    return this.#bytes.subarray(from, from + size)
  }

  /** `null`: it is known to be absent. */
  put(owner: number, key: string, value: Uint8Array | null): void {
    const { length } = key
    if (length > LONGEST_KEY) return
    const hash = hashOf(key)
    const size = alignedUp(HEADER_BYTES + length + (value?.length ?? 0))
    const known = this.#find(owner, hash, length)
    if (known >= 0) {
      const entry = this.#entryAt(known)
      if (this.#numbers[entry + SIZE] === size) return this.#setValue(entry, length, value)
      this.#kill(known)
    }
    if (size > this.#bytes.length / LARGEST_SHARE) return
    const entry = this.#makeRoom(size) >> 2
    const numbers = this.#numbers
    numbers[entry + SIZE] = size
    numbers[entry + HASH] = hash
    numbers[entry + OWNER] = owner
    numbers[entry + KEY_LENGTH] = length
    numbers[entry + STATE] = PUT
    const from = 4 * entry + HEADER_BYTES
    // To make room moves entries by their own bytes, and leaves the key in the scratch as it is.
    for (let i = 0; i < length; i++) this.#bytes[from + i] = scratch[i]!
    this.#setValue(entry, length, value)
    this.#enter(hash, entry)
    this.#liveBytes += size
  }

  forget(owner: number, key: string): void {
    if (key.length > LONGEST_KEY) return
    const slot = this.#find(owner, hashOf(key), key.length)
    if (slot >= 0) this.#kill(slot)
  }

  #setValue(entry: number, keyLength: number, value: Uint8Array | null): void {
    this.#numbers[entry + VALUE_LENGTH] = value === null ? NO_VALUE : value.length
    if (value !== null) this.#bytes.set(value, 4 * entry + HEADER_BYTES + keyLength)
  }

  /** Its number of 32 bits. */
  #entryAt(slot: number): number {
    return (this.#index[2 * slot + 1]! - 1) * 2
  }

  /** The slot of the entry with the key in the scratch; negative where there is none. */
  #find(owner: number, hash: number, length: number): number {
    const index = this.#index
    const mask = (index.length >> 1) - 1
    for (let slot = hash & mask; index[2 * slot + 1] !== 0; slot = (slot + 1) & mask) {
      if (index[2 * slot] !== hash) continue
      const entry = this.#entryAt(slot)
      if (this.#numbers[entry + OWNER] !== owner) continue
      if (this.#numbers[entry + KEY_LENGTH] === length && this.#hasKey(entry, length)) return slot
    }
    return -1
  }

  #hasKey(entry: number, length: number): boolean {
    const from = 4 * entry + HEADER_BYTES
    const bytes = this.#bytes
    // Keys differ at their ends.
    for (let i = length - 1; i >= 0; i--) if (bytes[from + i] !== scratch[i]) return false
    return true
  }

  #enter(hash: number, entry: number): void {
    this.#entries += 1
    if (4 * this.#entries > this.#index.length) this.#growIndex()
    addTo(this.#index, hash, (entry >> 1) + 1)
  }

  #growIndex(): void {
    const larger = new Int32Array(2 * this.#index.length)
    const old = this.#index
    for (let i = 0; i < old.length; i += 2) {
      if (old[i + 1] !== 0) addTo(larger, old[i]!, old[i + 1]!)
    }
    this.#index = larger
  }

  /** The entry stays in the ring buffer until its turn comes. */
  #kill(slot: number): void {
    const entry = this.#entryAt(slot)
    this.#numbers[entry + STATE] = DEAD
    this.#liveBytes -= this.#numbers[entry + SIZE]!
    this.#leave(slot)
  }

  /** Moves the following ones up, so that each is found from its own slot on without a hole. */
  #leave(slot: number): void {
    const index = this.#index
    const mask = (index.length >> 1) - 1
    let hole = slot
    for (let next = (hole + 1) & mask; index[2 * next + 1] !== 0; next = (next + 1) & mask) {
      const home = index[2 * next]! & mask
      // It may move into the hole unless its home lies after that.
      if (((next - home) & mask) < ((next - hole) & mask)) continue
      index[2 * hole] = index[2 * next]!
      index[2 * hole + 1] = index[2 * next + 1]!
      hole = next
    }
    index[2 * hole + 1] = 0
    this.#entries -= 1
  }

  /** Where `size` bytes may be written; they belong to the entry that is put there. */
  #makeRoom(size: number): number {
    const mostEntries = Math.floor(this.#limit / BYTES_AN_ENTRY)
    if (this.#wrappedAt === undefined && this.#head + size > this.#bytes.length) this.#endReached()
    for (let chances = MOST_CHANCES; ; ) {
      const end = this.#wrappedAt === undefined ? this.#bytes.length : this.#tail
      if (this.#head + size <= end && this.#entries < mostEntries) break
      if (this.#wrappedAt === undefined && this.#tail === this.#head) this.#clear()
      else if (this.#wrappedAt === undefined && this.#head + size > end) this.#wrap()
      else if (this.#dropOldest(chances > 0)) chances -= 1
    }
    const at = this.#head
    this.#head += size
    return at
  }

  #clear(): void {
    invariant(this.#entries === 0, 'a table of bytes is empty and has entries')
    this.#tail = this.#head = 0
  }

  #wrap(): void {
    this.#wrappedAt = this.#head
    this.#head = 0
  }

  /** At the end of the buffer: a larger one, or from its beginning on. */
  #endReached(): void {
    const isMostlyLive = 2 * this.#liveBytes > this.#bytes.length
    if (!isMostlyLive || 2 * this.#bytes.length > this.#limit) return
    const old = this.#bytes
    this.#bytes = Buffer.allocUnsafeSlow(2 * old.length)
    old.copy(this.#bytes, 0, 0, this.#head)
    this.#numbers = numbersOf(this.#bytes)
  }

  /** True when it got a second chance. */
  #dropOldest(mayLive: boolean): boolean {
    const at = this.#tail
    const entry = at >> 2
    const numbers = this.#numbers
    const size = numbers[entry + SIZE]!
    this.#tail = at + size
    if (this.#tail === this.#wrappedAt) {
      this.#tail = 0
      this.#wrappedAt = undefined
    }
    const state = numbers[entry + STATE]!
    if (state === DEAD) return false
    const slot = this.#slotOf(numbers[entry + HASH]!, entry)
    const isAgain = state === READ && mayLive && this.#head + size <= this.#bytes.length
    if (!isAgain) {
      this.#liveBytes -= size
      this.#leave(slot)
      return false
    }
    // The freed space and the free space before it are contiguous, so it fits.
    this.#bytes.copyWithin(this.#head, at, at + size)
    const moved = this.#head >> 2
    numbers[moved + STATE] = PUT
    this.#index[2 * slot + 1] = (moved >> 1) + 1
    this.#head += size
    return true
  }

  #slotOf(hash: number, entry: number): number {
    const mask = (this.#index.length >> 1) - 1
    const place = (entry >> 1) + 1
    let slot = hash & mask
    while (this.#index[2 * slot + 1] !== place) slot = (slot + 1) & mask
    return slot
  }
}

function numbersOf(bytes: Buffer): Int32Array {
  return new Int32Array(bytes.buffer, 0, bytes.length >> 2)
}

function addTo(index: Int32Array, hash: number, place: number): void {
  const mask = (index.length >> 1) - 1
  let slot = hash & mask
  while (index[2 * slot + 1] !== 0) slot = (slot + 1) & mask
  index[2 * slot] = hash
  index[2 * slot + 1] = place
}

function alignedUp(size: number): number {
  return (size + ALIGNED - 1) & -ALIGNED
}

/** FNV-1a with its bits mixed once more; leaves the key in the scratch. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5
  let all = 0
  for (let i = 0; i < key.length; i++) {
    const code = key.charCodeAt(i)
    all |= code
    scratch[i] = code
    hash = Math.imul(hash ^ code, 0x01000193)
  }
  invariant(all <= 0x7f, 'a key is not ASCII')
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return hash ^ (hash >>> 13)
}
