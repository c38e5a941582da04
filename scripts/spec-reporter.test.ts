/**
 * A skipped test is not among the failing ones, also where its suite cannot begin; what failed is.
 */
import { deepEqual } from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

const REPORTER = new URL('spec-reporter.ts', import.meta.url).href
const SUITE = `
import { before, suite, test } from 'node:test'
suite('servers', () => {
  before(() => { throw new Error('no server') })
  test('needs a broker', { skip: 'not here' }, () => {})
  test('needs a server', () => {})
})
test('is later', (t) => t.skip('not yet'))
test('fails', () => { throw new Error('wrong') })
`

test('of a suite that cannot begin those that would have run are listed', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'reporter-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'a.test.mjs')
  writeFileSync(file, SUITE)
  const env = { ...process.env }
  Reflect.deleteProperty(env, 'NODE_TEST_CONTEXT')
  const out = await new Promise<string>((resolve) => {
    const args = ['--test', `--test-reporter=${REPORTER}`, file]
    execFile(process.execPath, args, { env }, (_, stdout) => resolve(stdout))
  })
  const [all = '', failing = ''] = out.split('failing tests:')
  const named = (text: string): string[] => text.match(/needs a \w+|is later|fails|servers/g) ?? []
  deepEqual(named(failing), ['needs a server', 'servers', 'fails'])
  // Each suite is shown twice, where it begins and where it ends.
  deepEqual([...new Set(named(all))].sort(), [
    'fails',
    'is later',
    'needs a broker',
    'needs a server',
    'servers',
  ])
})
