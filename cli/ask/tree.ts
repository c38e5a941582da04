/**
 * `kinfold tree`: the dependents of an object, or its owners; or what marks of tools name as
 * managed by it, in all clusters.
 */
import type { Command } from 'commander'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import { outputOf } from '../print/output.ts'
import type { ObjectFlags } from '../reach/client.ts'
import {
  answerTo,
  objectQuery,
  serverOf,
  warnPartial,
  withMoment,
  withObject,
} from '../reach/client.ts'
import { clusterScopeOf, questionOf } from '../reach/scope.ts'

const OUTPUTS = ['tree', 'wide', 'name', 'json', 'yaml', 'dot', 'mermaid'] as const
const LIVE_OUTPUTS = ['tree', 'wide', 'json', 'yaml'] as const

const USES_OUTPUTS: ReadonlySet<string> = new Set(['tree', 'wide', 'json', 'yaml'])
/** Objects that --across lists. */
const LISTED = '500'

interface TreeFlags extends ObjectFlags {
  readonly owners?: boolean
  readonly uses?: boolean
  readonly live?: boolean
  readonly across?: boolean
  readonly limit?: string
  readonly at?: string
  readonly output: string
}

export function addTree(program: Command): void {
  withMoment(withObject(program.command('tree')))
    .description('dependents of an object, level by level, or its owners')
    .argument('<object...>', 'one object: KIND/NAME, KIND NAME or uid:UID')
    .option('--owners', 'upwards: its owners, and theirs')
    .option(
      '--across',
      'what tools mark as managed by it (Argo CD, Flux, Helm, …), and what names it as its owner, in all clusters',
    )
    .option('--limit <n>', `objects that --across lists, ${LISTED} without it; all are counted`)
    .option('--uses', 'and which objects use it, and which it uses (takes a rule with unused)')
    .option('--live', 'with READY, STATUS and AGE, read with your own kubeconfig')
    .option('-o, --output <format>', OUTPUTS.join(', '), 'tree')
    .action(async (words: string[], flags: TreeFlags) => {
      if (flags.across) return await across(words, flags)
      const output = outputOf(flags.output, flags.live ? LIVE_OUTPUTS : OUTPUTS)
      checkTree(flags)
      const past = flags.at === undefined ? undefined : await import('../reach/moment.ts')
      const at = past?.momentOf(flags.at ?? '')
      if (at !== undefined && flags.live) {
        throw new ExitError(EXIT.input, '--live reads what is there now: it goes with no --at')
      }
      const { server, query } = await questionOf(words, flags)
      const { owners, uses } = flags
      const answer = await answerTo(server, '/v1/tree', { ...query, owners, uses, at })
      warnPartial(answer.partial)
      const { liveOf, render } = await import('./tree-text.ts')
      const live = flags.live ? await liveOf(answer, flags) : undefined
      const moment = past?.momentText(answer.asOf)
      process.stdout.write(render({ ...answer, moment }, output, owners === true, live))
    })
}

/** What would be left out without a word is refused. */
function checkTree({ uses, limit, output }: TreeFlags): void {
  if (limit !== undefined) {
    throw new ExitError(
      EXIT.input,
      '--limit is of what --across lists: leave it out, since a tree has all its dependents',
    )
  }
  if (uses === true && !USES_OUTPUTS.has(output)) {
    throw new ExitError(
      EXIT.input,
      `-o ${output} has owners and dependents alone: with --uses ask for -o ${[...USES_OUTPUTS].join(', ')}`,
    )
  }
}

/** Of a manager that need not be an object: one of any namespace, unless that is named. */
async function across(words: readonly string[], flags: TreeFlags): Promise<void> {
  const { ACROSS_OUTPUTS, acrossText } = await import('../print/across-text.ts')
  const output = outputOf(flags.output, ACROSS_OUTPUTS)
  const wrong = (['owners', 'live', 'uses'] as const).find((each) => flags[each] === true)
  if (wrong !== undefined) {
    throw new ExitError(
      EXIT.input,
      `--${wrong} is of one object and --across of marks in all clusters: ask one, and then the other`,
    )
  }
  const past = flags.at === undefined ? undefined : await import('../reach/moment.ts')
  const { cluster, hint } = await clusterScopeOf(flags)
  const { kind, name } = objectQuery(words, { namespace: '', cluster })
  if (kind === undefined || name === undefined) {
    throw new ExitError(EXIT.input, '--across takes KIND/NAME: marks name a manager, and no uid')
  }
  const { namespace, limit = LISTED } = flags
  const at = past?.momentOf(flags.at ?? '')
  const server = { ...serverOf(flags), hint }
  const answer = await answerTo(server, '/v1/across', { kind, name, namespace, cluster, limit, at })
  warnPartial(answer.partial)
  process.stdout.write(acrossText(answer, output))
}
