/**
 * `kinfold deletions`: which objects were deleted, when, by Kinfold or by others, by which user, and after which owner.
 *
 * What must stay true: what is not known is printed as unknown, and a guess as one.
 */
import type { Command } from 'commander'
import type { DeletionList } from '../answer.ts'
import type { printerOf } from '../print/deletions-text.ts'
import { outputOf, structured } from '../print/output.ts'
import { withObject } from '../reach/client.ts'
import {
  joined,
  nothing,
  type PastFlags,
  rowsFor,
  scopeOf,
  setSpan,
  withSpan,
  write,
} from '../reach/past.ts'

const OUTPUTS = ['table', 'wide', 'name', 'json', 'yaml'] as const

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
      let print: ReturnType<typeof printerOf> | undefined
      let since: string | null | undefined
      let isEmpty = true
      for await (const page of pages) {
        since ??= page.since
        isEmpty &&= page.deletions.length === 0
        print ??= (await import('../print/deletions-text.ts')).printerOf(output, flags)
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
