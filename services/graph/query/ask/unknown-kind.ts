/**
 * Refuses a question about a kind that no cluster serves, or ever served: an empty answer would be
 * taken for one of "nothing".
 *
 * What must stay true: a kind is unknown only where the kinds of every cluster that is asked can be
 * read here, whole; if that is unclear, the question is answered.
 */
import { Problem } from '../../../../runtime/http/problem.ts'
import type { Clusters, KnownCluster } from '../view/clusters.ts'
import { alike, type KnownKind, kindsIn } from '../view/kind-name.ts'

export async function refuseUnknownKind(
  clusters: Pick<Clusters, 'view' | 'kindWord'>,
  kind: string,
  asked: readonly KnownCluster[],
): Promise<void> {
  const word = await clusters.kindWord(kind)
  const all: KnownKind[] = []
  for (const each of asked) {
    const view = clusters.view(each)
    if (view === undefined || view.partial() !== '') return
    const kinds = await kindsIn(view)
    if (kinds.length === 0 || kinds.some((known) => word.is(known, known))) return
    all.push(...kinds)
  }
  if (asked.length === 0) return
  const near = alike(kind, all)
  const maybe = near.length === 0 ? '' : `; did you mean ${near.join(' or ')}?`
  throw new Problem(404, `no cluster that is asked serves a kind ${kind}${maybe}`)
}
