/**
 * What somebody who gives an order, or takes one back, may not expect: that there was nothing to take back, what stands all the same by orders of their own,
 * and that nothing is known of what is protected.
 *
 * What must stay true: it is said beside the order, which is carried out in any case: reapers may know of what the fold here does not.
 *
 * Not here: carrying it out (directive-http.ts).
 */
import { openBreakerOf } from '../../core/breaker.ts'
import { directivesOf, kindOf, type StateReader } from '../../core/graph.ts'
import type { ClusterId, GroupKind } from '../../core/object.ts'
import type { Kind } from '../../core/state.ts'
import { readSubject } from '../../core/subject.ts'
import type { Order } from './directive-order.ts'
import type { Query } from './query.ts'
import type { View, Views } from './view.ts'

export interface AsideParts {
  readonly views: Views
  readonly query: Query
}

/** To be put behind what follows from the order; empty where all is as one expects. */
export async function asideOf(
  { views, query }: AsideParts,
  order: Order,
  cluster: ClusterId,
): Promise<string> {
  switch (order.verb) {
    case 'resume':
      return await takenBack(views, cluster, pausesOf, {
        none: 'no such pause was known',
        others: 'paused by orders of their own are still',
      })
    case 'unprotect':
      return await takenBack(views, cluster, protectionsOf(order.subject), {
        none: 'no such protection was known',
        others: 'protected by orders of their own it still is in',
      })
    case 'close-breaker':
      return await closed(views, cluster)
    case 'protect':
      return await unknownSubject(views, query, order.subject, cluster)
    case 'pause':
    case 'approve':
    case 'reject':
      return ''
  }
}

/** The clusters, empty for all, for which such an order stands. */
type Standing = (reader: StateReader) => readonly ClusterId[]

function pausesOf(reader: StateReader): readonly ClusterId[] {
  return directivesOf(reader).pauses.map((each) => each.cluster)
}

function protectionsOf(subject: string): Standing {
  return (reader) =>
    directivesOf(reader)
      .protections.filter((each) => each.subject === subject && each.liftedAt === null)
      .map((each) => each.cluster)
}

interface Words {
  readonly none: string
  readonly others: string
}

async function takenBack(
  views: Views,
  cluster: ClusterId,
  standing: Standing,
  { none, others }: Words,
): Promise<string> {
  const view = await views.open()
  const all = new Set(await view.read(() => view.readers.flatMap(standing)))
  const left = [...all].filter((each) => each !== cluster)
  const names = await namesOf(view, left)
  return `${all.has(cluster) ? '' : `; ${none}`}${left.length === 0 ? '' : `; ${others}: ${names}`}`
}

async function namesOf(view: View, clusters: readonly ClusterId[]): Promise<string> {
  const names = await view.read(() =>
    clusters.map((each) => (each === '' ? 'all clusters' : view.clusterName(each))),
  )
  return names.join(', ')
}

/** It may be defined later, or elsewhere; or be a slip of the pen. */
async function unknownSubject(
  views: Views,
  query: Query,
  text: string,
  cluster: ClusterId,
): Promise<string> {
  const subject = readSubject(text)
  if (subject?.type !== 'kind' && subject?.type !== 'namespace') return ''
  const view = await views.open()
  const asked = cluster === '' ? await view.clusters() : [cluster]
  const phasesOf = async (kind: GroupKind): Promise<readonly Kind['phase'][]> =>
    await view.read(() =>
      view.readers.flatMap((reader) =>
        asked.flatMap((each) => kindOf(reader, each, kind)?.phase ?? []),
      ),
    )
  if (subject.type === 'kind') {
    if ((await phasesOf(subject)).length > 0) return ''
    return `; but no kind ${subject.kind}${subject.group === '' ? '' : `.${subject.group}`} is known there now: is it written as in manifests?`
  }
  // Where namespaces are not watched, nothing is known of any.
  const phases = new Set(await phasesOf(NAMESPACE))
  if (phases.size !== 1 || !phases.has('synced')) return ''
  const place = { kind: 'Namespace', name: subject.name, namespace: '', uid: undefined }
  const found = await query.find({ ...place, cluster: cluster === '' ? undefined : cluster })
  if (found.some(({ isThere }) => isThere)) return ''
  return `; but no namespace ${subject.name} is known there now: is it written right?`
}

const NAMESPACE: GroupKind = { group: '', kind: 'Namespace' }

async function closed(views: Views, cluster: ClusterId): Promise<string> {
  const view = await views.open()
  const asked = cluster === '' ? await view.clusters() : [cluster]
  const isAnyOpen = await view.read(() =>
    view.readers.some((reader) => asked.some((each) => openBreakerOf(reader, each) !== undefined)),
  )
  return isAnyOpen ? '' : '; no breaker was known to be open'
}
