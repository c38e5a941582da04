/**
 * Who deleted an object, in one sentence: who sent the delete, and the owner whose deletion was the cause.
 *
 * What must stay true: a guess and an inference are called so; where nobody can tell, that is said, and nobody is named.
 *
 * Not here: asking (deleted.ts).
 */
import type { DeletedBy, Deleter, DeletionList } from '../cli/answer.ts'
import { lineOf, type Named, nameText } from './text.ts'

export type Deletion = DeletionList['deletions'][number]

/** Words, and objects, which the page shows as links. */
export type Phrase = string | (Named & { readonly uid: string })

type Actor = Pick<Deleter, 'user' | 'impersonated' | 'agent' | 'match'>

const GUESSES: ReadonlySet<string> = new Set(['name-and-time', 'collection-and-time'])
const COLLECTOR = 'system:serviceaccount:kube-system:generic-garbage-collector'

/**
 * What follows "Deleted 12 min ago". `row`: of the list of deletions, undefined where that was refused; `told`: of `/v1/why`, the object's own first, then each
 * owner's up to the root.
 */
export function deletedPhrases(
  uid: string,
  row: Pick<Deletion, 'by' | 'root' | 'isInferred' | 'deletedBy'> | undefined,
  told: readonly DeletedBy[],
): readonly Phrase[] {
  const own = told.find(({ object }) => object.uid === uid) ?? row?.deletedBy ?? undefined
  const cause = told.findLast(({ object }) => object.uid !== uid)
  const first = row?.by === 'kinfold' ? [' by Kinfold'] : own === undefined ? [] : [byText(own)]
  if (cause !== undefined) {
    const because = [`, because ${guessText(cause)}${actorText(cause)} deleted `, cause.object]
    return [...first, ...because, cause.isInferred ? ' (inferred)' : '']
  }
  const root = row?.root ?? undefined
  if (root === undefined || root.uid === uid) {
    return first.length > 0 ? first : ['; no audit log says by whom']
  }
  const inferred = row?.isInferred === true ? ' (inferred)' : ''
  return [...first, ', because ', root, ` was deleted${inferred}; no audit log says by whom`]
}

function byText(by: Actor): string {
  return `${isGuess(by) ? ', probably' : ''} by ${actorText(by)}`
}

function guessText(by: Actor): string {
  return isGuess(by) ? 'probably ' : ''
}

export function isGuess({ match }: Pick<Actor, 'match'>): boolean {
  return GUESSES.has(match)
}

/** `alice (kubectl/v1.33.0)`: the agent is what the client calls itself, so it never stands alone but for upstream's collector, which is known by its account. */
export function actorText(by: Actor): string {
  const { user, impersonated, agent } = by
  if (user === COLLECTOR) return 'kube-controller-manager'
  const name = quoted(user) + (impersonated === null ? '' : ` as ${quoted(impersonated)}`)
  const [client = ''] = /^kinfold\/\S+ \(\w+\)$|^[^\s()]+/.exec(agent) ?? []
  return name + (client === '' ? '' : ` (${lineOf(client)})`)
}

/** A name that could be read as words of ours is quoted. */
export function quoted(user: string): string {
  return /^[\w@.:/#+=~|-]+$/.test(user) ? user : lineOf(JSON.stringify(user))
}

export function phrasesText(phrases: readonly Phrase[]): string {
  return phrases.map((each) => (typeof each === 'string' ? each : nameText(each))).join('')
}
