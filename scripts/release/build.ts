/**
 * Compiles the command into `dist`, laid out like the checkout: modules without types, and next to
 * them the files that they read.
 *
 * What must stay true: only modules that cli/main.ts reaches are compiled; the checkout itself
 * never runs what is here (cli/kinfold.js prefers sources).
 *
 * Not here: the other files of the package (`files` in package.json).
 */
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const ROOT = join(import.meta.dirname, '..', '..')
const DIST = join(ROOT, 'dist')
/** Read by the modules, by their path from there. */
const DATA = [
  'schemas/**/*.avsc',
  'adapters/memory/api/schema.tsv',
  'services/graph/page/*',
  'cli/kinfold.js',
]

rmSync(DIST, { recursive: true, force: true })
const typescript = dirname(createRequire(import.meta.url).resolve('typescript/package.json'))
execFileSync(
  process.execPath,
  [join(typescript, 'bin', 'tsc'), '-p', join(ROOT, 'tsconfig.build.json')],
  { stdio: 'inherit' },
)
for (const file of globSync(DATA, { cwd: ROOT })) cpSync(join(ROOT, file), join(DIST, file))
const { name, version, type } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
writeFileSync(join(DIST, 'package.json'), `${JSON.stringify({ name, version, type }, null, 2)}\n`)
