/**
 * A page of keys as the fold needs it: of the store, with the changes of an overlay over them.
 *
 * What must stay true: exactly the first `limit` keys, whatever of them is stored yet: a replay in
 * other batches must see the same page.
 *
 * LevelDB searches for the key after the last one through all deleted keys after it, which may be
 * many. So no more keys are requested than the store holds, where that number is known: a few keys
 * that fit into one page, as with nearly every owner, are read without that search; after a cursor
 * it is not known how many are left.
 */
import type { PageRequest } from '../../../../core/graph/agenda.ts'
import type { Graph } from '../../../../core/graph/graph.ts'
import type { Store } from '../../../../ports/store.ts'
import { prefixRange } from '../../../../ports/store.ts'

/** `storedMost`: so many keys are stored with the prefix, all in all. */
export async function overlaidPage(
  store: Pick<Store, 'page'>,
  graph: Pick<Graph, 'overlaid'>,
  { prefix, after, limit }: Pick<PageRequest, 'prefix' | 'after' | 'limit'>,
  storedMost: number = Number.POSITIVE_INFINITY,
): Promise<readonly string[]> {
  const keys: string[] = []
  const { lt } = prefixRange(prefix, limit)
  let from = after
  let most = storedMost
  while (keys.length < limit) {
    const gte = from === '' ? prefix : `${from}\0`
    const { rows, isCut } = await store.page({ gte, lt, limit, most })
    const stored = rows.map(([key]) => key)
    most -= stored.length
    const upTo = isCut ? stored.at(-1) : undefined
    keys.push(...graph.overlaid(stored, { prefix, after: from, upTo }))
    if (upTo === undefined) break
    from = upTo
  }
  return keys.slice(0, limit)
}
