/**
 * `kinfold shadow`: what another collector of the same cluster deletes, beside what Kinfold would.
 * Exit code 1 when they differ.
 */

import type { Command } from 'commander'
import { EXIT } from '../../runtime/lifecycle.ts'
import { labelOf } from '../../services/graph/api/word.ts'
import type { Shadow as ShadowDocument } from '../answer.ts'
import { outputOf, structured } from '../print/output.ts'
import { table, time } from '../print/table.ts'
import type { ClientFlags } from '../reach/client.ts'
import { answerTo, serverOf, warnPartial, withServer } from '../reach/client.ts'

const OUTPUTS = ['table', 'json', 'yaml'] as const

export function addShadow(program: Command): void {
  withServer(program.command('shadow'))
    .description(
      'in mode observe: where another collector and Kinfold agree, and where they differ and why',
    )
    .option('-o, --output <format>', OUTPUTS.join(', '), 'table')
    .option('--unclear', 'also objects deleted while their owner existed, by users or controllers')
    .action(async (flags: ClientFlags & { output: string; unclear?: boolean }) => {
      const output = outputOf(flags.output, OUTPUTS)
      const answer = await answerTo(serverOf(flags), '/v1/shadow', {})
      warnPartial(answer.partial)
      process.stdout.write(
        output === 'table' ? show(answer, flags.unclear === true) : structured(answer, output),
      )
      const differs = answer.clusters.some(({ theirs, ours }) => theirs + ours > 0)
      process.exitCode = differs ? EXIT.findings : EXIT.ok
    })
}

export function show(report: ShadowDocument, withUnclear: boolean): string {
  const { since, mode, patienceMs, clusters, cases } = report
  const now = mode === 'observe' ? '' : `; nothing is compared now, in mode ${mode ?? 'unknown'}`
  if (since === null) return 'Nothing has been compared yet: start with --mode observe.\n'
  const head = ['CLUSTER', 'AGREED', 'THEIRS', 'OURS', 'UNCLEAR', 'PENDING', 'MEDIAN LAG', 'P99']
  const rows = clusters.map((each) => [
    labelOf(each.cluster),
    ...[each.agreed, each.theirs, each.ours, each.unclear, each.pending].map(String),
    duration(each.medianLagMs),
    duration(each.p99LagMs),
  ])
  const shown = cases.filter(({ agreement }) => withUnclear || agreement !== 'unclear')
  const parts = [
    `Compared since ${time(since)}, with a patience of ${patienceMs / 1_000} s${now}.\n`,
    table(head, rows),
  ]
  if (shown.length > 0) {
    parts.push(table(['', 'WHEN', 'CLUSTER', 'NAMESPACE', 'OBJECT', 'WHY'], shown.map(rowOf)))
  }
  return parts.join('\n')
}

function rowOf({
  agreement,
  at,
  cluster,
  namespace,
  kind,
  name,
  because,
  evidence,
}: ShadowDocument['cases'][number]) {
  const why = evidence === null ? because : `${because} [${evidence}]`
  return [agreement, time(at), labelOf(cluster), namespace || '-', `${kind}/${name}`, why]
}

function duration(ms: number | null): string {
  if (ms === null) return '-'
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`
}
