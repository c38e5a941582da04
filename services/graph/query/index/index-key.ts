/**
 * Parts of the keys of an index.
 *
 * What must stay true: as in core/graph/key.ts, printable ASCII without a bare separator. No two
 * well-formed texts have the same part.
 */
import type { Store } from '../../../../ports/store.ts'

export function part(text: string): string {
  return /^[\w.~-]*$/.test(text) ? text : encodeURIComponent(text.toWellFormed())
}

/** Which `part` never writes. */
const SHORT = '='
const ALPHABET = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_')
const UUID_LENGTH = 36
/** Of a hexadecimal digit's code; an upper-case one is none. */
const NO_DIGIT = 16
const DIGITS = new Uint8Array(128).fill(NO_DIGIT)
for (let digit = 0; digit < NO_DIGIT; digit++) DIGITS[digit.toString(16).charCodeAt(0)] = digit
const SHORT_LENGTH = 23
const short = Buffer.from(SHORT.padEnd(SHORT_LENGTH))

/**
 * A uid, which each object has in several keys: a UUID in 23 characters (base64url) instead of 36.
 * By hand, since it takes a tenth of what a Buffer does.
 */
export function uidPart(uid: string): string {
  if (uid.length !== UUID_LENGTH) return part(uid)
  let length = SHORT.length
  let [bits, count] = [0, 0]
  for (let at = 0; at < UUID_LENGTH; at++) {
    const code = uid.charCodeAt(at)
    if (at === 8 || at === 13 || at === 18 || at === 23) {
      if (code !== 0x2d) return part(uid)
      continue
    }
    const digit = DIGITS[code] ?? NO_DIGIT
    if (digit === NO_DIGIT) return part(uid)
    bits = (bits << 4) | digit
    count += 4
    if (count < 6) continue
    count -= 6
    short[length++] = ALPHABET[bits >> count]!
    bits &= (1 << count) - 1
  }
  short[length] = ALPHABET[bits << (6 - count)]!
  return short.toString('latin1')
}

/** What is kept as a text. */
export function textAt(store: Pick<Store, 'get'>, key: string): string | undefined {
  const bytes = store.get(key)
  return bytes === undefined ? undefined : Buffer.from(bytes).toString()
}
