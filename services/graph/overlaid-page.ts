/**
 * A page of keys as the fold wants it: of the store, with the changes of an overlay laid over them.
 *
 * What must stay true: exactly the first `limit` keys, whatever of them is stored yet: a replay in other batches must see the same page.
 */
import type { Graph } from '../../core/graph.ts'
import type { PageRequest } from '../../core/work.ts'
import type { Store } from '../../ports/store.ts'
import { prefixRange } from '../../ports/store.ts'

export async function overlaidPage(
  store: Pick<Store, 'page'>,
  graph: Pick<Graph, 'overlaid'>,
  { prefix, after, limit }: PageRequest,
): Promise<readonly string[]> {
  const keys: string[] = []
  const { lt } = prefixRange(prefix, limit)
  let from = after
  while (keys.length < limit) {
    const gte = from === '' ? prefix : `${from}\0`
    const stored = (await store.page({ gte, lt, limit })).map(([key]) => key)
    const upTo = stored.length < limit ? undefined : stored[stored.length - 1]
    keys.push(...graph.overlaid(stored, { prefix, after: from, upTo }))
    if (upTo === undefined) break
    from = upTo
  }
  return keys.slice(0, limit)
}
