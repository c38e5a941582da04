/**
 * Alert rules and dashboard name metrics, labels and pages that exist, and Prometheus' own promtool
 * says that each alert fires when it should and only then.
 *
 * What must stay true: docs/operate/metrics.md is the table of all metrics
 * (cli/process/process-metrics.test.ts).
 */
import { deepEqual, match, ok } from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { parse, stringify } from 'yaml'
import { CHART } from '../../scripts/chart.ts'
import { missingServers, requireBinary } from '../cluster/binaries.ts'
import { isOfOperator, named, ROOT, render } from './variant.ts'

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly annotations: Readonly<Record<string, string>>
}

/** As promtool reads it. */
interface AlertTest {
  readonly alert_rule_test: readonly {
    readonly alertname: string
    readonly exp_alerts: readonly object[]
  }[]
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
  [
    ...textOf('docs', 'operate', 'metrics.md').matchAll(/^\| `(\w+)` \| (\w+) \| ([^|]*) \|/gm),
  ].flatMap(([, name = '', type, labels = '']): [string, readonly string[]][] => {
    const all = labels.split(',').map((label) => label.trim())
    return type === 'histogram' ? [[`${name}_bucket`, all]] : [[name, all]]
  }),
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

  test('name metrics and labels that docs/operate/metrics.md has', () => {
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
    const headings = [...textOf('docs', 'operate', 'alerts.md').matchAll(/^## (.+)$/gm)].map(
      ([, name]) => name,
    )
    deepEqual(
      headings,
      rules.map(({ alert }) => alert),
    )
    for (const { alert, annotations } of rules) {
      deepEqual(annotations['runbook'], `docs/operate/alerts.md#${alert.toLowerCase()}`)
    }
  })

  test('fire, each of them, in a test of promtool, and stay quiet in one', () => {
    const { tests } = parse(textOf('testing', 'chart', 'alerts-test.yaml')) as {
      tests: readonly AlertTest[]
    }
    const cases = tests.flatMap((each) => each.alert_rule_test)
    const tested = (isFiring: boolean): readonly string[] => {
      const found = cases.filter((each) => each.exp_alerts.length > 0 === isFiring)
      return [...new Set(found.map(({ alertname }) => alertname))].toSorted()
    }
    const all = rules.map(({ alert }) => alert).toSorted()
    deepEqual([tested(true), tested(false)], [all, all])
  })

  test('do so by promtool', { skip: missingServers('promtool') ?? false }, () => {
    promtool('test', 'rules', join(import.meta.dirname, 'alerts-test.yaml'))
  })

  test('are rules that promtool accepts, as a file and as the chart has them', {
    skip: missingServers('promtool', 'helm') ?? false,
  }, (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'kinfold-rules-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const made = render('defaults.yaml', '--set', 'prometheusRule.enabled=true')
    const { spec } = named(made.filter(isOfOperator), 'PrometheusRule') as unknown as {
      spec: unknown
    }
    const file = join(folder, 'rules.yaml')
    writeFileSync(file, stringify(spec))
    for (const each of [join(ROOT, CHART, 'files', 'alerts.yaml'), file]) {
      match(
        promtool('check', 'rules', '--lint-fatal', each),
        new RegExp(`${rules.length} rules found`),
      )
    }
  })
})

/** Throws its output if it fails. */
function promtool(...args: readonly string[]): string {
  return execFileSync(requireBinary('promtool'), args, { encoding: 'utf8', stdio: 'pipe' })
}
