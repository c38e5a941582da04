/** What decides leaves nothing out: it requires every tier and draws every world, by the names that the tests read. */
import { deepEqual, match } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '..')
const text = (file: string): string => readFileSync(join(root, file), 'utf8')

test('.ci/run requires every tier and every world, of all tests, and fails with them', () => {
  const lines = text('.ci/run').split('\n')
  deepEqual(lines[2], 'set -euo pipefail')
  deepEqual(
    lines.filter((line) => line.includes('npm test')),
    ['KINFOLD_REQUIRE_SERVERS=1 KINFOLD_WORLDS=all npm test'],
  )
})

test('its variables are those that the tests read and the documents name', () => {
  match(text('testing/drawn.ts'), /process\.env\['KINFOLD_WORLDS'\]/)
  match(text('testing/cluster/binaries.ts'), /process\.env\['KINFOLD_REQUIRE_SERVERS'\] === '1'/)
  match(text('docs/testing.md'), /KINFOLD_WORLDS=all/)
  match(text('docs/testing.md'), /KINFOLD_REQUIRE_SERVERS=1/)
})
