/** What the words of records are called in a terminal. What must stay true: a word that is not known here is printed as it is. */
import type { Attempt, VerdictType } from '../../core/model/node.ts'
import type { Evidence } from '../../core/model/proof.ts'
import { verdictText } from '../../services/graph/api/word.ts'
import type { BlockedCount } from '../../services/graph/fold/tally.ts'
import type { Held } from '../answer.ts'
import { time, timeAhead } from './table.ts'

/** A verdict is recorded as `TYPE: because`. */
export function recordedText(text: string): string {
  const [, type, because] = /^(\w+): (.*)$/s.exec(text) ?? []
  return type === undefined ? text : `${verdictText(type as VerdictType)}: ${because}`
}

const EVIDENCE: Readonly<Record<Evidence, string>> = {
  orphaning: 'only a reference or a finalizer is removed',
  deleted: 'the deletion was observed',
  waiting: 'its owner waits for its dependents',
  missing: 'missing from a complete list',
  'not-found': 'a live GET answered NotFound',
  bulk: 'a bulk deletion',
}

export function evidenceText(evidence: Evidence): string {
  return EVIDENCE[evidence] ?? evidence
}

const PHASES: Readonly<Record<string, string>> = {
  observed: 'Exists.',
  deleting: 'Is being deleted.',
  waiting: 'Is being deleted in the foreground: it waits for its dependents.',
  orphaning: 'Is being deleted, and its dependents are orphaned.',
  reaped: 'Deleted by Kinfold; the watch has not confirmed it yet.',
  suspect: 'Untrusted until its kind is listed again.',
  unknown: 'Unknown: its partition is being restored.',
}

export function phaseText(phase: string): string {
  return PHASES[phase] ?? phase
}

const ATTEMPTS: Readonly<Record<Attempt['state'], string>> = {
  issued: 'sent',
  backoff: 'failed, and tried again later',
  'would-go': 'accepted by a dry run',
  confirming: 'done, and not confirmed by the watch yet',
  done: 'done',
}

export function attemptText(state: Attempt['state']): string {
  return ATTEMPTS[state] ?? state
}

export function countOf(count: number, one: string, many: string = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

type Refused = Omit<Held['refused'][number], 'cluster'>

export function blockedText({
  objects,
  since,
  tries,
  nextTry,
  example,
}: BlockedCount | Refused): string {
  const tried = [
    since === null ? '' : `first ${time(since)}`,
    tries === 0 ? '' : `tried up to ${tries} times`,
    nextTry === null ? '' : `next try ${timeAhead(nextTry)}`,
  ]
  const all = `${objects} ${objects === 1 ? 'object' : 'objects'}`
  const facts = [all, ...tried.filter((fact) => fact !== '')].join(', ')
  return example === '' ? facts : `${facts}; ${example}`
}

/** As `kubectl get -o name` has it. */
export function objectName(object: {
  readonly group: string
  readonly kind: string
  readonly name: string
}): string {
  const { group, kind, name } = object
  return `${kind.toLowerCase()}${group === '' ? '' : `.${group}`}/${name}`
}

/** Of names for a script: a list that was cut must not look whole. Empty where all are listed. */
export function unlistedText(known: number, listed: number): string {
  return known > listed ? `${known - listed} more not listed (raise --limit)` : ''
}
