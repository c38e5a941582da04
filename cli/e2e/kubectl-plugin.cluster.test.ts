/**
 * Kinfold as a plugin of the real kubectl, which finds it and its completion by their names on
 * PATH; no cluster is needed.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { after, suite, test } from 'node:test'
import { missingServers, requireBinary } from '../../testing/cluster/binaries.ts'
import { VERSION } from '../print/version.ts'

const PACKAGE = join(import.meta.dirname, '..', '..', 'package.json')
const skip = missingServers('kubectl') ?? false
const folder = mkdtempSync(join(tmpdir(), 'kinfold-plugin-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** As npm links the commands of the package. */
const { bin } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { bin: Record<string, string> }
for (const [name, file] of Object.entries(bin)) {
  symlinkSync(join(dirname(PACKAGE), file), join(folder, name))
}

function kubectl(...args: readonly string[]) {
  const env = { ...process.env, PATH: [folder, process.env['PATH']].join(delimiter) }
  return spawnSync(requireBinary('kubectl'), args, { env, encoding: 'utf8' })
}

suite('kubectl', { skip }, () => {
  test('runs kinfold, with its output and its exit code', () => {
    const { status, stdout } = kubectl('kinfold', '--version')
    deepEqual([status, stdout], [0, `${VERSION}\n`])
    equal(kubectl('kinfold', 'tree', 'pod').status, 2)
  })

  test('has a help of its own name', () => {
    const { stdout } = kubectl('kinfold', 'tree', '--help')
    match(stdout, /^Usage: kubectl kinfold tree \[options\]/)
    match(stdout, /\n {2}kubectl kinfold tree deploy\/web -n shop\n/)
  })

  test('completes commands, flags and kinds', () => {
    const completed = (...words: readonly string[]) => kubectl('__complete', 'kinfold', ...words)
    equal(completed('plan', '').stdout, 'held\nforget-cluster\ndelete\n:4\n')
    match(completed('tree', '--own').stdout, /^--owners\t[^\n]+\n:4\n$/)
    match(completed('tree', '--server', 'http://127.0.0.1:1', 'dep').stdout, /^deploy\/\n:6\n$/)
  })
})
