/** `kinfold why`: the state of an object and its history, also after it was deleted. */
import type { Command } from 'commander'
import { ExitError } from '../../runtime/lifecycle.ts'
import type { Why } from '../answer.ts'
import { outputOf, structured } from '../print/output.ts'
import type { ObjectFlags, Server } from '../reach/client.ts'
import { answerTo, warnPartial, withMoment, withObject } from '../reach/client.ts'
import { questionOf } from '../reach/scope.ts'

const OUTPUTS = ['text', 'json', 'yaml'] as const

export function addWhy(program: Command): void {
  withMoment(withObject(program.command('why')))
    .description('why an object exists, is being deleted or was deleted: its state and history')
    .argument('<object...>', 'one object: KIND/NAME, KIND NAME or uid:UID')
    .option('-o, --output <format>', OUTPUTS.join(', '), 'text')
    .action(async (words: string[], flags: ObjectFlags & { at?: string; output: string }) => {
      const output = outputOf(flags.output, OUTPUTS)
      const { server, query } = await questionOf(words, flags)
      const past = flags.at === undefined ? undefined : await import('../reach/moment.ts')
      const at = past?.momentOf(flags.at ?? '')
      const answer = await answerTo(server, '/v1/why', { ...query, at })
      warnPartial(answer.partial)
      const moment = past?.momentText(answer.asOf)
      if (output !== 'text') return void process.stdout.write(structured(answer, output))
      const { tell } = await import('../print/why-text.ts')
      const owners = await deletedOwners(server, answer, at)
      process.stdout.write(tell(answer, moment, Date.now(), owners))
    })
}

const OF_ONE = /^(pos|before):/

/** Of owners in other clusters: who deleted them, where that is known here. */
async function deletedOwners(
  server: Server,
  { elsewhere }: Why,
  at: string | undefined,
): Promise<ReadonlyMap<string, Why>> {
  const deleted = elsewhere.filter(({ state }) => state === 'deleted')
  const owners = new Map(deleted.map(({ owner }) => [owner.uid, owner]))
  const found = new Map<string, Why>()
  // A position is one of the partition of this object.
  if (deleted.length > 0 && at !== undefined && OF_ONE.test(at)) {
    warnPartial('who deleted its owner is not asked at a position, which is of one partition')
    return found
  }
  for (const [uid, { cluster }] of owners) {
    try {
      found.set(uid, await answerTo(server, '/v1/why', { uid, cluster: cluster.scope, at }))
    } catch (error) {
      // It may be watched into another log, or hidden: this answer is whole without it.
      if (!(error instanceof ExitError)) throw error
    }
  }
  return found
}
