/**
 * Whatever stands in a config file or a kubeconfig: settings within their bounds, or one sentence
 * and exit code 2.
 */
import { ok } from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { KubeconfigError, loadContexts } from '../../adapters/kubernetes/connection/kubeconfig.ts'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import { type Damage, damaged, damages, runs } from '../../testing/hostile.ts'
import { upConfig } from './config.ts'

const CONFIG = `apiVersion: kinfold/v1alpha1
kind: Config
contexts: [a, b]
mode: observe
preset: parity
partitions: 4
http: 127.0.0.1:0
keep: 30d
keepEvents: 1000000
`
const RULES = `${CONFIG}rules:
- name: a
  match:
    kinds: [Namespace, Job.batch]
    namespaces: ['preview-*']
    labels: 'preview=true,tier in (a,b),!keep'
    annotations: {example.com/a: 'true', b: {exists: false}}
    expression: object.metadata.name.startsWith("a") && now > timestamp("2026-01-01T00:00:00Z")
  cases:
  - when: {'status.conditions[type=Complete].status': 'True', spec.a: [1, true]}
    since: {field: 'status.conditions[type=Complete].lastTransitionTime'}
    after: {seconds: spec.ttlSecondsAfterFinished}
  for: 10m
  limit: {perHour: 200, percent: 20}
  propagationPolicy: Foreground
- builtin: janitor
  match: {kinds: [Pod], labels: a}
`
const KUBECONFIG = `apiVersion: v1
kind: Config
clusters:
- name: a
  cluster: {server: "https://127.0.0.1:6443", certificate-authority-data: "YQ=="}
users:
- name: a
  user: {token: abc}
contexts:
- name: a
  context: {cluster: a, user: a}
current-context: a
`
/** What only YAML knows: itself in itself, a billion laughs, tags, another document. */
const YAML = [
  '&a [*a]',
  '*a',
  '!!binary "////"',
  '!!set {a}',
  '<<: {mode: x}',
  '---',
  '? []\n: {}',
  '.inf',
]
const LAUGHS = ['a: &a [x,x,x,x,x,x,x,x,x]']
  .concat(
    ...Array.from(
      { length: 9 },
      (_, i) => `a${i}: &${'bcdefghij'[i]} [${`*${'abcdefghi'[i]},`.repeat(9)}]`,
    ),
  )
  .join('\n')

const folder = mkdtempSync(join(tmpdir(), 'kinfold-config-'))
after(() => rmSync(folder, { recursive: true }))

const withYaml: fc.Arbitrary<readonly Damage[]> = fc
  .tuple(damages, fc.constantFrom('', ...YAML))
  .map(([all, yaml]) =>
    yaml === '' ? all : all.map((each) => ({ ...each, what: 'put' as const, put: yaml })),
  )

test('a damaged config is settings within their bounds, or a sentence', () => {
  fc.assert(
    fc.property(withYaml, (all) => isSettings(damaged(CONFIG, all))),
    runs(1_500),
  )
})

test('damaged rules are rules that select or have a time, or a sentence', () => {
  fc.assert(
    fc.property(withYaml, (all) => isSettings(damaged(RULES, all))),
    runs(1_500),
  )
})

test('a config that holds itself, or grows without end, is a sentence', () => {
  for (const text of [
    `${CONFIG}data: &a [*a]\n`,
    `${CONFIG}${LAUGHS}\n`,
    `${CONFIG}data: ${'['.repeat(1e5)}\n`,
  ]) {
    isSettings(text)
  }
})

test('a damaged kubeconfig is contexts, or a sentence', () => {
  fc.assert(
    fc.property(withYaml, (all) => {
      const kubeconfig = written('kubeconfig', damaged(KUBECONFIG, all))
      try {
        for (const { name, server } of loadContexts({ kubeconfig, contexts: [] })) {
          ok(typeof name === 'string' && /^https?:/.test(server), `${name} ${server}`)
        }
      } catch (error) {
        ok(error instanceof KubeconfigError, String((error as Error).stack))
      }
    }),
    runs(1_000),
  )
})

function isSettings(text: string): void {
  const config = written('config', text)
  try {
    const made = upConfig({ config })
    const { mode, preset, partitions = 1, keepMs, keepEvents, contexts, rules } = made
    ok(['observe', 'dry-run', 'enforce'].includes(mode) && ['parity', 'guarded'].includes(preset))
    ok(partitions >= 1 && partitions <= 256 && Number.isSafeInteger(keepMs) && keepEvents > 0)
    ok(contexts.every((each) => typeof each === 'string'))
    for (const { match, cases } of rules) {
      ok(match.kinds.length > 0 && cases.length > 0)
      ok(match.labels.concat(match.annotations).every(({ values }) => values.length <= 100))
    }
  } catch (error) {
    ok(error instanceof ExitError && error.exitCode === EXIT.input, String((error as Error).stack))
    ok(!error.message.includes('\n    at '), error.message)
  }
}

function written(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}
