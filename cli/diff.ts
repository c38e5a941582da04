/**
 * `kinfold diff`: which objects were added, deleted or changed between two moments, by whom those were deleted, and whose owners are others.
 *
 * What must stay true: exit code 0 is said only where it is known that nothing differs. How long ago is counted back once for both moments.
 *
 * Not here: what differs (services/graph/query/past-diff.ts).
 */
import type { Command } from 'commander'
import { EXIT, ExitError } from '../runtime/lifecycle.ts'
import { labelOf } from '../services/graph/query/cluster-label.ts'
import type { AsOf, Diff } from './answer.ts'
import { MOMENTS, type ObjectFlags, withObject } from './client.ts'
import { byName } from './get-order.ts'
import { momentOf } from './moment.ts'
import { outputOf, structured } from './output.ts'
import { paint, type Style } from './paint.ts'
import { pagesOf, scopeOf, write } from './past.ts'
import { table } from './table.ts'
import { lineOf } from './terminal.ts'
import { evidenceText, objectName, recordedText, shortPhaseText } from './word.ts'

const OUTPUTS = ['table', 'wide', 'name', 'json', 'yaml', 'jsonl'] as const
type Output = (typeof OUTPUTS)[number]
type Row = Diff['differences'][number]
type Then = NonNullable<Row['from']>

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
      const told = await joinedOf(pages, output === 'jsonl')
      await write(render(told, output, flags.allNamespaces === true))
      if (told.count === 0 && told.partial !== '') {
        throw new ExitError(EXIT.failure, 'whether anything differs is not known: see the warning')
      }
      if (told.count === 0 && kind !== undefined && told.kinds.length === 0) {
        throw new ExitError(EXIT.input, `no cluster that is asked serves a kind ${kind}`)
      }
      process.exitCode = told.count === 0 ? EXIT.ok : EXIT.findings
    })
}

/** All pages as one. `count`: also of rows that are printed already. */
type Told = Diff & { readonly count: number }

/** `isPrinted`: a row a line, as they come; else all are kept until they are in order. */
async function joinedOf(pages: AsyncIterable<Diff>, isPrinted: boolean): Promise<Told> {
  let first: Diff | undefined
  let count = 0
  const [rows, doubts, kinds] = [[] as Row[], new Set<string>(), new Set<string>()]
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
    differences: rows.sort(byName),
    kinds: [...kinds],
    continue: null,
    count,
  }
}

export function render(told: Told, output: Output, hasNamespace: boolean): string {
  const { count, ...document } = told
  const { differences } = document
  switch (output) {
    case 'json':
    case 'yaml':
      return structured(document, output)
    case 'jsonl':
      return ''
    case 'name':
      return differences.map((row) => `${lineOf(objectName(row))}\n`).join('')
    case 'table':
    case 'wide':
      return count === 0 ? 'No differences.\n' : rows(differences, output === 'wide', hasNamespace)
  }
}

const STYLES: Readonly<Record<Row['change'], Style>> = {
  added: 'green',
  deleted: 'red',
  changed: 'yellow',
}

function rows(all: readonly Row[], isWide: boolean, hasNamespace: boolean): string {
  const head = [
    ...['CHANGE', 'TIME', 'CLUSTER', ...(hasNamespace ? ['NAMESPACE'] : []), 'OBJECT'],
    ...(isWide ? ['UID', 'EVIDENCE', 'COMMAND'] : []),
    'DETAILS',
  ]
  const cells = all.map((row) => [
    ...[row.change, row.at ?? '-', labelOf(row.cluster)],
    ...(hasNamespace ? [row.namespace] : []),
    objectName(row),
    ...(isWide ? [row.uid, row.deletion?.evidence ?? '-', row.deletion?.command ?? '-'] : []),
    detailsOf(row),
  ])
  const body = table(head, cells, (row, column) => {
    return column === 0 ? STYLES[all[row]?.change ?? 'changed'] : undefined
  })
  const counts = Map.groupBy(all, ({ change }) => change)
  const parts = (['added', 'deleted', 'changed'] as const).flatMap((change) => {
    const count = counts.get(change)?.length ?? 0
    return count === 0 ? [] : [paint(`${count} ${change}`, STYLES[change])]
  })
  return `${body}\n${lineOf(parts.join(', '))}.\n`
}

function detailsOf({ from, to, deletion }: Row): string {
  if (deletion !== null) return deletionText(deletion)
  if (to === null) return ''
  if (from === null) return to.owners.length === 0 ? '' : `owned by ${ownersText(to.owners)}`
  return [phasesText(from, to), ownerChangeText(from.owners, to.owners)]
    .filter((text) => text !== '')
    .join('; ')
}

function deletionText({ by, evidence, text }: NonNullable<Row['deletion']>): string {
  if (by !== 'kinfold') return by === 'others' ? 'by others' : 'by whom is unknown'
  const why = evidence === null ? '' : ` (${evidenceText(evidence)})`
  return `by Kinfold${why}: ${recordedText(text)}`
}

function phasesText(from: Then, to: Then): string {
  if (from.phase !== to.phase) return `${shortPhaseText(from.phase)} → ${shortPhaseText(to.phase)}`
  const isSame = from.deletionTimestamp === to.deletionTimestamp
  return isSame ? '' : 'its deletionTimestamp is another'
}

type Owners = Then['owners']

function ownerChangeText(from: Owners, to: Owners): string {
  if (JSON.stringify(from) === JSON.stringify(to)) return ''
  const [before, after] = [ownersText(from), ownersText(to)]
  if (before !== after) return `owners ${before || 'none'} → ${after || 'none'}`
  const [uids, others] = [from, to].map((owners) => owners.map(({ uid }) => uid).join(', '))
  if (uids !== others) return `owners ${before}: uid ${uids} → ${others}`
  return `owners ${before}: controller or blockOwnerDeletion is another`
}

function ownersText(owners: Owners): string {
  return owners.map(({ kind, name }) => `${kind.toLowerCase()}/${name}`).join(', ')
}
