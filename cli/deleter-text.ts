/**
 * Who asked for a deletion, in words: how a user is named, and how the request was found.
 *
 * What must stay true: a guess is called one, and a name that could be read as words of ours is quoted.
 */
import type { DeletedBy } from './answer.ts'

export const MATCH_TEXT: Readonly<Record<DeletedBy['match'], string>> = {
  'audit-id': 'by Audit-ID',
  uid: 'by uid',
  'name-and-time': 'by name and time',
  'collection-and-time': 'by a delete of the whole collection, and time',
}
const GUESSES: ReadonlySet<DeletedBy['match']> = new Set(['name-and-time', 'collection-and-time'])

export function isGuess({ match }: Pick<DeletedBy, 'match'>): boolean {
  return GUESSES.has(match)
}

/** As they called themselves. */
export function userText({ user, impersonated }: Pick<DeletedBy, 'user' | 'impersonated'>): string {
  return impersonated === null ? nameText(user) : `${nameText(user)} as ${nameText(impersonated)}`
}

function nameText(user: string): string {
  return /^[\w@.:/#+=~|-]+$/.test(user) ? user : JSON.stringify(user)
}
