/**
 * `npm run pages` writes docs/inside/invariants.md and docs/inside/faults.md from the rows in the
 * code: invariants and faults (sim/catalogue.ts), the checks and draws of the simulator
 * (sim/check/checkers.ts, sim/fault/faults.ts), and which tests name a row; docs/ask/cli.md from
 * the commands (cli-page.ts), docs/integrate/asyncapi.json and schemas/public from the topics and
 * schemas (asyncapi-page.ts), docs/integrate/openapi.json and http.md from the routes
 * (services/graph/api), and the page of the endpoint from web/ (page.ts).
 *
 * What must stay true: a page contains nothing that is not in the code, so it can be written again
 * at any time. A row that nothing checks is an error.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openApi } from '../services/graph/api/openapi.ts'
import * as catalogue from '../sim/catalogue.ts'
import { CHECKERS } from '../sim/check/checkers.ts'
import { BY_THEMSELVES, FAULTS, UNCOVERED } from '../sim/fault/faults.ts'
import { asyncApi, publicSchemas } from './asyncapi-page.ts'
import { cliPage } from './cli-page.ts'
import { httpPage } from './http-page.ts'
import { pageFiles } from './page.ts'

export interface Page {
  readonly file: string
  readonly text: string
}

type Rows = Readonly<Record<string, string>>

/** Rows are examples there. */
const EXAMPLES = ['sim/seeds/tally.test.ts']
const TESTS = '{adapters,cli,core,ports,runtime,services,sim}/**/*.{test.ts,txt}'
/** Checks of the simulator that are no checkers of their own. */
const LOOPS = 'sim/{run,fault/stream-faults}.ts'
const WRITTEN = 'This page is written by `npm run pages`; the rows are in'

export async function pages(root: string): Promise<readonly Page[]> {
  const texts = globSync([TESTS, LOOPS], { cwd: root, exclude: EXAMPLES })
    .sort()
    .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }))
  return [
    { file: 'docs/inside/invariants.md', text: invariantsPage(texts) },
    { file: 'docs/inside/faults.md', text: faultsPage(texts.filter(({ file }) => isTest(file))) },
    { file: 'docs/ask/cli.md', text: await cliPage() },
    { file: 'docs/integrate/asyncapi.json', text: asyncApi() },
    ...publicSchemas(),
    { file: 'docs/integrate/openapi.json', text: openApi() },
    { file: 'docs/integrate/http.md', text: httpPage() },
    ...(await pageFiles()),
  ]
}

/** With `file` from the root. */
type Text = Page

function isTest(file: string): boolean {
  return !/^sim\/([\w-]+\/)?[\w-]+(?<!\.test)\.ts$/.test(file)
}

function invariantsPage(texts: readonly Text[]): string {
  const tableOf = (rows: Rows): readonly string[] => [
    '| Row | What must hold | Checked in every simulated world | Tests that name it |',
    '|---|---|---|---|',
    ...Object.entries(rows).map(([id, must]) => {
      const [checks, tests] = [checksOf(id), linksOf(texts, id)]
      if (checks === '' && tests === '') throw new Error(`nothing checks ${id}`)
      return `| ${id} | ${must} | ${checks} | ${tests} |`
    }),
  ]
  return linesOf(
    '# Invariants',
    '',
    'What must hold at every moment, whatever fails. Comments, tests and messages name these rows. A wrong delete is the',
    'worst failure, so safety comes first.',
    '',
    `${WRITTEN} [sim/catalogue.ts](../../sim/catalogue.ts) and the checkers`,
    'of the [simulator](testing.md#simulation), which sees all API servers and the log. A number that is missing belonged to',
    'an idea that was not built. Terms are in the [glossary](glossary.md), faults in [faults.md](faults.md).',
    '',
    '## Safety',
    '',
    ...tableOf(catalogue.SAFETY),
    '',
    '## Progress',
    '',
    ...tableOf(catalogue.PROGRESS),
    '',
    '## Determinism and data',
    '',
    ...tableOf(catalogue.DATA),
  )
}

/** `I1 I2: a sentence` is a check of both. */
function checksOf(id: string): string {
  return CHECKERS.map(({ invariant }) => invariant.split(': '))
    .filter(([ids = '']) => ids.split(' ').includes(id))
    .map(([, sentence = '']) => sentence)
    .join('; ')
}

function faultsPage(texts: readonly Text[]): string {
  const drawn = Object.fromEntries(FAULTS.map(({ row, what }) => [row, what]))
  const all: Rows = { ...drawn, ...catalogue.NOT_DRAWN }
  const rows = Object.keys(all).toSorted(byNumber)
  return linesOf(
    '# Faults',
    '',
    'What can go wrong, and what Kinfold must do then. Comments, tests and messages name these rows. Each fault "drawn" is in',
    'a quarter of all worlds of the [simulator](testing.md#simulation), several times;',
    '`npm run sim -- --seed N --only F9` runs one world with that fault alone.',
    '',
    `${WRITTEN} \`sim/fault/*-faults.ts\` and`,
    '[sim/catalogue.ts](../../sim/catalogue.ts). A number that is missing belonged to an idea that was not built. Terms are',
    'in the [glossary](glossary.md), what must hold whatever fails in [invariants.md](invariants.md).',
    '',
    '| Row | Fault | What must happen | Simulated | Tests that name it |',
    '|---|---|---|---|---|',
    ...rows.map((row) => {
      const [how, tests] = [simulated(row, drawn), linksOf(texts, row)]
      if (how === '' && tests === '') throw new Error(`nothing shows ${row}`)
      return `| ${row} | ${all[row]} | ${expected(row)} | ${how || 'no'} | ${tests} |`
    }),
    '',
    '## What LevelDB does with damage',
    '',
    'Measured with classic-level 3.0.0: the reasons for batch numbers without gaps (X1, X2) and for ending at the first',
    'failed write (X4).',
    '',
    '| Row | What was done, and what came of it | Tests that name it |',
    '|---|---|---|',
    ...Object.entries(catalogue.DAMAGE).map(
      ([row, what]) => `| ${row} | ${what} | ${linksOf(texts, row)} |`,
    ),
  )
}

/** Throws for a row without an expectation. */
export function expected(row: string): string {
  const must = catalogue.EXPECTED[row]
  if (must === undefined)
    throw new Error(`sim/catalogue.ts does not say what must happen in ${row}`)
  return must
}

function simulated(row: string, drawn: Rows): string {
  if (drawn[row] !== undefined) return 'drawn'
  if (BY_THEMSELVES[row] !== undefined) return `by itself: ${BY_THEMSELVES[row]}`
  return UNCOVERED[row] === undefined ? '' : `no: ${UNCOVERED[row]}`
}

function linksOf(texts: readonly Text[], id: string): string {
  const named = new RegExp(`\\b${id}\\b`)
  return texts
    .filter(({ text }) => named.test(text))
    .map(({ file }) => `[${basename(file)}](../../${file})`)
    .join(', ')
}

/** F9 before F10; rows that are words come last. */
function byNumber(a: string, b: string): number {
  const [left, right] = [numberOf(a), numberOf(b)]
  return left - right || (a < b ? -1 : 1)
}

function numberOf(row: string): number {
  const [, digits] = /^F(\d+)/.exec(row) ?? []
  return digits === undefined ? Number.MAX_SAFE_INTEGER : Number(digits)
}

function linesOf(...lines: readonly string[]): string {
  return `${lines.join('\n')}\n`
}

if (import.meta.main) {
  const root = fileURLToPath(new URL('..', import.meta.url))
  for (const { file, text } of await pages(root)) writeFileSync(join(root, file), text)
}
