/**
 * docs/inside/invariants.md and docs/inside/faults.md have the rows of the code, docs/ask/cli.md
 * the commands; `npm run pages` (or `UPDATE=1` here) writes them again.
 */
import { deepEqual, equal, throws } from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { EXPECTED, NOT_DRAWN } from '../sim/catalogue.ts'
import { CHECKERS } from '../sim/check/checkers.ts'
import { BY_THEMSELVES, FAULTS, UNCOVERED } from '../sim/fault/faults.ts'
import { knownIds, unknownIds } from './ids.ts'
import { expected, pages } from './pages.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const known = knownIds(root)

for (const { file, text } of await pages(root)) {
  test(`${file} is what \`npm run pages\` writes`, () => {
    if (process.env['UPDATE'] === '1') writeFileSync(join(root, file), text)
    equal(readFileSync(join(root, file), 'utf8'), text)
  })
}

test('what must happen is said of each fault, and of nothing else', () => {
  const rows = [...FAULTS.map(({ row }) => row), ...Object.keys(NOT_DRAWN)]
  deepEqual(Object.keys(EXPECTED).toSorted(), rows.toSorted())
  throws(() => expected('none'), /does not say what must happen in none/)
})

test('each fault that is not drawn is described', () => {
  const rows = Object.keys({ ...BY_THEMSELVES, ...UNCOVERED })
  deepEqual(
    rows.filter((row) => NOT_DRAWN[row] === undefined),
    [],
  )
})

test('each checker begins with the invariants that it checks', () => {
  const wrong = CHECKERS.map(({ invariant }) => invariant).filter(
    (invariant) => !/^I\d+( I\d+)*: [^:]+$/.test(invariant),
  )
  deepEqual(wrong, [])
})

test('each row of what others can try, and of a first hour, is named by a test', () => {
  const tests = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts') && !file.includes('node_modules'))
    .map((file) => readFileSync(join(root, file), 'utf8'))
  // As `(T1)`, `(T1, T2)` or at the begin of a title.
  const NAMED = /(?:\(|['"`])([CT]\d+(?:, [CT]\d+)*)(?=\)|: )/g
  const named = new Set(
    tests.flatMap((text) => [...text.matchAll(NAMED)].flatMap(([, ids = '']) => ids.split(', '))),
  )
  const rows = ['docs/operate/attacks.md', 'docs/inside/first-hour.md'].flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/^\| ([CT]\d+) \|/gm)].map(([, id]) => id),
  )
  deepEqual(
    rows.filter((id) => id !== undefined && !named.has(id)),
    [],
  )
})

/** Ids that no page has are put together here, since tidy reads this file, too. */
const I = 'I'
const S = 'S'
const texts = [
  ['stays where it is (I16), after F39', []],
  [`${I}32, X4 and ${I}32 again`, [`${I}32`]],
  [`rows of upstream (B30, U12.17), and none (${'U'}12.18)`, [`${'U'}12.18`]],
  [`a caution (C5) that is none (${'C'}99); ${S}13`, [`${'C'}99`, `${S}13`]],
  [`${'DE'}SIGN section 5`, [`${'DE'}SIGN`]],
  ['evidence not-found, the bytes C3 01, a P99, V8, 0xF11, D3js, u12', []],
] as const

for (const [text, unknown] of texts) {
  test(`of "${text}" ${unknown.join(' and ') || 'nothing'} is on no page`, () =>
    deepEqual(unknownIds(text, known), unknown))
}
