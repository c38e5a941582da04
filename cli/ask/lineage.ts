/**
 * `kinfold lineage`: follows the public lineage stream, or exports where it ends. An example of a
 * consumer: it uses nothing that another program could not.
 */

import { once } from 'node:events'
import type { Command } from 'commander'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import { phaseText, recordedText } from '../../services/graph/api/word.ts'
import { outputOf } from '../print/output.ts'
import { lineOf } from '../print/terminal.ts'
import { yaml } from '../print/yaml.ts'
import type { ClientFlags, ScopeFlags } from '../reach/client.ts'
import { ask, linesOf, serverOf, withMoment, withScope, withServer } from '../reach/client.ts'
import { clusterScopeOf } from '../reach/scope.ts'

const OUTPUTS = ['text', 'json', 'yaml'] as const
const EXPORTS = ['jsonl', 'csv', 'cypher', 'dot', 'mermaid', 'graphml'] as const

interface ExportFlags extends ClientFlags, ScopeFlags {
  readonly namespace?: string
  readonly kind?: string
  readonly gone?: boolean
  readonly at?: string
  readonly output: string
}

interface Line {
  readonly partition: number
  readonly offset: number
  readonly key: string
  readonly value: {
    readonly clusterName: string
    readonly kind: string
    readonly namespace: string
    readonly name: string
    readonly phase: string
    readonly why: string
    readonly admission: { readonly by: string; readonly because: string } | null
  } | null
}

export function addLineage(program: Command): void {
  const lineage = program.command('lineage').description('the public stream of who owns what')
  withServer(lineage.command('tail'))
    .description(
      'the records that are kept, of which the last one of an object is its present state, then every change',
    )
    .option(
      '--from <where>',
      'start: from the oldest record that is kept; end: only what is new',
      'start',
    )
    .option('--no-follow', 'stop at the end')
    .option('-o, --output <format>', 'text, json or yaml (a record a line, or a document)', 'text')
    .action(async (flags: ClientFlags & { from: string; follow: boolean; output: string }) => {
      if (flags.from !== 'start' && flags.from !== 'end') {
        throw new ExitError(EXIT.input, `--from ${flags.from} is neither start nor end`)
      }
      const output = outputOf(flags.output, OUTPUTS)
      const path = `/v1/lineage?follow=${flags.follow}&from=${flags.from}`
      const response = await ask(serverOf(flags), path)
      for await (const line of linesOf(response)) {
        if (!process.stdout.write(recordText(line, output))) await once(process.stdout, 'drain')
      }
    })
  withMoment(withScope(withServer(lineage.command('export'))))
    .description('objects and their owner references, now or at a moment, for another program')
    .option('-n, --namespace <ns>', 'namespace (default: all, and what has none)')
    .option('--kind <kind>', 'objects of this kind alone')
    .option('--gone', 'also what was deleted, while its record is kept')
    .option('-o, --output <format>', EXPORTS.join(', '), 'jsonl')
    .action(exportAll)
}

async function exportAll(flags: ExportFlags): Promise<void> {
  const output = outputOf(flags.output, EXPORTS)
  const { cluster, hint } = await clusterScopeOf(flags)
  const { namespace, kind } = flags
  if (flags.at !== undefined) {
    const { momentOf } = await import('../reach/moment.ts')
    const { exportPast } = await import('./lineage-export.ts')
    const query = { cluster, namespace, kind, gone: flags.gone, at: momentOf(flags.at) }
    return await exportPast({ ...serverOf(flags), hint }, query, output)
  }
  const params = new URLSearchParams({ follow: 'false' })
  for (const [key, value] of Object.entries({ cluster, namespace, kind })) {
    if (value !== undefined) params.set(key, value)
  }
  const response = await ask({ ...serverOf(flags), hint }, `/v1/lineage?${params}`)
  const { exportLineage } = await import('./lineage-export.ts')
  const [, partial = ''] = /^299 - "(.*)"$/.exec(response.headers.get('warning') ?? '') ?? []
  await exportLineage(linesOf(response), { output, gone: flags.gone === true }, partial)
}

function recordText(line: string, output: (typeof OUTPUTS)[number]): string {
  switch (output) {
    case 'text':
      return `${lineOf(show(line))}\n`
    case 'json':
      return `${line}\n`
    case 'yaml':
      return `---\n${yaml().stringify(JSON.parse(line))}`
  }
}

function show(text: string): string {
  const { key, value, partition, offset } = JSON.parse(text) as Line
  const position = `${partition}-${offset}`.padEnd(12)
  if (value === null) return `${position} ${key} forgotten`
  const at = value.namespace === '' ? '' : ` -n ${value.namespace}`
  const state = phaseText(value.phase)
  const why = value.why === '' ? '' : `: ${recordedText(value.why, value.admission)}`
  return `${position} ${value.clusterName} ${value.kind}/${value.name}${at}  ${state}${why}`
}
