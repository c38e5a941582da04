/** `kinfold cascade`: progress of a deletion, which dependents are deleted, which remain and what blocks them; with `-w` until none is left. */
import type { Command } from 'commander'
import { EXIT, ExitError } from '../runtime/lifecycle.ts'
import type { Progress } from '../services/graph/query/cascade.ts'
import { labelOf } from '../services/graph/query/cluster-label.ts'
import { deletedSentence } from '../web/deletion-text.ts'
import type { Cascade as CascadeDocument } from './answer.ts'
import type { ObjectFlags } from './client.ts'
import { answerTo, ask, linesOf, pathOf, warnPartial, withObject } from './client.ts'
import { outputOf, structured, structuredPart } from './output.ts'
import { questionOf } from './scope.ts'
import { table, time, timeAhead } from './table.ts'
import { lineOf } from './terminal.ts'
import { shortPhaseText } from './word.ts'

const OUTPUTS = ['table', 'json', 'yaml'] as const
type Output = (typeof OUTPUTS)[number]

interface CascadeFlags extends ObjectFlags {
  readonly watch?: boolean
  readonly output: string
}

export function addCascade(program: Command): void {
  withObject(program.command('cascade'))
    .description('progress of a deletion: dependents deleted, remaining, and what blocks them')
    .argument('<object...>', 'KIND/NAME, KIND NAME or uid:UID')
    .option('-w, --watch', 'a line whenever something changes, until nothing is left')
    .option('-o, --output <format>', OUTPUTS.join(', '), 'table')
    .action(async (words: string[], flags: CascadeFlags) => {
      const output = outputOf(flags.output, OUTPUTS)
      const { server, query } = await questionOf(words, flags)
      if (flags.watch) {
        const response = await ask(server, pathOf('/v1/cascade', { ...query, follow: true }))
        return await watch(response, output)
      }
      const told = await answerTo(server, '/v1/cascade', query)
      warnPartial(told.partial)
      process.stdout.write(render(told, output))
    })
}

async function watch(response: Response, output: Output): Promise<void> {
  let former = ''
  let lacking = ''
  for await (const line of linesOf(response)) {
    const told = JSON.parse(line) as CascadeDocument
    const { partial, isFinal } = told
    // How much it lacks changes with every line; what it lacks is told once.
    const lacks = partial.replaceAll(/\d+/g, '')
    if (lacks !== lacking || isFinal) warnPartial(partial)
    lacking = lacks
    const text = output === 'table' ? `${oneLine(told)}\n` : structuredPart(told, output)
    if (text !== former) process.stdout.write(text)
    former = text
    if (isFinal) return
  }
  throw new ExitError(EXIT.failure, 'kinfold ended before the cascade did; ask again')
}

export function render(told: CascadeDocument, output: Output, now: number = Date.now()): string {
  return output === 'table' ? text(told, now) : structured(told, output)
}

const PROGRESS: Readonly<Record<Progress, string>> = {
  reaping: 'being deleted',
  blocked: 'blocked',
  waiting: 'waiting for dependents',
  queued: 'queued',
  unknown: 'unknown',
}

export function oneLine(told: CascadeDocument): string {
  const { cluster, root, done, remaining, progress, blocked, waiting } = told
  const parts = Object.entries(progress).filter(([, count]) => count > 0)
  const detail = parts.map(([what, count]) => `${count} ${PROGRESS[what as Progress]}`).join(', ')
  const held = blocked[0] ?? waiting[0]
  const why = blocked[0]?.reason ?? waiting[0]?.because
  const first = held === undefined ? '' : `; ${held.kind}/${held.name}: ${why}`
  const left = detail === '' ? '' : ` (${detail})`
  const at = root.namespace === '' ? '' : ` -n ${root.namespace}`
  const name = `${root.kind}/${root.name}${at}, cluster ${labelOf(cluster)}`
  return lineOf(
    `${name}: ${shortPhaseText(root.phase)}. Dependents: ${done} done, ${remaining} remaining${left}${first}`,
  )
}

function text(told: CascadeDocument, now: number): string {
  const { blocked, waiting, kinds, since, root, deletion } = told
  const end = { at: since, isOver: root.phase === 'gone' }
  const who = deletion === null ? '' : `${lineOf(deletedSentence(end, deletion, now))}\n`
  const sections = [`${who}${oneLine(told)}\n`]
  if (kinds.length > 0) {
    const rows = kinds.map(({ group, kind, done, remaining }) => {
      return [group === '' ? kind : `${kind}.${group}`, String(done), String(remaining)]
    })
    sections.push(table(['KIND', 'DONE', 'REMAINING'], rows))
  }
  if (blocked.length > 0) {
    const rows = blocked.map(({ namespace, kind, name, by, reason, since, count, until }) => [
      namespace,
      `${kind}/${name}`,
      by,
      time(since),
      count === null ? '-' : String(count),
      timeAhead(until),
      reason,
    ])
    const head = ['NAMESPACE', 'OBJECT', 'BLOCKED-BY', 'SINCE', 'TRIES', 'NEXT-TRY', 'REASON']
    sections.push(table(head, rows))
  }
  if (waiting.length > 0) {
    const rows = waiting.map(({ namespace, kind, name, phase, dependents, blocking, because }) => {
      const count = [String(dependents), String(blocking)]
      return [namespace, `${kind}/${name}`, shortPhaseText(phase), ...count, because]
    })
    const head = ['NAMESPACE', 'OBJECT', 'STATE', 'DEPENDENTS', 'BLOCKING', 'REASON']
    sections.push(table(head, rows))
  }
  return sections.join('\n')
}
