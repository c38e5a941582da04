/**
 * `kinfold cascade`: progress of a deletion, which dependents are deleted, which remain and what
 * blocks them; with `-w` until none is left.
 */
import type { Command } from 'commander'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import { mayManage } from '../../services/graph/api/word.ts'
import type { Cascade as CascadeDocument } from '../answer.ts'
import { outputOf, structuredPart } from '../print/output.ts'
import type { ObjectFlags, Server } from '../reach/client.ts'
import {
  answerTo,
  ask,
  linesOf,
  pathOf,
  warnPartial,
  withMoment,
  withObject,
} from '../reach/client.ts'
import { questionOf } from '../reach/scope.ts'

const OUTPUTS = ['table', 'json', 'yaml'] as const
type Output = (typeof OUTPUTS)[number]

interface CascadeFlags extends ObjectFlags {
  readonly watch?: boolean
  readonly at?: string
  readonly output: string
}

export function addCascade(program: Command): void {
  withMoment(withObject(program.command('cascade')))
    .description('progress of a deletion: dependents deleted, remaining, and what blocks them')
    .argument('<object...>', 'one object: KIND/NAME, KIND NAME or uid:UID')
    .option('-w, --watch', 'a line whenever something changes, until nothing is left')
    .option('-o, --output <format>', OUTPUTS.join(', '), 'table')
    .action(async (words: string[], flags: CascadeFlags) => {
      const output = outputOf(flags.output, OUTPUTS)
      const { server, query } = await questionOf(words, flags)
      if (flags.watch && flags.at !== undefined) {
        throw new ExitError(EXIT.input, '--watch goes on with what comes: it takes no --at')
      }
      if (flags.watch) {
        const response = await ask(server, pathOf('/v1/cascade', { ...query, follow: true }))
        const last = await watch(response, output)
        if (output === 'table') process.stdout.write(await acrossOf(server, last))
        return
      }
      const at = await momentIn(flags.at)
      const answer = await answerTo(server, '/v1/cascade', { ...query, at })
      warnPartial(answer.partial)
      const { render } = await import('../print/cascade-text.ts')
      const beside = output === 'table' ? await acrossOf(server, answer, at) : ''
      process.stdout.write(render(answer, output) + (beside === '' ? '' : `\n${beside}`))
    })
}

/** What names it as its owner in other clusters, and what went of that since its deletion began. */
async function acrossOf(server: Server, cascade: CascadeDocument, at?: string): Promise<string> {
  const { group, kind, namespace, name, uid } = cascade.root
  // No mark names an object of these kinds, and no owner in another cluster is without a namespace.
  if (!mayManage(group) && namespace === '') return ''
  const { besideCascade } = await import('../print/across-text.ts')
  const word = group === '' ? kind : `${kind}.${group}`
  // Where it is not remembered when that was, all that is remembered is asked for.
  const goneSince = cascade.since ?? new Date(0).toISOString()
  const asked = { kind: word, namespace, name, uid, cluster: cascade.cluster.id, at, goneSince }
  const answer = await answerTo(server, '/v1/across', { ...asked, limit: LISTED })
  warnPartial(answer.partial)
  return besideCascade(answer)
}

/** Objects that are gone and named; all are counted. */
const LISTED = '20'

/** Few questions have a moment: what reads it is loaded for these alone. */
async function momentIn(text: string | undefined): Promise<string | undefined> {
  if (text === undefined) return undefined
  return (await import('../reach/moment.ts')).momentOf(text)
}

async function watch(response: Response, output: Output): Promise<CascadeDocument> {
  const { oneLine } = await import('../print/cascade-text.ts')
  let former = ''
  let lacking = ''
  for await (const line of linesOf(response)) {
    const answer = JSON.parse(line) as CascadeDocument
    const { partial, isFinal } = answer
    // How much it lacks changes with every line; what it lacks is printed once.
    const lacks = partial.replaceAll(/\d+/g, '')
    if (lacks !== lacking || isFinal) warnPartial(partial)
    lacking = lacks
    const text = output === 'table' ? `${oneLine(answer)}\n` : structuredPart(answer, output)
    if (text !== former) process.stdout.write(text)
    former = text
    if (isFinal) return answer
  }
  throw new ExitError(EXIT.failure, 'kinfold ended before the cascade did; ask again')
}
