/** `kinfold audit horizon`: how far back each question reaches, for each partition, and why. */
import type { Command } from 'commander'
import type { Horizon } from '../answer.ts'
import { outputOf, structured } from '../print/output.ts'
import { table } from '../print/table.ts'
import { ask, type ClientFlags, serverOf, warnPartial, withServer } from '../reach/client.ts'

const OUTPUTS = ['table', 'json', 'yaml'] as const

/** In a client that opens no log, this is all that there is of `audit`. */
export function addAuditQuestions(program: Command): void {
  addHorizon(program.command('audit').description('questions about the record itself'))
}

export function addHorizon(audit: Command): void {
  withServer(audit.command('horizon'))
    .description('how far back each question reaches, and why: asks a running Kinfold')
    .option('-o, --output <format>', OUTPUTS.join(', '), 'table')
    .action(async (flags: ClientFlags & { output: string }) => {
      const output = outputOf(flags.output, OUTPUTS)
      const answer = (await (await ask(serverOf(flags), '/v1/horizon')).json()) as Horizon
      warnPartial(answer.partial)
      process.stdout.write(output === 'table' ? render(answer) : structured(answer, output))
    })
}

export function render({ bounds }: Horizon): string {
  const rows = bounds.flatMap(({ questions, earliest, because, partitions }) => {
    const asked = questions.join(', ')
    if (partitions.length === 0) return [[asked, '-', earliest ?? '-', because]]
    const alike = Map.groupBy(partitions, (each) => JSON.stringify([each.earliest, each.because]))
    return [...alike.values()].map((some) => {
      const numbers = rangesOf(some.map(({ partition }) => partition))
      return [asked, numbers, some[0]?.earliest ?? '-', some[0]?.because ?? '']
    })
  })
  return table(['QUESTIONS', 'PARTITIONS', 'EARLIEST', 'WHY'], rows)
}

/** `0-3,7`. */
function rangesOf(numbers: readonly number[]): string {
  const ranges: [number, number][] = []
  for (const each of numbers.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1)
    if (last !== undefined && last[1] === each - 1) last[1] = each
    else ranges.push([each, each])
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',')
}
