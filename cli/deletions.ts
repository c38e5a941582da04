/**
 * `kinfold deletions`: which objects were deleted, when, by Kinfold or by others, by which user, and after which owner.
 *
 * What must stay true: what is not known is printed as unknown, and a guess as one.
 */
import type { Command } from 'commander'
import { labelOf } from '../services/graph/query/cluster-label.ts'
import { deleterText, whoText } from '../web/deletion-text.ts'
import type { DeletionList } from './answer.ts'
import { withObject } from './client.ts'
import { outputOf, structured } from './output.ts'
import {
  joined,
  nothing,
  type PastFlags,
  rowsFor,
  scopeOf,
  setSpan,
  withSpan,
  write,
} from './past.ts'
import { GrowingTable } from './table.ts'
import { lineOf } from './terminal.ts'
import { objectName, recordedText } from './word.ts'

const OUTPUTS = ['table', 'wide', 'name', 'json', 'yaml'] as const
type Output = (typeof OUTPUTS)[number]
type Deletion = DeletionList['deletions'][number]

interface DeletionFlags extends PastFlags {
  readonly by?: string
  readonly evidence?: string
  readonly cascade?: string
}

export function addDeletions(program: Command): void {
  withSpan(withObject(program.command('deletions')))
    .description('objects that were deleted: when, by whom, after which owner; the oldest first')
    .argument('[kind]', 'such as pods or deployments.apps; all without it')
    .option(
      '--by <who>',
      'only by kinfold, by others, or by the user of this name, as an audit log has it',
    )
    .option(
      '--evidence <list>',
      'only what Kinfold deleted on such evidence: deleted, waiting, missing, not-found, bulk',
    )
    .option('--cascade <root>', 'only what was deleted with this owner: KIND/NAME or uid:UID')
    .option('-o, --output <format>', OUTPUTS.join(', '), 'table')
    .action(async (kind: string | undefined, flags: DeletionFlags) => {
      const output = outputOf(flags.output, OUTPUTS)
      const { server, params } = await scopeOf(flags)
      const { by, evidence, cascade: root } = flags
      for (const [name, value] of Object.entries({ kind, by, evidence, root })) {
        if (value !== undefined) params.set(name, value)
      }
      await setSpan(params, flags, Date.now())
      const pages = await rowsFor<DeletionList>(server, '/v1/deletions', params, flags, 'deletions')
      if (output === 'json' || output === 'yaml') {
        return await write(structured(await joined(pages, 'deletions'), output))
      }
      const print = printerOf(output, flags)
      let since: string | null | undefined
      let isEmpty = true
      for await (const page of pages) {
        since ??= page.since
        isEmpty &&= page.deletions.length === 0
        await write(print(page.deletions))
      }
      if (isEmpty && output !== 'name') {
        await write(nothing('deletions', since ?? null))
        const isOfUser = by !== undefined && by !== 'kinfold' && by !== 'others'
        if (isOfUser)
          await write(
            `Only an audit log names users (docs/who.md): of the others it is not known.\n`,
          )
      }
    })
}

export function printerOf(
  output: Exclude<Output, 'json' | 'yaml'>,
  { allNamespaces = false }: Pick<DeletionFlags, 'allNamespaces'>,
): (deletions: readonly Deletion[]) => string {
  const isWide = output === 'wide'
  const table = new GrowingTable([
    ...['TIME', 'CLUSTER', ...(allNamespaces ? ['NAMESPACE'] : []), 'OBJECT'],
    'EVIDENCE',
    ...(isWide ? ['BY', 'USER', 'ROOT', 'POSITION', 'UID', 'OBSERVED', 'COMMAND', 'MATCH'] : []),
    'DELETED',
    ...(isWide ? ['DETAILS'] : []),
  ])
  return (deletions) => {
    if (output === 'name') {
      return deletions.map((deletion) => `${lineOf(objectName(deletion))}\n`).join('')
    }
    return table.add(deletions.map((deletion) => rowOf(deletion, isWide, allNamespaces)))
  }
}

function rowOf(deletion: Deletion, isWide: boolean, hasNamespace: boolean): readonly string[] {
  const { at, cluster, namespace, by, evidence, partition, position } = deletion
  const { uid, observed, command, deletedBy, text } = deletion
  return [
    ...[at ?? '-', labelOf(cluster)],
    ...(hasNamespace ? [namespace] : []),
    ...[objectName(deletion), evidence ?? '-'],
    ...(isWide ? [by, deletedBy === null ? '-' : deleterText(deletedBy), rootText(deletion)] : []),
    ...(isWide ? [`pos:${partition}-${position}`, uid] : []),
    ...(isWide ? [observed ?? '-', command ?? '-', deletedBy?.match ?? '-'] : []),
    whoText(deletion),
    ...(isWide ? [recordedText(text)] : []),
  ]
}

function rootText({ root, isInferred }: Deletion): string {
  return root === null ? '-' : `${objectName(root)}${isInferred ? ' (inferred)' : ''}`
}
