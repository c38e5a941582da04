/**
 * `kinfold diff`: which objects were added, deleted or changed between two moments, by whom those
 * were deleted, and whose owners are others.
 *
 * What must stay true: exit code 0 is said only where it is known that nothing differs. How long
 * ago is counted back once for both moments.
 *
 * Not here: what differs (services/graph/query/answer/past-diff.ts), what is printed of it
 * (diff-text.ts), which is loaded once it is answered.
 */
import type { Command } from 'commander'
import { shellWord } from '../../core/model/text.ts'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import type { AsOf, Diff } from '../answer.ts'
import { outputOf } from '../print/output.ts'
import { MOMENTS, type ObjectFlags, withObject } from '../reach/client.ts'
import { momentOf } from '../reach/moment.ts'
import { pagesOf, scopeOf, write } from '../reach/past.ts'

const OUTPUTS = ['table', 'wide', 'name', 'json', 'yaml', 'jsonl'] as const

interface DiffFlags extends ObjectFlags {
  readonly allNamespaces?: boolean
  readonly from: string
  readonly to?: string
  readonly output: string
}

export function addDiff(program: Command): void {
  withObject(program.command('diff'))
    .description('objects that were added, deleted or changed between two moments')
    .argument('[kind]', 'such as pods or deployments.apps; all without it')
    .option('-A, --all-namespaces', 'in all namespaces')
    .requiredOption('--from <moment>', `the earlier moment: ${MOMENTS}`)
    .option('--to <moment>', 'the later one (default: now)')
    .option('-o, --output <format>', OUTPUTS.join(', '), 'table')
    .action(async (kind: string | undefined, flags: DiffFlags) => {
      const output = outputOf(flags.output, OUTPUTS)
      if (kind?.includes('/')) {
        const { namespace, cluster } = flags
        const within = namespace === undefined ? '' : ` -n ${shellWord(namespace)}`
        const at = cluster === undefined ? '' : ` --cluster ${shellWord(cluster)}`
        const hint = `"kinfold history ${shellWord(kind)}${within}${at}" says what happened to one object`
        throw new ExitError(EXIT.input, `${kind}: expected KIND; ${hint}`)
      }
      const now = Date.now()
      const from = momentOf(flags.from, now, '--from')
      const to = flags.to === undefined ? undefined : momentOf(flags.to, now, '--to')
      const { server, params } = await scopeOf(flags)
      for (const [name, value] of Object.entries({ kind, from, to })) {
        if (value !== undefined) params.set(name, value)
      }
      const pages = pagesOf<Diff>(server, '/v1/diff', params, {}, ({ differences }) => {
        return differences.length
      })
      const answer = await joinedOf(pages, output === 'jsonl')
      if (output !== 'jsonl') {
        const { render } = await import('../print/diff-text.ts')
        await write(render(answer, output, params.get('namespace')))
      }
      if (answer.count === 0 && answer.partial !== '') {
        throw new ExitError(EXIT.failure, 'whether anything differs is not known: see the warning')
      }
      if (answer.count === 0 && kind !== undefined && answer.kinds.length === 0) {
        throw new ExitError(EXIT.input, `no cluster that is asked serves a kind ${kind}`)
      }
      process.exitCode = answer.count === 0 ? EXIT.ok : EXIT.findings
    })
}

/** All pages as one. `count`: also of rows that are printed already. */
interface Told extends Diff {
  readonly count: number
}

/** `isPrinted`: a row a line, as they come; else all are kept until they are in order. */
async function joinedOf(pages: AsyncIterable<Diff>, isPrinted: boolean): Promise<Told> {
  let first: Diff | undefined
  let count = 0
  const [rows, doubts, kinds] = [
    [] as Diff['differences'][number][],
    new Set<string>(),
    new Set<string>(),
  ]
  const asOf = new Map<number, AsOf>()
  for await (const page of pages) {
    if (first === undefined || first.from === null) first = page
    count += page.differences.length
    if (page.partial !== '') doubts.add(page.partial)
    for (const name of page.kinds) kinds.add(name)
    for (const each of page.asOf) if (!asOf.has(each.partition)) asOf.set(each.partition, each)
    if (!isPrinted) rows.push(...page.differences)
    else for (const row of page.differences) await write(`${JSON.stringify(row)}\n`)
  }
  if (first === undefined) throw new ExitError(EXIT.failure, 'kinfold answered no page')
  return {
    ...first,
    partial: [...doubts].join('; '),
    asOf: [...asOf.values()],
    differences: rows,
    kinds: [...kinds],
    continue: null,
    count,
  }
}
