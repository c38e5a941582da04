/**
 * Room for many small arrays of bytes in few large ones: an allocation of its own costs more than
 * to fill it, and V8 collects each by itself.
 *
 * What must stay true: room is given out once. An array that is kept keeps its slab, so these are
 * for bytes that are written or dropped soon.
 */
const SLAB_BYTES = 64 * 1024
/** Larger ones get an allocation of their own. */
const MOST_BYTES = SLAB_BYTES / 8

let slab = new Uint8Array(SLAB_BYTES)
let taken = 0

export function roomFor(length: number): Uint8Array {
  if (length > MOST_BYTES) return new Uint8Array(length)
  if (taken + length > SLAB_BYTES) {
    slab = new Uint8Array(SLAB_BYTES)
    taken = 0
  }
  const room = slab.subarray(taken, taken + length)
  taken += length
  return room
}

export function copyOf(bytes: Uint8Array): Uint8Array {
  const copy = roomFor(bytes.length)
  copy.set(bytes)
  return copy
}
