/** What `kinfold audit` refuses before they read a log, in words that lead on. */
import { equal, match } from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { runKinfold } from '../../testing/process/kinfold-command.ts'

test('what is wrong with a policy is named by its own flag, and a preset has another (C18)', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'kinfold-replay-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const file = join(directory, 'policy.yaml')
  writeFileSync(file, 'apiVersion: kinfold/v1alpha1\nkind: Config\nholdz: {}\n')
  const cases: readonly (readonly [string, RegExp])[] = [
    ['parity', /--policy parity: expected a config file; a preset is named with --preset parity/],
    [join(directory, 'none.yaml'), /--policy \S+none\.yaml cannot be read/],
    [file, /--policy \S+policy\.yaml: .*holdz/],
  ]
  for (const [policy, sentence] of cases) {
    const ran = await runKinfold(['audit', 'replay', '--from', '1h', '--policy', policy])
    equal(ran.code, 2, ran.stderr)
    match(ran.stderr, sentence)
    equal(ran.stderr.includes('--config'), false, ran.stderr)
  }
})

test('where there is no log it is said who knows where it is (C18)', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'kinfold-no-log-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const { code, stderr } = await runKinfold(['audit', 'verify', '--data', directory])
  equal(code, 2, stderr)
  match(stderr, /no log in this data directory; name that of the running Kinfold with --data/)
})
