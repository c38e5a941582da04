/**
 * Signed statements: DSSE envelopes with one Ed25519 signature, and the keys for them, as PEM files
 * that openssl makes.
 *
 * What must stay true: what is signed is DSSE's pre-authentication encoding, so that a payload of
 * one type cannot be passed off as one of another; a key comes from a file that the caller names,
 * and never from what is verified; an envelope has one spelling, so that no byte of it can change
 * unnoticed; a private key that other users may read is refused.
 *
 * Not here: what a statement says (services/graph/evidence).
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { readFileSync } from 'node:fs'
import { checkSecret } from '../file-access.ts'
import { EXIT, ExitError } from '../lifecycle.ts'

/** Of in-toto statements, in JSON. */
export const STATEMENT_TYPE = 'application/vnd.in-toto+json'

export interface Signer {
  /** SHA-256 of the public key (SubjectPublicKeyInfo, DER), in hexadecimal. */
  readonly keyId: string
  /** The envelope. */
  seal(payload: string): string
}

export interface Verifier {
  readonly keyId: string
  /** The payload, or why there is none to be relied on. */
  open(envelope: string): Opened
}

export type Opened =
  | { readonly type: 'signed'; readonly payload: string }
  | { readonly type: 'refused'; readonly why: string }

const MAKE =
  'make one with "openssl genpkey -algorithm ed25519 -out key.pem", and its public key with "openssl pkey -in key.pem -pubout -out key.pub"'
/** No key is longer. */
const MAX_KEY_BYTES = 4_096

/**
 * Throws `ExitError` when the file holds no private Ed25519 key, or one that other users may read.
 */
export function openSigner(file: string): Signer {
  const key = keyIn(file, 'the signing key', createPrivateKey)
  checkSecret(file, 'the signing key')
  const keyId = keyIdOf(createPublicKey(key))
  return {
    keyId,
    seal(payload) {
      const signature = sign(null, preAuthentication(STATEMENT_TYPE, Buffer.from(payload)), key)
      return envelopeOf(Buffer.from(payload), keyId, signature)
    },
  }
}

/** Throws `ExitError` when the file holds no public Ed25519 key. */
export function openVerifier(file: string): Verifier {
  const key = keyIn(file, 'the public key', publicKey)
  const keyId = keyIdOf(key)
  return { keyId, open: (envelope) => opened(envelope, key, keyId) }
}

/**
 * As the specification has it: `DSSEv1`, and the type and the payload, each after its length in
 * bytes.
 */
export function preAuthentication(type: string, payload: Uint8Array): Buffer {
  const head = `DSSEv1 ${Buffer.byteLength(type)} ${type} ${payload.length} `
  return Buffer.concat([Buffer.from(head), payload])
}

function envelopeOf(payload: Uint8Array, keyid: string, signature: Uint8Array): string {
  const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
  const signatures = [{ keyid, sig: base64(signature) }]
  const document = { payload: base64(payload), payloadType: STATEMENT_TYPE, signatures }
  return `${JSON.stringify(document)}\n`
}

function opened(envelope: string, key: KeyObject, keyId: string): Opened {
  const parts = partsOf(envelope)
  if (parts === undefined) return refused('it is no DSSE envelope with one signature')
  const { payload, signature, keyid } = parts
  if (keyid !== keyId) {
    return refused(`it is signed with another key than the given one, which has the id ${keyId}`)
  }
  if (!verify(null, preAuthentication(STATEMENT_TYPE, payload), key, signature)) {
    return refused('its signature does not fit: it was changed, or signed with another key')
  }
  if (envelopeOf(payload, keyid, signature) !== envelope) {
    return refused('it is not spelled as Kinfold writes envelopes')
  }
  return { type: 'signed', payload: payload.toString('utf8') }
}

function refused(why: string): Opened {
  return { type: 'refused', why }
}

interface Parts {
  readonly payload: Buffer
  readonly signature: Buffer
  readonly keyid: string
}

function partsOf(envelope: string): Parts | undefined {
  try {
    const { payload, signatures } = JSON.parse(envelope) as {
      readonly payload: unknown
      readonly signatures: readonly { readonly keyid: unknown; readonly sig: unknown }[]
    }
    const [{ keyid, sig } = { keyid: null, sig: null }] = signatures
    const isText = [payload, keyid, sig].every((each) => typeof each === 'string')
    if (!isText) return undefined
    const bytes = (text: unknown): Buffer => Buffer.from(String(text), 'base64')
    return { payload: bytes(payload), signature: bytes(sig), keyid: String(keyid) }
  } catch {
    return undefined
  }
}

function keyIdOf(key: KeyObject): string {
  const bytes = key.export({ type: 'spki', format: 'der' })
  return createHash('sha256').update(bytes).digest('hex')
}

/** Node makes a public key of a private one, too; an auditor who has that got the wrong file. */
function publicKey(pem: Buffer): KeyObject {
  if (pem.includes('PRIVATE KEY')) throw new Error('it is a private key')
  return createPublicKey(pem)
}

function keyIn(file: string, what: string, read: (pem: Buffer) => KeyObject): KeyObject {
  let content: Buffer
  try {
    content = readFileSync(file)
  } catch (error) {
    throw new ExitError(EXIT.input, `${what} ${file} cannot be read: ${reasonOf(error)}`)
  }
  let why = `it has ${content.length} bytes`
  if (content.length <= MAX_KEY_BYTES) {
    try {
      const key = read(content)
      if (key.asymmetricKeyType === 'ed25519') return key
      why = `its type is ${key.asymmetricKeyType ?? 'unknown'}`
    } catch (error) {
      why = reasonOf(error)
    }
  }
  throw new ExitError(EXIT.input, `${what} ${file} is no Ed25519 key in PEM (${why}): ${MAKE}`)
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
