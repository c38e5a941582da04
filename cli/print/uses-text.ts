/** Who uses an object, and what it uses, for people: below its tree. */
import type { Tree } from '../answer.ts'
import { lineOf } from './terminal.ts'
import { countOf, objectName } from './word.ts'

/** Empty where it was not asked for. */
export function usesText(uses: Tree['uses']): string {
  if (uses === null) return ''
  const { isFollowed, users, hidden, unread, isCut, lastUsedAt, lastUser } = uses
  const ended = lastUsedAt === null ? 'no use was seen to end' : `last use ended ${lastUsedAt}`
  const last =
    lastUser === null || lastUsedAt === null ? ended : `${ended} (${lastUser} came or left last)`
  const none = isFollowed ? `Used by nothing that is known; ${last}` : NOT_FOLLOWED
  const used = users.length === 0 ? [none] : ['Used by:']
  const more = [
    ...(unread === 0
      ? []
      : [`${countOf(unread, 'object')} may use it: what they use was not read`]),
    ...(hidden === 0 ? [] : [`${countOf(hidden, 'object')} hidden`]),
    ...(isCut ? ['There may be more'] : []),
  ]
  const names = uses.uses.length === 0 ? [] : ['Uses:', ...uses.uses.map(lineFor)]
  return [...used, ...users.map(lineFor), ...names, ...more]
    .map((line) => `${lineOf(line)}\n`)
    .join('')
}

const NOT_FOLLOWED =
  'What uses it is not followed: add a rule with unused about its kind to the config, in dry run (docs/operate/unused.md)'

type Other = NonNullable<Tree['uses']>['uses'][number]

function lineFor({ since, uid, ...place }: Other): string {
  const where = place.namespace === '' ? '' : ` -n ${place.namespace}`
  const from = since === null ? '' : ` since ${since}`
  const gone = uid === null && !place.name.includes('*') ? ' (not there)' : ''
  return `  ${objectName(place)}${where}${from}${gone}`
}
