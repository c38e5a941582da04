/**
 * Parts of the keys of an index.
 *
 * What must stay true: as in core/graph/key.ts, printable ASCII without a bare separator. What is read back is what was written, whatever text it is.
 */

export function part(text: string): string {
  return /^[\w.~-]*$/.test(text) ? text : encodeURIComponent(text.toWellFormed())
}

/** Which `part` never writes. */
const SHORT = '='
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const UUID_LENGTH = 36
const DASHES: ReadonlySet<number> = new Set([8, 13, 18, 23])

/** A uid, which each object has in several keys: a UUID in 23 characters (base64url) instead of 36. By hand, since it takes a tenth of what a Buffer does. */
export function uidPart(uid: string): string {
  if (uid.length !== UUID_LENGTH) return part(uid)
  let text = SHORT
  let [bits, count] = [0, 0]
  for (let at = 0; at < UUID_LENGTH; at++) {
    const code = uid.charCodeAt(at)
    if (DASHES.has(at)) {
      if (code !== 0x2d) return part(uid)
      continue
    }
    const digit = digitOf(code)
    if (digit < 0) return part(uid)
    bits = (bits << 4) | digit
    count += 4
    if (count < 6) continue
    count -= 6
    text += ALPHABET[bits >> count]
    bits &= (1 << count) - 1
  }
  return text + ALPHABET[bits << (6 - count)]
}

/** -1 for what is no hexadecimal digit, or an upper-case one. */
function digitOf(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  return code >= 0x61 && code <= 0x66 ? code - 0x57 : -1
}

/** Of a part that either of them wrote. */
export function uidOfPart(text: string): string {
  if (!text.startsWith(SHORT)) return decodeURIComponent(text)
  const hex = Buffer.from(text.slice(SHORT.length), 'base64url').toString('hex')
  const [first, second, third, fourth] = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
  ]
  return `${first}-${second}-${third}-${fourth}-${hex.slice(20)}`
}
