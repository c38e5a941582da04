/**
 * Chance, where an API server uses it: uids and the ends of generated names. All of it comes from
 * the Random port, so that a simulation with the same seed sees the same uids.
 */
import type { Random } from '../../../../ports/random.ts'

/** Without vowels and look-alikes, as upstream's. */
const LETTERS = 'bcdfghjklmnpqrstvwxz2456789'
const SUFFIX_LENGTH = 5

/** A version 4 UUID. */
export function newUid(random: Random): string {
  let hex = ''
  for (let i = 0; i < 8; i++) hex += word(random)
  const variant = '89ab'[Math.floor(random.next() * 4)]!
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

export function newSuffix(random: Random): string {
  let suffix = ''
  for (let i = 0; i < SUFFIX_LENGTH; i++) {
    suffix += LETTERS[Math.floor(random.next() * LETTERS.length)]!
  }
  return suffix
}

function word(random: Random): string {
  return Math.floor(random.next() * 0x10000)
    .toString(16)
    .padStart(4, '0')
}
