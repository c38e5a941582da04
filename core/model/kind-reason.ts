/**
 * Why a kind that is served is not watched, as its `KindServed` says it.
 *
 * What must stay true: a kind that the settings leave out is distinct from one that cannot be
 * watched: only of the first is it no doubt of an answer that its objects are not in it.
 *
 * Not here: which reason a kind has (services/watcher/kind/catalog.ts).
 */
export const NEVER_COLLECTED = 'it is never collected'
export const IGNORED = 'it is among the kinds to ignore'
export const NOT_LISTED = 'it is not among the kinds listed'
/** With `--kinds allowed`. */
export const NOT_ALLOWED = 'this account may not list and watch it'
export const AMBIGUOUS = 'several resources have this kind'
export const UNVERSIONED = 'its lists have no resourceVersion'

const CHOSEN: readonly string[] = [NEVER_COLLECTED, IGNORED, NOT_LISTED, NOT_ALLOWED]

/** By the settings, and not because it cannot be watched. */
export function isLeftOut(reason: string): boolean {
  return CHOSEN.includes(reason)
}
