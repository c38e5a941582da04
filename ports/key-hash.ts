/**
 * A hash of keys, and the partition of a topic that a key leads to.
 *
 * What must stay true: the same on every machine and in every version, since records are found again by it. No digest that must resist tampering.
 *
 * Not here: the partition of a cluster, which is assigned (assignment.ts).
 */

/** 32-bit FNV-1a over UTF-16 code units. */
export function hash32(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) {
    hash ^= text.charCodeAt(i)
    hash = Math.imul(hash, 0x01000193)
  }
  return hash >>> 0
}

export function partitionOf(key: string, partitions: number): number {
  return hash32(key) % partitions
}
