/**
 * Kinds of which the lock lets none be deleted, as `--protect-kinds` lists them.
 *
 * What must stay true: the lock compares names, and one that no request bears protects nothing
 * without a word; so what is not known to be a kind ends the command.
 */
import { type ListedKind, nameOf, readKind } from '../print/kind-name.ts'
import { likelyPlural, splitList } from './listed-kind.ts'
import { bad } from './setting.ts'

export interface KnownKind extends ListedKind {
  /** What people may call it: its kind, its short names; in small letters. */
  readonly aliases: readonly string[]
}

/** What may be protected. */
export interface KnownKinds {
  readonly kinds: readonly KnownKind[]
  /** There are no others, so none of them is meant. */
  readonly areAll: boolean
  /** Which these are, after "the kinds that"; then what to do. */
  readonly which: string
}

const FROM = '--protect-kinds'

export function protectedKinds(
  value: string | undefined,
  known: KnownKinds,
): readonly ListedKind[] {
  if (value === undefined) return []
  return splitList(value, FROM).map((name) => protectedKind(name, known))
}

function protectedKind(name: string, known: KnownKinds): ListedKind {
  const { kinds, which } = known
  const kind = kinds.find((each) => nameOf(each) === name)
  if (kind !== undefined) return kind
  const meant = meantBy(name, known)
  const hint = meant === '' ? '' : `; did you mean ${meant}?`
  throw bad(`${FROM}: ${JSON.stringify(name)} is not among the kinds that ${which}${hint}`)
}

/**
 * Another number, other letters, a short name, or the group left out; empty when nothing is like
 * it.
 */
function meantBy(name: string, { kinds, areAll }: KnownKinds): string {
  const plural = likelyPlural(name)
  if (plural === undefined) return ''
  const word = readKind(name.toLowerCase())
  const { resource } = readKind(plural)
  const like = kinds.filter(
    (each) =>
      (word.group === '' || word.group === each.group) &&
      (each.resource === resource || each.aliases.includes(word.resource)),
  )
  if (like.length > 0) return like.map(nameOf).join(' or ')
  return areAll || plural === name ? '' : plural
}
