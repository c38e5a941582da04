/**
 * Who deleted one object, or the owner that orphaned it, for the answers about it: `why`, `tree`
 * and `cascade`.
 *
 * What must stay true: it is what the list of deletions says of it (attribution.ts).
 */
import { identityOf } from '../../../core/graph/identity.ts'
import { type DeletionOf, isUndeleted } from '../query/answer/query.ts'
import { attributionOf, ownersDeletedBy } from './attribution.ts'
import { Deleters, type DeletersParts } from './deleter.ts'
import { Lives, type LivesParts } from './life.ts'
import { orphaningOf } from './orphaning.ts'

type Parts = Omit<LivesParts & DeletersParts, 'turns'>

const NOT_TOLD = { deletion: null, deletedBy: [], orphaned: null, at: null, partial: '' }

export function createDeletionOf(parts: Parts): DeletionOf {
  return async ({ turns, moment }, object, phase) => {
    // The record of a deletion grows for long after it: it is shown only in answers about now.
    if (moment !== null) return NOT_TOLD
    const lives = new Lives({ ...parts, turns })
    const deleters = new Deleters({ ...parts, turns })
    const behind = await deleters.caughtUp()
    const of = identityOf(object.cluster, object)
    const life = await lives.lastOf(of)
    const isThere = isUndeleted(phase)
    const isKnown = phase !== 'unknown' || life.endedAt !== null
    const found = isThere
      ? { deletion: null, deletedBy: await ownersDeletedBy({ lives, deleters }, object, life) }
      : isKnown
        ? await attributionOf({ lives, deleters }, object, life)
        : { deletion: null, deletedBy: [] }
    const { index } = parts
    const orphaned = isThere ? await orphaningOf({ lives, deleters, index, turns }, of) : null
    const partial = [behind, deleters.doubt(), lives.doubt()]
      .filter((text) => text !== '')
      .join('; ')
    const { deletion, deletedBy } = found
    const gone = life.history.find(({ change }) => change === 'gone')
    return { deletion, deletedBy, orphaned, at: gone?.at ?? life.endedAt, partial }
  }
}
