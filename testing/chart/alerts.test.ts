/** Alert rules and dashboard name metrics, labels and pages that exist. What must stay true: docs/metrics.md is the table of all (cli/process-metrics.test.ts). */
import { deepEqual, ok } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { parse } from 'yaml'
import { CHART } from '../../scripts/chart.ts'
import { ROOT } from './variant.ts'

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly annotations: Readonly<Record<string, string>>
}

interface Dashboard {
  readonly panels: readonly {
    readonly title: string
    readonly targets: readonly { readonly expr: string }[]
  }[]
}

function textOf(...path: readonly string[]): string {
  return readFileSync(join(ROOT, ...path), 'utf8')
}

/** Name to labels. */
const metrics = new Map(
  [...textOf('docs', 'metrics.md').matchAll(/^\| `(\w+)` \| (\w+) \| ([^|]*) \|/gm)].flatMap(
    ([, name = '', type, labels = '']): [string, readonly string[]][] => {
      const all = labels.split(',').map((label) => label.trim())
      return type === 'histogram' ? [[`${name}_bucket`, all]] : [[name, all]]
    },
  ),
)
/** Of the scrape. */
const TARGET_LABELS = ['job', 'instance', 'pod']

function problemsOf(expr: string): readonly string[] {
  const names = [...expr.matchAll(/\b(?:kinfold|process|leader_election)_\w+/g)].map(
    ([name]) => name,
  )
  const labels = [
    ...[...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(', ')),
    ...[...expr.matchAll(/(\w+)=~?"/g)].map(([, label = '']) => label),
  ]
  const known = new Set([...names.flatMap((name) => metrics.get(name) ?? []), ...TARGET_LABELS])
  return [
    ...(names.length === 0 ? ['no metric'] : []),
    ...names.filter((name) => !metrics.has(name)),
    ...labels.filter((label) => !known.has(label)),
  ]
}

suite('alerts and dashboard', () => {
  const { groups } = parse(textOf(CHART, 'files', 'alerts.yaml')) as { groups: { rules: Rule[] }[] }
  const rules = groups.flatMap((group) => group.rules)
  const dashboard = JSON.parse(textOf(CHART, 'files', 'dashboard.json')) as Dashboard

  test('name metrics and labels that docs/metrics.md has', () => {
    ok(metrics.size > 40 && rules.length > 10 && dashboard.panels.length > 10)
    const wrong = [
      ...rules.map(({ alert, expr }) => [alert, problemsOf(expr)] as const),
      ...dashboard.panels.flatMap(({ title, targets }) =>
        targets.map(({ expr }) => [title, problemsOf(expr)] as const),
      ),
    ].filter(([, problems]) => problems.length > 0)
    deepEqual(wrong, [])
  })

  test('are described, each alert under its name, and no other', () => {
    const headings = [...textOf('docs', 'alerts.md').matchAll(/^## (.+)$/gm)].map(
      ([, name]) => name,
    )
    deepEqual(
      headings,
      rules.map(({ alert }) => alert),
    )
    for (const { alert, annotations } of rules) {
      deepEqual(annotations['runbook'], `docs/alerts.md#${alert.toLowerCase()}`)
    }
  })
})
