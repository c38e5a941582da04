/** What `kinfold cascade` prints: who deleted the owner, and how far its dependents are. */
import { doneText, labelOf, phaseText } from '../../services/graph/api/word.ts'
import type { Progress } from '../../services/graph/query/answer/cascade.ts'
import { deletedSentence } from '../../web/deletion-text.ts'
import type { Cascade as CascadeDocument } from '../answer.ts'
import { structured } from './output.ts'
import { table, time, timeAhead } from './table.ts'
import { lineOf } from './terminal.ts'

export type Output = 'table' | 'json' | 'yaml'

export function render(answer: CascadeDocument, output: Output, now: number = Date.now()): string {
  return output === 'table' ? text(answer, now) : structured(answer, output)
}

const PROGRESS: Readonly<Record<Progress, string>> = {
  reaping: 'being deleted',
  blocked: 'blocked',
  waiting: 'waiting for dependents',
  queued: 'queued',
  unknown: 'unknown',
}

export function oneLine(answer: CascadeDocument): string {
  const { cluster, root, remaining, progress, blocked, waiting } = answer
  const parts = Object.entries(progress).filter(([, count]) => count > 0)
  const detail = parts.map(([what, count]) => `${count} ${PROGRESS[what as Progress]}`).join(', ')
  const held = blocked[0] ?? waiting[0]
  const why = blocked[0]?.reason ?? waiting[0]?.because
  const first = held === undefined ? '' : `; ${held.kind}/${held.name}: ${why}`
  const left = detail === '' ? '' : ` (${detail})`
  const at = root.namespace === '' ? '' : ` -n ${root.namespace}`
  const name = `${root.kind}/${root.name}${at}, cluster ${labelOf(cluster)}`
  return lineOf(
    `${name}: ${phaseText(root.phase)}. Dependents: ${doneText(answer)}, ${remaining} remaining${left}${first}`,
  )
}

function text(answer: CascadeDocument, now: number): string {
  const { blocked, waiting, kinds, since, root, deletion, deletedAt } = answer
  const end = { at: deletedAt ?? since, isOver: root.phase === 'gone' }
  const who = deletion === null ? '' : `${lineOf(deletedSentence(end, deletion, now))}\n`
  const sections = [`${who}${oneLine(answer)}\n`]
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
      return [namespace, `${kind}/${name}`, phaseText(phase), ...count, because]
    })
    const head = ['NAMESPACE', 'OBJECT', 'STATE', 'DEPENDENTS', 'BLOCKING', 'REASON']
    sections.push(table(head, rows))
  }
  return sections.join('\n')
}
