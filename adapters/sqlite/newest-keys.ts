/**
 * Which keys a scan from the newest record down has met, in some twenty bytes a key of any length.
 *
 * What must stay true: `superseded` is certain. The table holds hashes, so a hit is confirmed by
 * reading the key of its record.
 */
import { hash32 } from '../../ports/partition.ts'

const FIRST_SLOTS = 2 ** 12
const FREE = -1

export class NewestKeys {
  readonly #keyAt: (offset: number) => string | undefined
  readonly #maxSlots: number
  #hashes: Uint32Array<ArrayBuffer>
  #offsets: Float64Array<ArrayBuffer>
  #count = 0

  constructor(keyAt: (offset: number) => string | undefined, maxSlots: number) {
    this.#keyAt = keyAt
    this.#maxSlots = maxSlots
    const slots = Math.min(FIRST_SLOTS, maxSlots)
    this.#hashes = new Uint32Array(slots)
    this.#offsets = new Float64Array(slots).fill(FREE)
  }

  /** `unknown`: not met before, and there is no room to remember it. */
  meet(key: string, offset: number): 'newest' | 'superseded' | 'unknown' {
    const hash = hash32(key)
    let slot = this.#slotOf(hash)
    for (; this.#offsets[slot] !== FREE; slot = (slot + 1) % this.#offsets.length) {
      if (this.#hashes[slot] !== hash) continue
      if (this.#keyAt(this.#offsets[slot]!) === key) return 'superseded'
    }
    if (this.#count * 4 >= this.#maxSlots * 3) return 'unknown'
    this.#put(slot, hash, offset)
    if (this.#count * 4 > this.#offsets.length * 3) this.#grow()
    return 'newest'
  }

  #put(slot: number, hash: number, offset: number): void {
    this.#hashes[slot] = hash
    this.#offsets[slot] = offset
    this.#count++
  }

  #grow(): void {
    const [hashes, offsets] = [this.#hashes, this.#offsets]
    this.#hashes = new Uint32Array(hashes.length * 2)
    this.#offsets = new Float64Array(offsets.length * 2).fill(FREE)
    this.#count = 0
    for (let index = 0; index < offsets.length; index++) {
      if (offsets[index] === FREE) continue
      let slot = this.#slotOf(hashes[index]!)
      while (this.#offsets[slot] !== FREE) slot = (slot + 1) % this.#offsets.length
      this.#put(slot, hashes[index]!, offsets[index]!)
    }
  }

  #slotOf(hash: number): number {
    return Math.imul(hash, 0x9e3779b1) >>> (32 - Math.log2(this.#offsets.length))
  }
}
