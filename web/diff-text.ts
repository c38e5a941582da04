/**
 * One difference between two moments in words, where its object is shown, and the command that asks
 * the same.
 *
 * What must stay true: who deleted an object is said as the answer says it, and `unknown` never
 * names a user.
 */

import type { Diff } from '../cli/answer.ts'
import { evidenceText, phaseText, recordedText } from '../services/graph/api/word.ts'
import { linkTo } from './base/place.ts'
import { lineOf, shellWord } from './base/text.ts'
import { whoText } from './deletion-text.ts'

export type DiffRow = Diff['differences'][number]
type Then = NonNullable<DiffRow['from']>
type Deletion = NonNullable<DiffRow['deletion']>
type Owners = Then['owners']

/** Words of the view; empty: all, or now. */
export interface DiffAsked {
  readonly cluster: string
  /** Undefined: all. */
  readonly namespace: string | undefined
  readonly kind: string
  readonly from: string
  readonly to: string
}

export function detailsOf({ from, to, deletion }: DiffRow): string {
  if (deletion !== null) return lineOf(deletionText(deletion))
  if (to === null) return ''
  if (from === null) return to.owners.length === 0 ? '' : `owned by ${ownersText(to.owners)}`
  return [phasesText(from, to), ownerChangeText(from.owners, to.owners)]
    .filter((text) => text !== '')
    .join('; ')
}

function deletionText(deletion: Deletion): string {
  const { by, evidence, text } = deletion
  if (by !== 'kinfold') return whoText(deletion)
  const how = evidence === null ? '' : ` (${evidenceText(evidence)})`
  return `${whoText(deletion)}; ${recordedText(text)}${how}`
}

function phasesText(from: Then, to: Then): string {
  if (from.phase !== to.phase) return `was: ${phaseText(from.phase)}; is: ${phaseText(to.phase)}`
  return from.deletionTimestamp === to.deletionTimestamp ? '' : 'its deletionTimestamp is another'
}

function ownerChangeText(from: Owners, to: Owners): string {
  if (JSON.stringify(from) === JSON.stringify(to)) return ''
  const [before, after] = [ownersText(from), ownersText(to)]
  if (before !== after) return `owners ${before || 'none'} → ${after || 'none'}`
  const [uids, others] = [from, to].map((all) => all.map(({ uid }) => lineOf(uid)).join(', '))
  if (uids !== others) return `owners ${before}: uid ${uids} → ${others}`
  return `owners ${before}: controller or blockOwnerDeletion is another`
}

function ownersText(owners: Owners): string {
  return owners.map(({ kind, name }) => lineOf(`${kind}/${name}`)).join(', ')
}

/**
 * At the moment at which it was there; one that changed at the earlier one, compared with the
 * later.
 */
export function linkOf(row: DiffRow, { from, to }: Pick<DiffAsked, 'from' | 'to'>): string {
  const about = { cluster: row.cluster.scope, uid: row.uid }
  switch (row.change) {
    case 'added':
      return to === '' ? linkTo('object', about) : linkTo('past', { ...about, at: to })
    case 'deleted':
      return linkTo('past', { ...about, at: from })
    case 'changed':
      return linkTo('past', { ...about, at: from, beside: to })
  }
}

/** Undefined where a word has characters that a terminal acts on. */
export function diffCommand(asked: DiffAsked): string | undefined {
  const { kind, cluster, namespace, from, to } = asked
  const flags: readonly (readonly [string, string | undefined])[] = [
    ['', kind || undefined],
    ['--cluster ', cluster || undefined],
    ['-n ', namespace],
    ['--from ', from],
    ['--to ', to || undefined],
  ]
  const words = flags.flatMap(([flag, value]) => {
    if (value === undefined) return flag === '-n ' ? ['-A'] : []
    const word = shellWord(value)
    return word === undefined ? [undefined] : [flag + word]
  })
  return words.includes(undefined) ? undefined : ['kinfold diff', ...words].join(' ')
}
