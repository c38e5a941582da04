/**
 * The parts of the code that documents name exist: files and headings that links lead to, tests
 * that are quoted, the scenarios of the conformance suite.
 *
 * What must stay true: docs/inside/semantics.md has each case once, with a verdict, and with the
 * test that shows it or a plain word that none does.
 */
import { deepEqual } from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { SCENARIOS } from '../testing/conformance/suite.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const SEMANTICS = join(root, 'docs', 'inside', 'semantics.md')
const VERDICT = /^(same|(same|better|not applicable|not yet): .+)$/
const WIDTH = 120
/** From the root; not of another site. */
const PAGE = /(?<![\w./-])docs\/[\w/-]+\.(?:md|json|svg)\b/g
/** A link, and after it the quoted test, or the rows of the scenarios that are meant. */
const LINK = /\[[^\]]*\]\((?<target>[^)]+)\)(?: "(?<quoted>[^"]+)"|(?<rows>(?: `[\w.]+`)+))?/g

interface Link {
  /** The target in the document. */
  readonly target: string
  readonly file: string
  readonly quoted: string | undefined
  readonly rows: readonly string[]
}

interface Case {
  readonly row: string
  readonly verdict: string
  readonly shown: string
}

function textOf(document: string): string {
  return readFileSync(document, 'utf8')
}

/** Tables and text to be copied cannot be broken; all else can. */
function tooLong(text: string): readonly string[] {
  const prose = text.replaceAll(/^ *```.*?^ *```/gms, '').split('\n')
  return prose.filter((line) => !line.startsWith('|') && line.length > WIDTH)
}

function linksOf(document: string): readonly Link[] {
  // A title that is quoted may be broken between two lines.
  return [...textOf(document).replaceAll(/\n */g, ' ').matchAll(LINK)].flatMap(({ groups }) => {
    const { target = '', quoted, rows = '' } = groups ?? {}
    if (/^[a-z]+:/.test(target)) return []
    const path = target.replace(/#.*$/, '')
    const file = path === '' ? document : join(dirname(document), path)
    return [
      { target, file, quoted, rows: [...rows.matchAll(/`([^`]+)`/g)].map(([, row = '']) => row) },
    ]
  })
}

/** As GitHub names the headings of a page. */
function anchorsOf(document: string): ReadonlySet<string> {
  const prose = textOf(document).replaceAll(/^ *```.*?^ *```/gms, '')
  const headings = [...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )
  return new Set(headings)
}

function cellsOf(section: string): readonly (readonly string[])[] {
  const lines =
    textOf(SEMANTICS).split(`\n## ${section}\n`)[1]?.split('\n## ')[0]?.split('\n') ?? []
  return lines
    .filter((line) => line.startsWith('| ') && !line.startsWith('| Row'))
    .map((line) => line.slice(2, -2).split(' | '))
}

function cases(): readonly Case[] {
  return cellsOf('The cases').map(([row = '', , verdict = '', shown = '']) => ({
    row,
    verdict,
    shown,
  }))
}

function numbered(prefix: string, last: number): readonly string[] {
  return Array.from({ length: last }, (_, index) => `${prefix}${index + 1}`)
}

const DEMANDED: readonly string[] = [
  ...numbered('B', 79),
  ...numbered('D', 12),
  ...numbered('U', 18),
  ...numbered('U12.', 17),
  ...numbered('R', 16),
  ...numbered('A', 5),
]

suite('the documents', () => {
  const documents = globSync(['*.md', '{docs,bench,schemas}/**/*.md'], { cwd: root }).sort()
  for (const name of documents) {
    const links = linksOf(join(root, name))
    test(`${name} leads to files that exist`, () => {
      deepEqual(
        links.filter(({ file }) => !existsSync(file)).map(({ target }) => target),
        [],
      )
    })
    test(`${name} leads to headings that exist`, () => {
      const wrong = links.filter(({ target, file }) => {
        const [, heading] = target.split('#')
        return heading !== undefined && file.endsWith('.md') && !anchorsOf(file).has(heading)
      })
      deepEqual(
        wrong.map(({ target }) => target),
        [],
      )
    })
    test(`${name} has no line of prose beyond ${WIDTH} characters`, () =>
      deepEqual(tooLong(textOf(join(root, name))), []))
  }
})

test('docs/README.md names each page once', () => {
  const named = linksOf(join(root, 'docs', 'README.md')).map(({ file }) => relative(root, file))
  deepEqual(
    named.filter((file) => /^docs\/\w+\/[\w-]+\.(md|json)$/.test(file)).toSorted(),
    globSync('docs/*/*.{md,json}', { cwd: root }).toSorted(),
  )
})

test('comments, messages, alerts and the chart name pages that exist', () => {
  const sources = globSync(
    [
      '{adapters,bench,cli,core,deploy,docs,playground,ports,runtime}/**/*.*',
      '{scripts,services,sim,testing,web}/**/*.*',
      '*.*',
      'Dockerfile',
    ],
    { cwd: root, exclude: (name) => name === 'node_modules' },
  ).filter((name) => /(\.(ts|js|md|json|ya?ml|txt|py|go|java)|Dockerfile)$/.test(name))
  const missing = sources.flatMap((name) =>
    [...textOf(join(root, name)).matchAll(PAGE)]
      .map(([page]) => page)
      .filter((page) => !existsSync(join(root, page)))
      .map((page) => `${name}: ${page}`),
  )
  deepEqual(missing, [])
})

suite('docs/inside/semantics.md', () => {
  const links = linksOf(SEMANTICS)

  test('quotes tests that exist', () => {
    const wrong = links.filter(
      ({ file, quoted }) => quoted !== undefined && !textOf(file).includes(quoted),
    )
    deepEqual(
      wrong.map(({ target, quoted }) => `${target}: ${quoted}`),
      [],
    )
  })

  test('names rows that a scenario of that file covers', () => {
    const wrong = links.flatMap(({ file, rows }) =>
      rows.filter(
        (row) => !new RegExp(`'[^'\n]*\\b${row.replace('.', '\\.')}\\b[^'\n]*'`).test(textOf(file)),
      ),
    )
    deepEqual(wrong, [])
  })

  test('has each case once', () => {
    const rows = cases().map(({ row }) => row)
    deepEqual(rows.filter((row) => /^[A-Z][\d.]+$/.test(row)).toSorted(), DEMANDED.toSorted())
  })

  test('has a verdict on each case, and says what shows it', () => {
    const wrong = cases().filter(
      ({ verdict, shown }) =>
        !VERDICT.test(verdict) || !(shown === 'not shown by a test' || /^\[/.test(shown)),
    )
    deepEqual(wrong, [])
  })

  test('names each scenario with its rows, and says where upstream is worse', () => {
    const told = cellsOf('The scenarios').map((cells) => cells.join(' | '))
    const expected = SCENARIOS.map(({ rows, says, better }) =>
      [rows, says, better === undefined ? 'same' : `better: ${better}`].join(' | '),
    )
    deepEqual(told.toSorted(), expected.toSorted())
  })

  test('links each story of a conflicting identity', () => {
    const stories = globSync('core/scenarios/u1[23]-*.txt', { cwd: root })
    const linked = new Set(links.map(({ file }) => relative(root, file)))
    deepEqual(
      stories.filter((story) => !linked.has(story)),
      [],
    )
  })
})
