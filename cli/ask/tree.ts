/** `kinfold tree`: the dependents of an object, or its owners. */
import type { Command } from 'commander'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import { outputOf } from '../print/output.ts'
import type { ObjectFlags } from '../reach/client.ts'
import { answerTo, warnPartial, withMoment, withObject } from '../reach/client.ts'
import { questionOf } from '../reach/scope.ts'

const OUTPUTS = ['tree', 'wide', 'name', 'json', 'yaml', 'dot', 'mermaid'] as const
const LIVE_OUTPUTS = ['tree', 'wide', 'json', 'yaml'] as const

interface TreeFlags extends ObjectFlags {
  readonly owners?: boolean
  readonly uses?: boolean
  readonly live?: boolean
  readonly at?: string
  readonly output: string
}

export function addTree(program: Command): void {
  withMoment(withObject(program.command('tree')))
    .description('dependents of an object, level by level, or its owners')
    .argument('<object...>', 'one object: KIND/NAME, KIND NAME or uid:UID')
    .option('--owners', 'upwards: its owners, and theirs')
    .option('--uses', 'and which objects use it, and which it uses')
    .option('--live', 'with READY, STATUS and AGE, read with your own kubeconfig')
    .option('-o, --output <format>', OUTPUTS.join(', '), 'tree')
    .action(async (words: string[], flags: TreeFlags) => {
      const output = outputOf(flags.output, flags.live ? LIVE_OUTPUTS : OUTPUTS)
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
