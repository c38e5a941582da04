/**
 * What other users may read or change is known by owner and mode, and what mends it is a command.
 */
import { equal, match } from 'node:assert/strict'
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { exposureOf, intrusionInto } from './file-access.ts'

const isRoot = process.geteuid?.() === 0

function temporary(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'file-access-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return folder
}

for (const [mode, isOpen] of [
  [0o600, false],
  [0o400, false],
  // Root's own file: root alone can have given its group that.
  [0o640, !isRoot],
  [0o660, true],
  [0o644, true],
  [0o604, true],
] as const) {
  test(`a secret of mode ${mode.toString(8)} is ${isOpen ? 'open' : 'private'}`, (t) => {
    const file = join(temporary(t), 'secret')
    writeFileSync(file, 'secret')
    chmodSync(file, mode)
    equal(exposureOf(file) !== '', isOpen)
  })
}

for (const [mode, isOpen] of [
  [0o700, false],
  [0o755, false],
  [0o2775, !isRoot],
  [0o777, true],
  [0o1777, true],
] as const) {
  test(`a directory of mode ${mode.toString(8)} is ${isOpen ? 'open' : 'ours'}`, (t) => {
    const folder = temporary(t)
    chmodSync(folder, mode)
    if (isOpen) match(intrusionInto(folder), /other users may write to .*: run "chmod go-w /)
    else equal(intrusionInto(folder), '')
  })
}

test('a directory of another user is not ours', { skip: !isRoot }, (t) => {
  const folder = temporary(t)
  chownSync(folder, 12_345, 0)
  match(intrusionInto(folder), /belongs to the user 12345, .*: run "chown 0 /)
})

test('a directory of root is as good as ours', () => {
  equal(intrusionInto('/usr'), '')
})

test('a directory that is not there yet is open to nobody', (t) => {
  equal(intrusionInto(join(temporary(t), 'later')), '')
})
