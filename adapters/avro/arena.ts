/**
 * Memory into which records are written one after the other, and of which views are given out: an
 * allocation of its own costs more than to write most records.
 *
 * What must stay true: a given-out view is never written again.
 *
 * A view that is kept keeps its arena, so a caller that keeps few bytes for long copies them.
 */

const ARENA_BYTES = 64 * 1024

const arena = { buffer: Buffer.allocUnsafeSlow(ARENA_BYTES), at: 0 }

/** With room for that much from `at` on; nothing is taken yet. */
export function arenaFor(bytes: number): { readonly buffer: Buffer; readonly at: number } {
  if (arena.buffer.length - arena.at < bytes) {
    arena.buffer = Buffer.allocUnsafeSlow(ARENA_BYTES)
    arena.at = 0
  }
  return arena
}

/** Everything before `end` is taken. */
export function spend(end: number): void {
  arena.at = end
}
