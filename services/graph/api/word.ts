/**
 * What clusters and the words of records are called where people read them: in a terminal, and in the columns that kubectl prints.
 *
 * What must stay true: a word that is not known here is shown as it is.
 *
 * Not here: the page's own words (web/base/text.ts).
 */
import type { VerdictType } from '../../../core/model/node.ts'
import type { ClusterRef } from './document.ts'

/** Its name; with its id where another cluster has that name, too. */
export function labelOf({ name, id, scope }: ClusterRef): string {
  return scope === name ? name : `${name} (${id})`
}

const VERDICTS: Readonly<Record<VerdictType, string>> = {
  keep: 'keep',
  deleting: 'already being deleted',
  blocked: 'blocked',
  verify: 'verify its owners',
  drop: 'remove owner references',
  reap: 'delete',
  held: 'held',
  wait: 'wait for dependents',
  finish: 'remove its finalizer',
}

export function verdictText(type: VerdictType): string {
  return VERDICTS[type] ?? type
}

const SHORT_PHASES: Readonly<Record<string, string>> = {
  observed: 'exists',
  deleting: 'being deleted',
  waiting: 'being deleted in the foreground',
  orphaning: 'being deleted, dependents are orphaned',
  reaped: 'deleted, not confirmed yet',
  suspect: 'untrusted',
  absent: 'deleted',
  gone: 'deleted',
  found: 'exists, not watched',
}

/** In a line with others. */
export function shortPhaseText(phase: string): string {
  return SHORT_PHASES[phase] ?? phase
}

/** In one unit, as kubectl has ages. */
export function ageText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000))
  if (seconds < 120) return `${seconds}s`
  if (seconds < 7_200) return `${Math.floor(seconds / 60)}m`
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)}h`
  return `${Math.floor(seconds / 86_400)}d`
}
