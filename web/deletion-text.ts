/**
 * Who deleted an object, in one sentence: who sent the delete, and the owner whose deletion was the
 * cause; and the owner whose deletion orphaned it. The page, and each command that names a user,
 * has it from here.
 *
 * What must stay true: a guess and an inference are called so; where the user is unknown, that is
 * said, and no user is named.
 *
 * Not here: who it was (services/graph/record/attribution.ts).
 */
import type { Deleter, DeletionList, Orphaned, Why } from '../cli/answer.ts'
import { agoText, lineOf, type Named, nameText } from './base/text.ts'

export type Deletion = DeletionList['deletions'][number]

/** Words, and objects, which the page shows as links. */
export type Phrase = string | (Named & { readonly uid: string })

/** What an answer says of a deletion. */
export type Attributed = Pick<
  NonNullable<Why['deletion']>,
  | ('by' | 'deletedBy' | 'unproven' | 'root' | 'rootDeletedBy' | 'isInferred' | 'isRootKnown')
  | ('unseenSince' | 'evidence' | 'text')
>

type Actor = Pick<Deleter, 'user' | 'impersonated' | 'agent' | 'match' | 'others'>

const GUESSES: ReadonlySet<string> = new Set(['name-and-time', 'collection-and-time'])
const COLLECTOR = 'system:serviceaccount:kube-system:generic-garbage-collector'
/** As answers call what who asks may not see. */
const HIDDEN = 'hidden'

/** `at`: when it was over, or, where it is not (`isOver`), when it was asked for. */
export function deletedSentence(
  { at, isOver }: { readonly at: string | null; readonly isOver: boolean },
  deletion: Attributed,
  now: number,
): string {
  const { unseenSince } = deletion
  const ago = unseenSince === null ? agoText(at, now) : betweenText(unseenSince, at)
  const head = isOver ? `Deleted ${ago}` : `Being deleted, asked for ${ago}`
  return `${head}${phrasesText(deletedPhrases(deletion))}.`
}

/** What is said first of an object that the deletion of its owner orphaned. */
export type Kept = Pick<Why, 'phase' | 'references' | 'verdict'>

export function orphanedSentence(orphaned: Orphaned, kept: Kept, now: number): string {
  return phrasesText(orphanedPhrases(orphaned, kept, now))
}

/** "It stays" only where nothing is left that might delete it. */
export function orphanedPhrases(
  { owner, since, isOver, deletion }: Orphaned,
  { phase, references, verdict }: Kept,
  now: number,
): readonly Phrase[] {
  const ago = agoText(since, now)
  const isHidden = owner.uid === HIDDEN
  const what = isHidden ? `a ${owner.kind} that you may not see` : owner
  const was = isOver ? 'was deleted with orphan' : 'is being deleted with orphan, asked for'
  const unknown = isHidden ? [] : ['; by whom is not known']
  const who = deletion === null ? unknown : deletedPhrases(deletion)
  const isKept = phase === 'observed' && (references.length === 0 || verdict?.type === 'keep')
  return ['Orphaned: ', what, ` ${was} ${ago}`, ...who, isKept ? '; it stays.' : '.']
}

/** In a cell, or after the name of the object. */
export function whoText(deletion: Attributed): string {
  const { unseenSince } = deletion
  const late = unseenSince === null ? '' : `; at some time since ${secondsOf(unseenSince)}`
  return `${phrasesText(deletedPhrases(deletion)).replace(/^[,;]? /, '')}${late}`
}

/** Nothing was seen of its cluster in between. */
export function betweenText(unseenSince: string, at: string | null): string {
  return at === null
    ? `since ${secondsOf(unseenSince)}`
    : `between ${secondsOf(unseenSince)} and ${secondsOf(at)}`
}

function secondsOf(time: string): string {
  return time.replace(/\.\d+Z$/, 'Z')
}

/** What follows "Deleted 12 min ago". */
export function deletedPhrases(deletion: Attributed): readonly Phrase[] {
  const { by, deletedBy, root, rootDeletedBy, isInferred, isRootKnown } = deletion
  if (by === 'kinfold' && deletion.evidence === 'rule') return [ruleText(deletion)]
  const first = by === 'kinfold' ? ' by Kinfold' : deletedBy === null ? '' : byText(deletedBy)
  if (root !== null) {
    const inferred = isInferred ? ' (inferred)' : ''
    const what = root.uid === HIDDEN ? `a ${root.kind} that you may not see` : root
    if (rootDeletedBy === null) {
      return [first, ', because ', what, ` was deleted${inferred}; no audit log says by whom`]
    }
    const who = `${guessText(rootDeletedBy)}${actorText(rootDeletedBy)}${othersText(rootDeletedBy)}`
    return [first, `, because ${who} deleted `, what, inferred]
  }
  if (first === '') return [unprovenText(deletion)]
  const isOwn = isRootKnown || (deletedBy !== null && !deletedBy.isCollector && by !== 'kinfold')
  return isOwn ? [first] : [first, '; after which owner was deleted is not known']
}

/** The text of the command says which rule, and by which facts. */
function ruleText({ text }: Pick<Attributed, 'text'>): string {
  return ` by Kinfold, by ${lineOf(text.replace(/^\w+ \([^)]*\): /, '')) || 'a rule of the policy'}`
}

/** No guess: nothing of the request, nor its time, says that it was about this very object. */
function unprovenText({ unproven }: Attributed): string {
  if (unproven === null) return '; no audit log says by whom'
  const when = unproven.at === null ? '' : ` at ${secondsOf(unproven.at)}`
  return `; no audit log proves by whom: perhaps by ${actorText(unproven)}${othersText(unproven)}, who asked to delete that name${when}`
}

function byText(by: Actor): string {
  return `${isGuess(by) ? ', probably' : ''} by ${actorText(by)}${othersText(by)}`
}

/** Requests of theirs fit as well. */
function othersText({ others }: Pick<Actor, 'others'>): string {
  return others === 0 ? '' : ` (or by ${others === 1 ? 'another user' : `${others} others`})`
}

function guessText(by: Pick<Actor, 'match'>): string {
  return isGuess(by) ? 'probably ' : ''
}

export function isGuess({ match }: Pick<Actor, 'match'>): boolean {
  return GUESSES.has(match)
}

/**
 * `alice (kubectl/v1.33.0)`: the agent is what the client calls itself, so it is never shown alone
 * except for upstream's collector, which is known by its account.
 */
export function actorText(by: Pick<Actor, 'user' | 'impersonated' | 'agent'>): string {
  const { user, agent } = by
  if (user === COLLECTOR) return 'kube-controller-manager'
  const name = userText(by)
  const [client = ''] = /^kinfold\/\S+ \(\w+\)$|^[^\s()]+/.exec(agent) ?? []
  return name + (client === '' ? '' : ` (${lineOf(client)})`)
}

/** As they called themselves. */
export function userText({ user, impersonated }: Pick<Actor, 'user' | 'impersonated'>): string {
  return quoted(user) + (impersonated === null ? '' : ` as ${quoted(impersonated)}`)
}

/** A guess is called so. */
export function deleterText(by: Pick<Actor, 'user' | 'impersonated' | 'match'>): string {
  return guessText(by) + userText(by)
}

/** A name that could be read as words of ours is quoted. */
export function quoted(user: string): string {
  return /^[\w@.:/#+=~|-]+$/.test(user) ? user : lineOf(JSON.stringify(user))
}

function phrasesText(phrases: readonly Phrase[]): string {
  return phrases.map((each) => (typeof each === 'string' ? each : nameText(each))).join('')
}
