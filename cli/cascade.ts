/** `kinfold cascade`: how what hangs on an owner that goes, or went, stands; with `-w` until nothing is left. */
import type { Command } from 'commander'
import { stringify } from 'yaml'
import { EXIT, ExitError } from '../runtime/lifecycle.ts'
import type { Cascade } from '../services/graph/query/cascade.ts'
import type { ObjectFlags } from './client.ts'
import { ask, linesOf, selectorParams, serverOf, withObject } from './client.ts'
import { outputOf } from './output.ts'
import { table, time } from './table.ts'
import { lineOf } from './terminal.ts'

const OUTPUTS = ['table', 'json', 'yaml'] as const
type Output = (typeof OUTPUTS)[number]

interface Told {
  readonly answer: Cascade
  readonly partial: string
  readonly isFinal: boolean
}

interface CascadeFlags extends ObjectFlags {
  readonly watch?: boolean
  readonly output: string
}

export function addCascade(program: Command): void {
  withObject(program.command('cascade'))
    .description(
      'how the deletion of what hangs on an owner stands: done, remaining, blocked by whom',
    )
    .argument('<object...>', 'KIND/NAME, KIND NAME or uid:UID')
    .option('-w, --watch', 'a line whenever something changes, until nothing is left')
    .option('-o, --output <format>', OUTPUTS.join(', '), 'table')
    .action(async (words: string[], flags: CascadeFlags) => {
      const output = outputOf(flags.output, OUTPUTS)
      const params = selectorParams(words, flags)
      if (flags.watch) params.set('follow', 'true')
      const response = await ask(serverOf(flags), `/v1/cascade?${params}`)
      if (flags.watch) return await watch(response, output)
      const { answer, partial } = (await response.json()) as Told
      warn(partial)
      process.stdout.write(render(answer, output))
    })
}

async function watch(response: Response, output: Output): Promise<void> {
  let former = ''
  let lacking = ''
  for await (const line of linesOf(response)) {
    const { answer, partial, isFinal } = JSON.parse(line) as Told
    // How much it lacks changes with every line; what it lacks is told once.
    const lacks = partial.replaceAll(/\d+/g, '')
    if (lacks !== lacking || isFinal) warn(partial)
    lacking = lacks
    const text = output === 'table' ? `${oneLine(answer)}\n` : renderLine(answer, output)
    if (text !== former) process.stdout.write(text)
    former = text
    if (isFinal) return
  }
  throw new ExitError(EXIT.failure, 'kinfold ended before the cascade did; ask again')
}

/** Beside the answer, which programs read. */
function warn(partial: string): void {
  if (partial !== '') process.stderr.write(`warning: this may be incomplete: ${partial}\n`)
}

function renderLine(cascade: Cascade, output: 'json' | 'yaml'): string {
  return output === 'json'
    ? `${JSON.stringify(envelope(cascade))}\n`
    : `---\n${render(cascade, output)}`
}

function envelope(cascade: Cascade): object {
  return { apiVersion: 'kinfold/v1', kind: 'Cascade', ...cascade }
}

export function render(cascade: Cascade, output: Output): string {
  switch (output) {
    case 'json':
      return `${JSON.stringify(envelope(cascade), null, 2)}\n`
    case 'yaml':
      return stringify(envelope(cascade))
    case 'table':
      return text(cascade)
  }
}

export function oneLine({ root, done, remaining, progress, blocked, waiting }: Cascade): string {
  const parts = Object.entries(progress).filter(([, count]) => count > 0)
  const detail = parts.map(([what, count]) => `${count} ${what}`).join(', ')
  const held = blocked[0] ?? waiting[0]
  const why = blocked[0]?.reason ?? waiting[0]?.because
  const first = held === undefined ? '' : `; ${held.kind}/${held.name}: ${why}`
  const left = detail === '' ? '' : ` (${detail})`
  return lineOf(
    `${root.kind}/${root.name} ${root.phase}: ${done} done, ${remaining} remaining${left}${first}`,
  )
}

function text(cascade: Cascade): string {
  const { cluster, blocked, waiting, kinds } = cascade
  const sections = [`${oneLine(cascade)}\n`]
  if (kinds.length > 0) {
    const rows = kinds.map(({ group, kind, done, remaining }) => {
      return [cluster, group === '' ? kind : `${kind}.${group}`, String(done), String(remaining)]
    })
    sections.push(table(['CLUSTER', 'KIND', 'DONE', 'REMAINING'], rows))
  }
  if (blocked.length > 0) {
    const rows = blocked.map(({ namespace, kind, name, by, reason, since, count, until }) => [
      namespace,
      `${kind}/${name}`,
      by,
      time(since),
      count === null ? '-' : String(count),
      time(until),
      reason,
    ])
    const head = ['NAMESPACE', 'OBJECT', 'BLOCKED-BY', 'SINCE', 'TRIES', 'NEXT-TRY', 'REASON']
    sections.push(table(head, rows))
  }
  if (waiting.length > 0) {
    const rows = waiting.map(({ namespace, kind, name, phase, dependents, blocking, because }) => {
      return [namespace, `${kind}/${name}`, phase, String(dependents), String(blocking), because]
    })
    const head = ['NAMESPACE', 'OBJECT', 'PHASE', 'DEPENDENTS', 'BLOCKING', 'WAITS-FOR']
    sections.push(table(head, rows))
  }
  return sections.join('\n')
}
