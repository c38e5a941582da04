/**
 * `kinfold deletions`: which objects were deleted, when, by Kinfold or by others, by which user,
 * and after which owner; with `-w` also those that come.
 *
 * What must stay true: what is not known is printed as unknown, and a guess as one. What is
 * followed begins where the pages end: nothing is missed between them, and nothing comes twice. A
 * row is printed once, with what is known then.
 */
import type { Command } from 'commander'
import type { DeletionList } from '../answer.ts'
import { outputOf, structured } from '../print/output.ts'
import { yaml } from '../print/yaml.ts'
import { type Server, withObject } from '../reach/client.ts'
import {
  changesFrom,
  joined,
  nothing,
  type PastFlags,
  pagesOf,
  refuseEnd,
  rowsFor,
  scopeOf,
  setSpan,
  withSpan,
  write,
} from '../reach/past.ts'

const OUTPUTS = ['table', 'wide', 'name', 'json', 'yaml'] as const
type Output = (typeof OUTPUTS)[number]

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
      'only what Kinfold deleted on such evidence: deleted, waiting, missing, not-found, bulk, rule',
    )
    .option('--cascade <root>', 'only what was deleted with this owner: KIND/NAME or uid:UID')
    .option('-w, --watch', 'then each that comes, as it is known then, until it is stopped')
    .option('-o, --output <format>', OUTPUTS.join(', '), 'table')
    .action(async (kind: string | undefined, flags: DeletionFlags) => {
      const output = outputOf(flags.output, OUTPUTS)
      refuseEnd(flags)
      const { server, params } = await scopeOf(flags)
      const { by, evidence, cascade: root } = flags
      for (const [name, value] of Object.entries({ kind, by, evidence, root })) {
        if (value !== undefined) params.set(name, value)
      }
      const filter = new URLSearchParams(params)
      await setSpan(params, flags, Date.now())
      const asked = { ...flags, said: new Set<string>() }
      const pages = await rowsFor<DeletionList>(server, '/v1/deletions', params, asked, 'deletions')
      if (flags.watch) {
        return await watch(pages, await textOf(output, flags), (resume) =>
          behind(server, filter, resume, asked.said),
        )
      }
      if (output === 'json' || output === 'yaml') {
        return await write(structured(await joined(pages, 'deletions'), output))
      }
      await print(pages, output, flags, async (since) => {
        return await nothing('deletions', since, server, params)
      })
    })
}

async function print(
  pages: AsyncIterable<DeletionList>,
  output: Output,
  flags: DeletionFlags,
  none: (since: string | null) => Promise<string>,
): Promise<void> {
  const { by } = flags
  let text: TextOf | undefined
  let since: string | null | undefined
  let isEmpty = true
  for await (const page of pages) {
    since ??= page.since
    isEmpty &&= page.deletions.length === 0
    text ??= await textOf(output, flags)
    await write(text(page.deletions))
  }
  if (isEmpty && output !== 'name') {
    await write(await none(since ?? null))
    const isOfUser = by !== undefined && by !== 'kinfold' && by !== 'others'
    if (isOfUser)
      await write(
        `Only an audit log names users (docs/ask/who.md): of the others it is not known.\n`,
      )
  }
}

type TextOf = (deletions: DeletionList['deletions']) => string

/** Of rows as they come. */
async function textOf(output: Output, flags: DeletionFlags): Promise<TextOf> {
  switch (output) {
    case 'json':
      return (deletions) => deletions.map((each) => `${JSON.stringify(each)}\n`).join('')
    case 'yaml':
      return (deletions) => deletions.map((each) => `---\n${yaml().stringify(each)}`).join('')
    case 'table':
    case 'wide':
    case 'name':
      return (await import('../print/deletions-text.ts')).printerOf(output, flags)
  }
}

async function watch(
  pages: AsyncIterable<DeletionList>,
  text: TextOf,
  later: (resume: string) => AsyncIterable<DeletionList>,
): Promise<void> {
  let resume = ''
  for await (const page of pages) {
    resume ||= page.resume ?? ''
    await write(text(page.deletions))
  }
  for await (const page of later(resume)) await write(text(page.deletions))
}

/** Words of a question that the stream of changes takes, too. */
const OF_STREAM = ['cluster', 'namespace', 'kind']

/**
 * The stream says that something was deleted, the list from there on by whom: each is listed once.
 */
async function* behind(
  server: Server,
  filter: URLSearchParams,
  resume: string,
  said: Set<string>,
): AsyncIterable<DeletionList> {
  const words = [...filter].filter(([name]) => OF_STREAM.includes(name))
  const stream = new URLSearchParams([...words, ['change', 'gone']])
  let from = resume
  for await (const { partition, offset } of changesFrom(server, stream, resume)) {
    if (offset < nextIn(from, partition)) continue
    const asked = new URLSearchParams([...filter, ['from', from]])
    const rows = ({ deletions }: DeletionList): number => deletions.length
    for await (const page of pagesOf(server, '/v1/deletions', asked, { said }, rows)) {
      from = page.resume ?? from
      yield page
    }
  }
}

/** The offset that is the next one to read, in `PARTITION-OFFSET,…`. */
function nextIn(positions: string, partition: number): number {
  const own = positions.split(',').find((each) => each.startsWith(`${partition}-`))
  return Number(own?.split('-')[1] ?? 0)
}
