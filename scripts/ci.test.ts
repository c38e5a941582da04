/**
 * What decides leaves nothing out: it requires every tier and draws every world, by the names that
 * the tests read.
 */
import { deepEqual, match, ok } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  ACTIONLINT_VERSION,
  ETCD_VERSION,
  HELM_VERSION,
  KREW_VERSION,
  KUBERNETES_VERSION,
  PROMETHEUS_VERSION,
  SERVERS,
} from '../testing/cluster/binaries.ts'

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
  match(text('docs/inside/testing.md'), /KINFOLD_WORLDS=all/)
  match(text('docs/inside/testing.md'), /KINFOLD_REQUIRE_SERVERS=1/)
})

test('what is built of Go has the version that its folder is called by', () => {
  const versions = {
    actionlint: ACTIONLINT_VERSION,
    etcd: ETCD_VERSION,
    helm: HELM_VERSION,
    krew: KREW_VERSION,
    kubernetes: KUBERNETES_VERSION,
    prometheus: PROMETHEUS_VERSION,
  }
  for (const { module, package: path } of SERVERS) {
    const required = text(`testing/cluster/go/${module}/go.mod`).match(/^\s(\S+) v\S+/gm) ?? []
    const ofIt = required
      .map((line) => line.trim().split(' ') as [string, string])
      .filter(([name]) => path === name || path.startsWith(`${name}/`))
      .toSorted(([a], [b]) => b.length - a.length)
    deepEqual(ofIt[0]?.[1], versions[module], path)
  }
})

test('what helm and promtool share is of one version, so that it is compiled once', () => {
  const versionsOf = (module: string): ReadonlyMap<string, string> => {
    const required = text(`testing/cluster/go/${module}/go.mod`).matchAll(/^\s(\S+) (v\S+)/gm)
    return new Map([...required].map(([, name = '', version = '']) => [name, version]))
  }
  const [helm, prometheus] = [versionsOf('helm'), versionsOf('prometheus')]
  const shared = [...helm].filter(([name]) => prometheus.has(name))
  ok(shared.length > 30)
  deepEqual(
    shared.filter(([name, version]) => prometheus.get(name) !== version),
    [],
  )
})
