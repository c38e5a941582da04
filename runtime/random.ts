/**
 * The machine's chance, as every main hands it to its loops: for jitter, never for secrets.
 *
 * Not here: chance that a seed repeats (a simulator brings its own).
 */
import type { Random } from '../ports/random.ts'

export function systemRandom(): Random {
  return { next: () => Math.random() }
}
