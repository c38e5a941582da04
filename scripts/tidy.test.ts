/** The repository is in order: types, format, lint, walls, and one schema for each record. */
import { deepEqual, equal } from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { cycles, importComplaint, tidy } from './tidy.ts'
import { oldNamesIn } from './word.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

function run(command: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(`${root}node_modules/.bin/${command}`, args, {
    cwd: root,
    encoding: 'utf8',
  })
  return status === 0 ? '' : `${stdout}${stderr}`
}

/** Their types are what their schemas have: to write them, too, would be a second copy. */
const SCHEMAS = /^services\/graph\/api\/(\w+-schema|route)\.ts\(\d+,\d+\): error TS90\d\d: .*\n/gm
test('types are right, and what a file exports has one that is written there', () =>
  equal(
    run('tsc', '-p', '.', '--isolatedDeclarations', '--pretty', 'false').replaceAll(SCHEMAS, ''),
    '',
  ))
test('types of the page are right, with those of a browser', () =>
  equal(run('tsc', '-p', 'web'), ''))
test('format and lint are right', () =>
  equal(run('biome', 'check', '--error-on-warnings', '.'), ''))

/** In biome.json: bounds of a function, and the files that stood beyond them when these came. */
const BOUNDS = ['noExcessiveLinesPerFunction', 'useMaxParams'] as const

interface BiomeConfig {
  readonly overrides: readonly {
    readonly includes: readonly string[]
    readonly linter: { readonly rules: { readonly complexity?: Readonly<Record<string, unknown>> } }
  }[]
}

test('a file whose functions keep a bound is no exception from it', (t) => {
  const config = JSON.parse(readFileSync(`${root}biome.json`, 'utf8')) as BiomeConfig
  const isException = ({ includes, linter }: BiomeConfig['overrides'][number], rule: string) =>
    linter.rules.complexity?.[rule] === 'off' && includes.every((each) => !each.includes('*'))
  const overrides = config.overrides.filter(
    (each) => !BOUNDS.some((rule) => isException(each, rule)),
  )
  const folder = mkdtempSync(join(tmpdir(), 'kinfold-biome-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'biome.json'), JSON.stringify({ ...config, root: true, overrides }))
  for (const rule of BOUNDS) {
    const excepted = config.overrides.flatMap((each) =>
      isException(each, rule) ? each.includes : [],
    )
    // Without a file the linter would read all of them.
    if (excepted.length === 0) continue
    const { stdout } = spawnSync(
      `${root}node_modules/.bin/biome`,
      [
        ...['lint', `--only=complexity/${rule}`, `--config-path=${folder}`],
        ...['--max-diagnostics=none', '--reporter=github', ...excepted],
      ],
      { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
    )
    deepEqual(
      excepted.filter((file) => !stdout.includes(`${file},line=`)),
      [],
      rule,
    )
  }
})
/** Uses of identifiers of which the glossary has another word: lower it with each that goes. */
const OLD_NAMES = 376
const PRODUCT = '{adapters,cli,core,playground,ports,runtime,services,web}/**/*.ts'

test('no identifier comes with a word that the glossary has another one for', () => {
  const files = globSync(PRODUCT, { cwd: root }).filter((file) => !/\.(test|contract)\./.test(file))
  const uses = files.flatMap((file) => oldNamesIn(readFileSync(`${root}${file}`, 'utf8')))
  equal(uses.length, OLD_NAMES)
})

test('every file keeps to its room', () => deepEqual(tidy(root), []))

const walls = [
  ['core/fold.ts', './graph/graph.ts', ''],
  ['core/fold.ts', 'node:fs', 'may not import node:fs'],
  ['core/judge/verdict.ts', '../observe/namespace.ts', ''],
  ['core/judge/verdict.ts', '../admit/hold.ts', 'may not import ../admit/hold.ts'],
  ['core/model/object.ts', '../fold.ts', 'may not import ../fold.ts'],
  ['core/judge/verdict.ts', '../graph/facts.ts', ''],
  ['core/judge.ts', './graph/key.ts', 'may not import ./graph/key.ts: ask the facts'],
  [
    'core/observe/sighting.ts',
    '../graph/graph.ts',
    'may not import ../graph/graph.ts: ask the facts',
  ],
  ['services/graph/query/view/view.ts', '../../turns.ts', ''],
  ['services/graph/query/view/view.ts', '../ask/choice.ts', 'may not import ../ask/choice.ts'],
  ['services/graph/query/view/view.ts', '../../graph.ts', 'may not import ../../graph.ts'],
  ['services/graph/fold/task.ts', '../query/view.ts', 'may not import ../query/view.ts'],
  ['core/fold.ts', '../ports/log.ts', 'may not import ../ports/log.ts'],
  ['adapters/level/store.ts', '../memory/store.ts', 'may not import ../memory/store.ts'],
  ['services/graph/fold/task.ts', '../../reaper/gate.ts', 'may not import ../../reaper/gate.ts'],
  [
    'services/graph/fold/task.ts',
    '../../../adapters/level/store.ts',
    'may not import ../../../adapters/level/store.ts',
  ],
  ['services/graph/main.ts', '../../adapters/level/store.ts', ''],
  ['web/base/ask.ts', '../../cli/answer.ts', ''],
  ['web/base/ask.ts', '../../cli/reach/client.ts', 'may not import ../../cli/reach/client.ts'],
  ['web/base/ask.ts', 'node:fs', 'may not import node:fs'],
  ['runtime/shares/fair-queue.ts', '../http/problem.ts', ''],
  ['runtime/shares/fair-queue.ts', '../http/endpoint.ts', 'may not import ../http/endpoint.ts'],
  ['runtime/metrics.ts', './http/endpoint.ts', 'may not import ./http/endpoint.ts'],
  ['services/reaper/decide/gate.ts', '../intake/lane.ts', 'may not import ../intake/lane.ts'],
  ['services/watcher/kind/catalog.ts', '../session.ts', 'may not import ../session.ts'],
  ['sim/fault/faults.ts', '../check/checkers.ts', 'may not import ../check/checkers.ts'],
  ['testing/model/story.ts', '../rig/task-rig.ts', 'may not import ../rig/task-rig.ts'],
  ['testing/model/story.ts', '../../sim/run.ts', ''],
  ['web/base/ask.ts', '../tree/tree-view.ts', 'may not import ../tree/tree-view.ts'],
  ['adapters/memory/api/api.ts', '../log.ts', 'may not import ../log.ts'],
  ['playground/http.ts', '../adapters/memory/exchange.ts', ''],
  ['playground/http.ts', '../adapters/sqlite/log.ts', 'may not import ../adapters/sqlite/log.ts'],
] as const

for (const [file, specifier, complaint] of walls) {
  test(`a wall: ${file} and ${specifier}`, () => equal(importComplaint(file, specifier), complaint))
}

test('files that import each other for types only are a cycle; a test is in none', () => {
  const texts = {
    'core/a.ts': "import type { B } from './b.ts'\n",
    'core/b.ts': "import type { C } from '../ports/c.ts'\n",
    'ports/c.ts': "export type { A } from '../core/a.ts'\n",
    'core/d.test.ts': "import { e } from './e.ts'\n",
    'core/e.ts': "import { d } from './d.test.ts'\nimport type { B } from './b.ts'\n",
  }
  const text = 'is in a cycle of files with core/b.ts, ports/c.ts'
  deepEqual(cycles(new Map(Object.entries(texts))), [{ file: 'core/a.ts', text }])
})
