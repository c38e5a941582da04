/**
 * Small non-cryptographic hashes of text, the same on every machine and in every version:
 * projections rest on them.
 *
 * Not here: digests that must resist tampering (services/graph takes SHA-256 from node:crypto).
 */

/**
 * 64 bits as 16 hexadecimal digits: two lanes mixed as in cyrb53 (public domain), without cutting
 * to 53 bits.
 */
export function hash64(text: string): string {
  const [high, low] = lanes(text)
  return hex(high) + hex(low)
}

/** The two 32-bit lanes of `hash64`; sums of them modulo 2^32 hash a set of texts. */
export function lanes(text: string): readonly [number, number] {
  let a = 0xdeadbeef
  let b = 0x41c6ce57
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    a = Math.imul(a ^ unit, 0x9e3779b1)
    b = Math.imul(b ^ unit, 0x5f356495)
  }
  a = Math.imul(a ^ (a >>> 16), 0x85ebca6b) ^ Math.imul(b ^ (b >>> 13), 0xc2b2ae35)
  b = Math.imul(b ^ (b >>> 16), 0x85ebca6b) ^ Math.imul(a ^ (a >>> 13), 0xc2b2ae35)
  return [b >>> 0, a >>> 0]
}

/**
 * Hash of a set of uids, kept up to date as members are added and removed; the order of changes
 * does not matter.
 */
export interface SetHash {
  readonly count: number
  readonly high: number
  readonly low: number
}

export const EMPTY_SET: SetHash = { count: 0, high: 0, low: 0 }

export function withMember(set: SetHash, member: string): SetHash {
  const [high, low] = lanes(member)
  return { count: set.count + 1, high: (set.high + high) >>> 0, low: (set.low + low) >>> 0 }
}

export function withoutMember(set: SetHash, member: string): SetHash {
  const [high, low] = lanes(member)
  return { count: set.count - 1, high: (set.high - high) >>> 0, low: (set.low - low) >>> 0 }
}

export function isSameSet(a: SetHash, b: SetHash): boolean {
  return a.count === b.count && a.high === b.high && a.low === b.low
}

function hex(lane: number): string {
  return lane.toString(16).padStart(8, '0')
}
