/**
 * Keys in each of their spellings, what is none, and that a text opens only with its key, about
 * what it was sealed.
 */
import { deepEqual, equal, notDeepEqual, ok, throws } from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { EXIT, ExitError } from '../lifecycle.ts'
import { type ArchiveKey, openArchiveKey } from './archive-key.ts'

const folder = mkdtempSync(join(tmpdir(), 'archive-key-'))
after(() => rmSync(folder, { recursive: true }))

function keyIn(content: string | Uint8Array): ArchiveKey {
  const file = join(folder, 'key')
  writeFileSync(file, content, { mode: 0o600 })
  return openArchiveKey(file)
}

const BYTES = Buffer.from(Array.from({ length: 32 }, (_, i) => 255 - i))

test('a key is the same as bytes, in hexadecimal and in base64', () => {
  const spellings = [BYTES, BYTES.toString('hex'), `${BYTES.toString('base64')}\n`]
  const ids = spellings.map((content) => keyIn(content).id)
  equal(new Set(ids).size, 1)
  ok(/^[0-9a-f]{16}$/.test(ids[0] ?? ''))
})

const bad: readonly (readonly [string, string | Uint8Array])[] = [
  ['empty', ''],
  ['too short', BYTES.subarray(1)],
  ['too short in hexadecimal', BYTES.subarray(1).toString('hex')],
  ['too long in base64', Buffer.concat([BYTES, BYTES]).toString('base64')],
  ['a sentence', 'correct horse battery staple, and a few words more'],
  ['a large file', new Uint8Array(100_000)],
]
for (const [what, content] of bad) {
  test(`no key is what is ${what}`, () => {
    throws(() => keyIn(content), /must hold 32 bytes, as they are, in hexadecimal or in base64/)
  })
}

test('no key is a file that is not there', () => {
  throws(() => openArchiveKey(join(folder, 'nowhere')), /the archive's key .* cannot be read/)
})

test('a key that other users may read is refused, with what to do', () => {
  const file = join(folder, 'open-key')
  writeFileSync(file, BYTES, { mode: 0o600 })
  for (const mode of [0o644, 0o604, 0o620]) {
    chmodSync(file, mode)
    throws(
      () => openArchiveKey(file),
      (error) => error instanceof ExitError && error.exitCode === EXIT.input,
    )
    throws(
      () => openArchiveKey(file),
      /other users may read or change it \(mode 06..\); run "chmod 600 /,
    )
  }
  chmodSync(file, 0o400)
  ok(openArchiveKey(file))
})

test('what is sealed opens with its key, about the same, unharmed, and each time has another nonce', () => {
  const key = keyIn(BYTES)
  const plain = Buffer.from('what nobody else may read')
  const sealed = key.seal(plain, 'about')
  deepEqual(Buffer.from(key.open(sealed, 'about') ?? []), plain)
  notDeepEqual(key.seal(plain, 'about').nonce, sealed.nonce)
  equal(key.open(sealed, 'another'), undefined)
  equal(keyIn(new Uint8Array(32)).open(sealed, 'about'), undefined)
  for (let at = 0; at < sealed.bytes.length; at++) {
    const bytes = Uint8Array.from(sealed.bytes)
    bytes[at] = (bytes[at] ?? 0) ^ 1
    equal(key.open({ ...sealed, bytes }, 'about'), undefined)
  }
  equal(key.open({ ...sealed, bytes: sealed.bytes.subarray(0, 8) }, 'about'), undefined)
})
