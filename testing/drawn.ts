/**
 * How much is run of tests that take minutes: all with `KINFOLD_WORLDS=all`, as in .ci/run, else
 * every so many.
 *
 * What must stay true: a deciding run leaves nothing out. The worlds left out are the same each
 * time, and are named as not run.
 */

/** Why a test is skipped that only a whole run has. */
export const LEFT_OUT = 'what only KINFOLD_WORLDS=all runs'

/** Throws for an unknown value: it would leave worlds out although all were requested. */
export function isAllWanted(): boolean {
  const worlds = process.env['KINFOLD_WORLDS'] || 'few'
  if (worlds === 'all' || worlds === 'few') return worlds === 'all'
  throw new Error(`KINFOLD_WORLDS is ${worlds}, and neither all nor few`)
}

/** The first of every so many. */
export function drawn<T>(all: readonly T[], every: number): readonly T[] {
  return isAllWanted() ? all : all.filter((_, index) => index % every === 0)
}
