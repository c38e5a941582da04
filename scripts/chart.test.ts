/**
 * The output of `npm run chart` equals the checked-in files (`UPDATE=1` here writes them again),
 * and the chart's version is the package's.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { missingServers } from '../testing/cluster/binaries.ts'
import { CHART, chartFiles, kustomizeBase } from './chart.ts'
import { VALUES } from './chart-values.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

function textOf(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

function isWritten({ file, text }: { readonly file: string; readonly text: string }): void {
  if (process.env['UPDATE'] === '1') writeFileSync(join(root, file), text)
  equal(textOf(file), text, `${file}: run npm run chart`)
}

for (const each of chartFiles(root)) {
  test(`${each.file} is what \`npm run chart\` writes`, () => isWritten(each))
}

test(
  'the kustomize base is what Helm makes of the chart',
  {
    skip: missingServers('helm') ?? false,
  },
  () => isWritten(kustomizeBase(root)),
)

test('each value has a sentence, which values.yaml prints above it (C17)', () => {
  deepEqual(
    VALUES.filter(({ text }) => text === '').map(({ path }) => path),
    [],
  )
})

test('the chart has the version of the package', () => {
  const { version } = JSON.parse(textOf('package.json')) as { version: string }
  const chart = parse(textOf(`${CHART}/Chart.yaml`)) as { version: string; appVersion: string }
  deepEqual([chart.version, chart.appVersion], [version, version])
})

test('each value has a row, and each row a value', () => {
  const paths = VALUES.map(({ path }) => path)
  const isRow = (path: string): boolean => paths.includes(path)
  const leaves = (value: unknown, path: string): readonly string[] =>
    isRow(path) || typeof value !== 'object' || value === null
      ? [path]
      : Object.entries(value).flatMap(([key, each]) =>
          leaves(each, path === '' ? key : `${path}.${key}`),
        )
  const values = parse(textOf(`${CHART}/values.yaml`)) as unknown
  deepEqual(leaves(values, '').toSorted(), paths.toSorted())
})
