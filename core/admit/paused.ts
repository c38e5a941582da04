/**
 * Why nothing is to be done in a cluster now, because people paused it.
 *
 * What must stay true: it is read from the directives alone. Not here: giving them (directive.ts).
 */
import type { ClusterFacts } from '../graph/facts.ts'
import { scopeFlag } from '../graph/scope-flag.ts'

/** Empty when it may. */
export function pausedBecause(facts: ClusterFacts): string {
  const { pauses } = facts.directives
  const pause = pauses.find((each) => each.cluster === '' || each.cluster === facts.cluster)
  if (pause === undefined) return ''
  const why = pause.why === '' ? '' : ` (${pause.why})`
  const scope = scopeFlag(pause.cluster)
  return `paused by ${pause.who}${why}; "kinfold resume${scope} --why …" releases it`
}
