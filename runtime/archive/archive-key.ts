/**
 * The key that archived objects are encrypted with, as a file has it: 32 bytes, as they are, in
 * hexadecimal or in base64.
 *
 * What must stay true: AES-256-GCM with a new random nonce each time; a text is bound to what it is
 * about, so that it cannot be passed off as another object's; the wrong key says so; a key that
 * other users may read is refused.
 *
 * Not here: what is encrypted, and what it is bound to (archive-record.ts), who decrypts
 * (services/restore).
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { checkSecret } from '../file-access.ts'
import { EXIT, ExitError } from '../lifecycle.ts'

export interface Sealed {
  readonly nonce: Uint8Array
  /** The ciphertext, then the tag. */
  readonly bytes: Uint8Array
}

export interface ArchiveKey {
  /** First bytes of the key's SHA-256, in hexadecimal: it names the key and does not betray it. */
  readonly id: string
  seal(plain: Uint8Array, about: string): Sealed
  /** Undefined when these bytes were not sealed with this key, about this. */
  open(sealed: Sealed, about: string): Uint8Array | undefined
}

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const ID_BYTES = 8
/** No key is longer, whatever its encoding. */
const MAX_FILE_BYTES = 1_024

/** Throws `ExitError` when the file holds no key, or one that other users may read. */
export function openArchiveKey(file: string): ArchiveKey {
  const key = keyIn(file)
  const id = createHash('sha256')
    .update(key)
    .digest('hex')
    .slice(0, 2 * ID_BYTES)
  return {
    id,
    seal(plain, about) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(about))
      const bytes = Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()])
      return { nonce, bytes }
    },
    open({ nonce, bytes }, about) {
      if (nonce.length !== NONCE_BYTES || bytes.length < TAG_BYTES) return undefined
      const end = bytes.length - TAG_BYTES
      try {
        const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
          .setAAD(Buffer.from(about))
          .setAuthTag(bytes.subarray(end))
        return Buffer.concat([decipher.update(bytes.subarray(0, end)), decipher.final()])
      } catch {
        return undefined
      }
    },
  }
}

function keyIn(file: string): Buffer {
  let content: Buffer
  try {
    content = readFileSync(file)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new ExitError(EXIT.input, `the archive's key ${file} cannot be read: ${why}`)
  }
  const key = content.length > MAX_FILE_BYTES ? undefined : keyOf(content)
  if (key !== undefined) {
    checkSecret(file, "the archive's key")
    return key
  }
  throw new ExitError(
    EXIT.input,
    `the archive's key ${file} must hold ${KEY_BYTES} bytes, as they are, in hexadecimal or in base64 (make one with "openssl rand -base64 32"); it holds ${content.length} bytes that are none of these`,
  )
}

function keyOf(content: Buffer): Buffer | undefined {
  if (content.length === KEY_BYTES) return content
  const text = content.toString('latin1').trim()
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, 'hex')
  if (/^[A-Za-z0-9+/]{43}=?$/.test(text)) return Buffer.from(text, 'base64')
  return undefined
}
