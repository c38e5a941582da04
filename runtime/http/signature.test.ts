/**
 * Envelopes as other programs make and verify them, and what is refused: other keys, other
 * spellings, files that are no key.
 */
import { deepEqual, equal, match, throws } from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { makeKeys } from '../../testing/signing-keys.ts'
import { openSigner, openVerifier, preAuthentication, STATEMENT_TYPE } from './signature.ts'

const folder = mkdtempSync(join(tmpdir(), 'signature-'))
after(() => rmSync(folder, { recursive: true }))
const ours = makeKeys(folder)
const PAYLOAD = '{"_type":"https://in-toto.io/Statement/v1","name":"Bücher"}'

function openssl(...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync('openssl', args, { cwd: folder, encoding: 'utf8' })
  equal(status, 0, stderr)
  return stdout
}

test('what is signed is what the specification of DSSE has as its example', () => {
  const encoded = preAuthentication('http://example.com/HelloWorld', Buffer.from('hello world'))
  equal(String(encoded), 'DSSEv1 29 http://example.com/HelloWorld 11 hello world')
})

test('lengths are those of the bytes', () => {
  const encoded = preAuthentication('ü', Buffer.from('ü'))
  equal(String(encoded), 'DSSEv1 2 ü 2 ü')
})

test('openssl makes the keys, and verifies the signature', () => {
  openssl('genpkey', '-algorithm', 'ed25519', '-out', 'made.pem')
  openssl('pkey', '-in', 'made.pem', '-pubout', '-out', 'made.pub')
  const envelope = openSigner(join(folder, 'made.pem')).seal(PAYLOAD)
  const { payload, payloadType, signatures } = JSON.parse(envelope)
  deepEqual([payloadType, signatures.length], [STATEMENT_TYPE, 1])
  const bytes = Buffer.from(payload, 'base64')
  writeFileSync(join(folder, 'signed'), preAuthentication(payloadType, bytes))
  writeFileSync(join(folder, 'sig'), Buffer.from(signatures[0].sig, 'base64'))
  const files = ['-inkey', 'made.pub', '-sigfile', 'sig', '-in', 'signed']
  match(openssl('pkeyutl', '-verify', '-pubin', '-rawin', ...files), /Verified Successfully/)
  const verifier = openVerifier(join(folder, 'made.pub'))
  deepEqual(verifier.open(envelope), { type: 'signed', payload: PAYLOAD })
  openssl('pkey', '-pubin', '-in', 'made.pub', '-outform', 'DER', '-out', 'made.der')
  match(openssl('dgst', '-sha256', 'made.der'), new RegExp(`${verifier.keyId}\n$`))
})

test('an envelope has one spelling, one signature and the key that is expected', () => {
  const envelope = openSigner(ours.key).seal(PAYLOAD)
  const verifier = openVerifier(ours.pub)
  const parts = JSON.parse(envelope)
  const other = openSigner(makeKeys(folder, 'other').key).seal(PAYLOAD)
  const [theirs] = JSON.parse(other).signatures
  for (const [text, why] of [
    ['', /no DSSE envelope/],
    ['null', /no DSSE envelope/],
    ['{"payload":"","signatures":[]}', /no DSSE envelope/],
    [other, /another key than the given one/],
    [other.replace(theirs.keyid, verifier.keyId), /signature does not fit/],
    [JSON.stringify(parts, null, 2), /not spelled/],
    [JSON.stringify({ ...parts, payloadType: 'text/plain' }), /not spelled/],
    [JSON.stringify({ ...parts, signatures: [...parts.signatures, theirs] }), /not spelled/],
    [JSON.stringify({ ...parts, payload: parts.payload.replace(/=*$/, '') }), /not spelled/],
    [envelope.replace(parts.payload, Buffer.from('{}').toString('base64')), /does not fit/],
  ] as const) {
    const opened = verifier.open(text)
    match(opened.type === 'refused' ? opened.why : 'it was accepted', why)
  }
})

test('a file that is no such key is refused, and so is a private key for an auditor', () => {
  const rsa = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const file = join(folder, 'wrong')
  for (const [content, why] of [
    ['', /is no Ed25519 key in PEM/],
    ['x'.repeat(10_000), /it has 10000 bytes/],
    [rsa.privateKey, /its type is rsa.*openssl genpkey -algorithm ed25519/],
  ] as const) {
    writeFileSync(file, content, { mode: 0o600 })
    throws(() => openSigner(file), why)
  }
  writeFileSync(file, rsa.publicKey)
  throws(() => openVerifier(file), /its type is rsa/)
  throws(() => openVerifier(ours.key), /it is a private key/)
  throws(() => openSigner(ours.pub), /is no Ed25519 key/)
  throws(() => openVerifier(join(folder, 'nothing')), /cannot be read/)
})

test('a private key that other users may read is refused', () => {
  const { key } = makeKeys(folder, 'open')
  chmodSync(key, 0o644)
  throws(() => openSigner(key), /other users may read or change it/)
})
