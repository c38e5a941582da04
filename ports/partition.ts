/**
 * Which partition of a topic a key has, where keys are spread over all of them.
 *
 * What must stay true: the same on every machine and in every version: a log that is there was
 * written by it.
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
