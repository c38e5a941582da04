/**
 * Numbers, texts and bytes as Kafka's protocol writes them: big-endian, lengths before what they
 * measure, records with zigzag varints.
 *
 * What must stay true: a reader never reads beyond what it was given; that is an error, not
 * garbage.
 */

/** Grows as it is written to. */
export class Writer {
  #bytes: Buffer
  #at = 0

  constructor(size = 512) {
    this.#bytes = Buffer.allocUnsafe(size)
  }

  get length(): number {
    return this.#at
  }

  get written(): Buffer {
    return this.#bytes.subarray(0, this.#at)
  }

  int8(value: number): this {
    this.#room(1)
    this.#at = this.#bytes.writeInt8(value, this.#at)
    return this
  }

  int16(value: number): this {
    this.#room(2)
    this.#at = this.#bytes.writeInt16BE(value, this.#at)
    return this
  }

  int32(value: number): this {
    this.#room(4)
    this.#at = this.#bytes.writeInt32BE(value, this.#at)
    return this
  }

  uint32(value: number): this {
    this.#room(4)
    this.#at = this.#bytes.writeUInt32BE(value, this.#at)
    return this
  }

  int64(value: bigint): this {
    this.#room(8)
    this.#at = this.#bytes.writeBigInt64BE(value, this.#at)
    return this
  }

  /** Of at most 32 bits, signed. */
  varint(value: number): this {
    this.#room(5)
    let left = ((value << 1) ^ (value >> 31)) >>> 0
    while (left > 0x7f) {
      this.#bytes[this.#at++] = (left & 0x7f) | 0x80
      left >>>= 7
    }
    this.#bytes[this.#at++] = left
    return this
  }

  text(value: string | null): this {
    if (value === null) return this.int16(-1)
    const size = Buffer.byteLength(value)
    return this.int16(size).utf8(value, size)
  }

  utf8(value: string, size: number): this {
    this.#room(size)
    this.#at += this.#bytes.write(value, this.#at, size, 'utf8')
    return this
  }

  raw(bytes: Uint8Array): this {
    this.#room(bytes.length)
    this.#bytes.set(bytes, this.#at)
    this.#at += bytes.length
    return this
  }

  /** Puts a number where room was left for it. */
  patchInt32(at: number, value: number): void {
    this.#bytes.writeInt32BE(value, at)
  }

  patchUint32(at: number, value: number): void {
    this.#bytes.writeUInt32BE(value, at)
  }

  #room(size: number): void {
    if (this.#at + size <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#at + size))
    this.#bytes.copy(larger, 0, 0, this.#at)
    this.#bytes = larger
  }
}

export function sizeOfVarint(value: number): number {
  const zigzag = ((value << 1) ^ (value >> 31)) >>> 0
  if (zigzag < 0x80) return 1
  if (zigzag < 0x4000) return 2
  if (zigzag < 0x20_0000) return 3
  return zigzag < 0x1000_0000 ? 4 : 5
}

/** Throws `RangeError` at the end of the bytes, as `Buffer` does. */
export class Reader {
  readonly bytes: Buffer
  at = 0

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  get left(): number {
    return this.bytes.length - this.at
  }

  int8(): number {
    const value = this.bytes.readInt8(this.at)
    this.at += 1
    return value
  }

  int16(): number {
    const value = this.bytes.readInt16BE(this.at)
    this.at += 2
    return value
  }

  int32(): number {
    const value = this.bytes.readInt32BE(this.at)
    this.at += 4
    return value
  }

  uint32(): number {
    const value = this.bytes.readUInt32BE(this.at)
    this.at += 4
    return value
  }

  int64(): bigint {
    const value = this.bytes.readBigInt64BE(this.at)
    this.at += 8
    return value
  }

  varint(): number {
    let value = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.bytes[this.at++]
      if (byte === undefined) throw new RangeError('the bytes end within a number')
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return (value >>> 1) ^ -(value & 1)
    }
    throw new RangeError('a number is longer than 32 bits')
  }

  /** Of up to 64 bits; only its place is wanted. */
  skipVarlong(): void {
    for (let length = 0; length < 10; length++) {
      const byte = this.bytes[this.at++]
      if (byte === undefined) throw new RangeError('the bytes end within a number')
      if (byte < 0x80) return
    }
    throw new RangeError('a number is longer than 64 bits')
  }

  text(): string {
    const size = this.int16()
    return size < 0 ? '' : this.raw(size).toString()
  }

  /** A view, not a copy. */
  raw(size: number): Buffer {
    if (size < 0 || size > this.left) throw new RangeError('the bytes end too early')
    this.at += size
    return this.bytes.subarray(this.at - size, this.at)
  }
}
