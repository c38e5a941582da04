/**
 * What was held at a moment of the past, in the clusters that this process has.
 *
 * What must stay true: a cluster that cannot be asked about the moment is named in `partial`, and
 * where none can be, that is refused.
 *
 * Not here: what is held in a view, of whatever moment (held.ts).
 */
import type { ClusterId } from '../../../../core/model/object.ts'
import { Problem } from '../../../../runtime/http/problem.ts'
import type { ClusterRef } from '../../api/document.ts'
import type { Asked } from '../index/moment.ts'
import { type OpenView, readThen } from '../view/open-view.ts'
import type { View } from '../view/view.ts'
import type { OwnHeld } from './held.ts'

/** Clusters that are left out, and named. */
const MOST_NAMED = 5

export interface OwnHeldThen extends OwnHeld {
  /** Of the clusters that cannot be asked about the moment. */
  readonly refusals: readonly Refusal[]
}

export interface Refusal {
  readonly cluster: ClusterId
  readonly status: number
  readonly detail: string
}

interface Parts {
  readonly open: OpenView
  /** Of views of the moment. */
  readonly held: (views: readonly View[]) => Promise<OwnHeld>
}

export async function heldThen(
  views: readonly View[],
  at: Asked,
  { open, held }: Parts,
): Promise<OwnHeldThen> {
  const { opened: then, refusals } = await openedAt(views, at, open)
  const read = then.reduce<() => Promise<OwnHeld>>(
    (next, view) => async () => await readThen(view, next),
    async () => await held(then),
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
  all: readonly OwnHeld[],
  asked: readonly ClusterRef[],
  partial: string,
): string {
  const refusals = all.flatMap((each) => ('refusals' in each ? (each as OwnHeldThen).refusals : []))
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
