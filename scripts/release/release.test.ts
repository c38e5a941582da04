/**
 * The parts of a release: notes of one version, licences that may be passed on, a bill of materials
 * that has all installed packages.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  billOfMaterials,
  bundledPackages,
  licenceTexts,
  notesOf,
  refusedLicences,
  runtimePackages,
} from './release-part.ts'

const root = join(import.meta.dirname, '..', '..')
const text = (file: string): string => readFileSync(join(root, file), 'utf8')
const { version } = JSON.parse(text('package.json')) as { version: string }
const lock = text('package-lock.json')
const packages = [...runtimePackages(lock), ...bundledPackages(lock)]

const CHANGELOG = `# Changelog

## 1.0.1, 2027-01-02

- Mended.

### Safety

- Safer.

## 1.0.0, not released yet

- The first.
`

test('notes are those of one version, whole', () => {
  equal(notesOf(CHANGELOG, '1.0.1'), '# Kinfold 1.0.1\n\n- Mended.\n\n### Safety\n\n- Safer.\n')
  equal(notesOf(CHANGELOG, '1.0.0'), '# Kinfold 1.0.0\n\n- The first.\n')
  equal(notesOf(CHANGELOG, '1.0'), undefined)
})

test('the changelog has this version', () => {
  match(notesOf(text('CHANGELOG.md'), version) ?? '', new RegExp(`^# Kinfold ${version}\n\n[^#]`))
})

test('what comes with Kinfold may be passed on', () => {
  deepEqual(refusedLicences(packages), [])
})

test('another licence, and none, is refused', () => {
  const lock = {
    packages: {
      '': { license: 'Apache-2.0' },
      'node_modules/free': { version: '1.0.0', license: 'MIT' },
      'node_modules/free/node_modules/@x/strict': { version: '2.0.0', license: 'AGPL-3.0-only' },
      'node_modules/bare': { version: '3.0.0' },
      'node_modules/tool': { version: '4.0.0', license: 'GPL-3.0-only', dev: true },
    },
  }
  deepEqual(refusedLicences(runtimePackages(JSON.stringify(lock))), [
    '@x/strict@2.0.0: AGPL-3.0-only',
    'bare@3.0.0: no licence',
  ])
})

test('the list of licences has each package', () => {
  const listed = licenceTexts(root, packages)
  const missing = packages.filter(({ name, version, licence }) => {
    return !listed.includes(`${name} ${version}\n${licence}\n`)
  })
  deepEqual(missing, [])
  match(listed, /Permission is hereby granted/)
})

test('the bill of materials is of Kinfold, and names each package', () => {
  const bill = billOfMaterials(root)
  const { name, version: of } = bill.metadata.component
  deepEqual([bill.bomFormat, name, of], ['CycloneDX', 'kinfold', version])
  const named = (all: readonly { name: string; version: string }[]): readonly string[] =>
    [...new Set(all.map((each) => `${each.name}@${each.version}`))].sort()
  deepEqual(named(bill.components), named(packages))
})

const URLS = ['--url', 'https://a.example/b', '--homepage']

for (const [what, words, says] of [
  ['no folder', [], /expected a folder/],
  ['an unknown flag', ['FOLDER', '--sign'], /--sign/],
  ['a URL without a homepage', ['FOLDER', '--url', 'https://a.example'], /--homepage/],
  ['a URL that is not secure', ['FOLDER', ...URLS, 'http://a.example'], /https:/],
  ['a URL that Ruby would read as code', ['FOLDER', ...URLS, 'https://a.example/#{x}'], /https:/],
] as const) {
  test(`a release with ${what} is refused, and nothing made`, () => {
    const folder = join(tmpdir(), `kinfold-no-release-${process.pid}`)
    const args = words.map((word) => (word === 'FOLDER' ? folder : word))
    const file = join(root, 'scripts', 'release', 'release.ts')
    const { status, stderr } = spawnSync(process.execPath, [file, ...args], { encoding: 'utf8' })
    equal(status, 2, stderr)
    match(stderr, says)
    equal(existsSync(folder), false)
  })
}
