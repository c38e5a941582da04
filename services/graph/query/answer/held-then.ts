/**
 * What was held, or what else is asked of many clusters, at a moment of the past: in the clusters
 * that this process has.
 *
 * What must stay true: a cluster that cannot be asked about the moment is named in `partial`, and
 * where none can be, that is refused.
 *
 * Not here: what is held in a view, of whatever moment (held.ts).
 */
import type { ClusterId } from '../../../../core/model/object.ts'
import { Problem } from '../../../../runtime/http/problem.ts'
import type { AsOf, ClusterRef } from '../../api/document.ts'
import type { Asked } from '../index/moment.ts'
import { type OpenView, readThen } from '../view/open-view.ts'
import type { View } from '../view/view.ts'

/** Clusters that are left out, and named. */
const MOST_NAMED = 5

/** What one process answers of its clusters. */
interface Own {
  readonly asOf: readonly AsOf[]
}

interface Refused {
  /** Of the clusters that cannot be asked about the moment. */
  readonly refusals: readonly Refusal[]
}

export interface Refusal {
  readonly cluster: ClusterId
  readonly status: number
  readonly detail: string
}

interface Parts<T> {
  readonly open: OpenView
  /** Of views of the moment. */
  readonly own: (views: readonly View[]) => Promise<T>
}

export async function ownThen<T extends Own>(
  views: readonly View[],
  at: Asked,
  { open, own }: Parts<T>,
): Promise<T & Refused> {
  const { opened: then, refusals } = await openedAt(views, at, open)
  const read = then.reduce<() => Promise<T>>(
    (next, view) => async () => await readThen(view, next),
    async () => await own(then),
  )
  return { ...(await read()), refusals }
}

/** Of which the moment can be asked, and of which not. */
export async function openedAt(
  views: readonly View[],
  at: Asked,
  open: OpenView,
): Promise<{ readonly opened: readonly View[]; readonly refusals: readonly Refusal[] }> {
  // Each may wait for its fold.
  const all = await Promise.all(views.map(async (view) => await openedOr(open, view, at)))
  return {
    opened: all.filter((each) => 'reader' in each),
    refusals: all.filter((each) => 'status' in each),
  }
}

export function leftOutText({ detail }: Refusal): string {
  return `left out: ${detail}`
}

async function openedOr(open: OpenView, view: View, at: Asked): Promise<View | Refusal> {
  try {
    return await open(view, at)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return { cluster: view.cluster, status: error.status, detail: error.message }
  }
}

/**
 * Names the clusters of `all` that cannot be asked; `partial` aside. Throws where that is all of
 * them: the rest would be no answer.
 */
export function leftOut(
  all: readonly (Own & Partial<Refused>)[],
  asked: readonly ClusterRef[],
  partial: string,
): string {
  const refusals = all.flatMap((each) => each.refusals ?? [])
  const more = refusals.length - MOST_NAMED
  const text = [
    ...refusals.slice(0, MOST_NAMED).map(leftOutText),
    ...(more > 0 ? [`left out: ${more} more cluster${more === 1 ? '' : 's'}`] : []),
  ].join('; ')
  if (asked.length === 0 || all.some(({ asOf }) => asOf.length > 0)) return text
  const [first] = refusals
  if (first !== undefined && refusals.length === asked.length) {
    throw new Problem(first.status, first.detail)
  }
  const why = [partial, text].filter((each) => each !== '').join('; ')
  throw new Problem(503, `no cluster can be asked, ask again later: ${why}`)
}
