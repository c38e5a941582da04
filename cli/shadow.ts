/** `kinfold shadow`: what another collector of the same cluster deletes, beside what Kinfold would. Exit code 1 when they differ. */
import type { Command } from 'commander'
import { EXIT, ExitError } from '../runtime/lifecycle.ts'
import type { ShadowCase, ShadowReport } from '../services/graph/audit/shadow-report.ts'
import type { ClientFlags } from './client.ts'
import { ask, serverOf, withServer } from './client.ts'
import { table, time } from './table.ts'

export function addShadow(program: Command): void {
  withServer(program.command('shadow'))
    .description(
      'in mode observe: where another collector and Kinfold agree, and where not and why',
    )
    .option('-o, --output <format>', 'table or json', 'table')
    .option('--unclear', 'also what went beside a living owner, whoever deleted it')
    .action(async (flags: ClientFlags & { output: string; unclear?: boolean }) => {
      const { output, unclear = false } = flags
      if (output !== 'table' && output !== 'json') {
        throw new ExitError(EXIT.input, `-o ${output} is none of table, json`)
      }
      const response = await ask(serverOf(flags), '/v1/shadow')
      const report = (await response.json()) as ShadowReport
      const text =
        output === 'json' ? `${JSON.stringify(report, null, 2)}\n` : show(report, unclear)
      process.stdout.write(text)
      const differs = report.clusters.some(({ theirs, ours }) => theirs + ours > 0)
      process.exitCode = differs ? EXIT.findings : EXIT.ok
    })
}

export function show(report: ShadowReport, withUnclear: boolean): string {
  const { since, mode, patienceMs, clusters, cases } = report
  const now = mode === 'observe' ? '' : `; nothing is now, in mode ${mode ?? 'unknown'}`
  if (since === null) return `Nothing is compared${now || ' yet'}: start with --mode observe.\n`
  const head = ['CLUSTER', 'AGREED', 'THEIRS', 'OURS', 'UNCLEAR', 'PENDING', 'MEDIAN LAG', 'P99']
  const rows = clusters.map((each) => [
    each.clusterName,
    ...[each.agreed, each.theirs, each.ours, each.unclear, each.pending].map(String),
    duration(each.medianLagMs),
    duration(each.p99LagMs),
  ])
  const told = cases.filter(({ agreement }) => withUnclear || agreement !== 'unclear')
  const parts = [
    `Compared since ${time(since)}, with a patience of ${patienceMs / 1_000} s${now}.\n`,
    table(head, rows),
  ]
  if (told.length > 0) {
    parts.push(table(['', 'WHEN', 'CLUSTER', 'NAMESPACE', 'OBJECT', 'WHY'], told.map(rowOf)))
  }
  return parts.join('\n')
}

function rowOf({
  agreement,
  at,
  clusterName,
  namespace,
  kind,
  name,
  because,
  evidence,
}: ShadowCase) {
  const why = evidence === null ? because : `${because} [${evidence}]`
  return [agreement, time(at), clusterName, namespace || '-', `${kind}/${name}`, why]
}

function duration(ms: number | null): string {
  if (ms === null) return '-'
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`
}
