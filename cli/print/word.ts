/**
 * What the words of records are called in a terminal. What must stay true: a word that is not known
 * here is printed as it is.
 */
import type { Attempt } from '../../core/model/node.ts'
import { phaseText } from '../../services/graph/api/word.ts'
import type { BlockedCount } from '../../services/graph/fold/tally.ts'
import type { Held } from '../answer.ts'
import { time, timeAhead } from './table.ts'

/** Of one object, as a sentence. */
export function stateText(phase: string): string {
  const text = phaseText(phase)
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
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
