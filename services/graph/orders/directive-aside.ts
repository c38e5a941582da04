/**
 * What a user who gives an order, or takes one back, may not expect: that there was no order to
 * take back, which orders are still in effect, and that nothing protected is known.
 *
 * What must stay true: it is said beside the order, which is carried out in any case: reapers may
 * know more than the fold here does. Nothing is said about the partitions of another process.
 *
 * Not here: carrying it out (directive-http.ts).
 */
import { directivesOf, policyOf, type StateReader } from '../../../core/graph/graph.ts'
import type { ClusterId, GroupKind } from '../../../core/model/object.ts'
import type { Kind } from '../../../core/model/state.ts'
import { readSubject } from '../../../core/model/subject.ts'
import { openBreakersOf } from '../query/answer/held.ts'
import type { Query } from '../query/answer/query.ts'
import type { Clusters } from '../query/view/clusters.ts'
import type { View } from '../query/view/view.ts'
import type { Order } from './directive-order.ts'

export interface AsideParts {
  readonly clusters: Clusters
  readonly query: Query
}

/**
 * Sentences after the one that says what follows from the order, each with a space before it; empty
 * where all is as a user expects.
 */
export async function asideOf(
  { clusters, query }: AsideParts,
  order: Order,
  cluster: ClusterId,
): Promise<string> {
  switch (order.verb) {
    case 'resume':
      return await takenBack(clusters, cluster, pausesOf, {
        none: 'No such pause was known.',
        others: 'Still paused by separate orders',
      })
    case 'unprotect':
      return await takenBack(clusters, cluster, protectionsOf(order.subject), {
        none: 'No such protection was known.',
        others: 'Still protected by separate orders',
      })
    case 'close-breaker':
      return await closed(clusters, cluster)
    case 'enforce-rule':
      return isEnforcedIn(clusters, order) ? ' It was enforced already, as it is.' : ''
    case 'suspend-rule':
      return suspended(clusters, order)
    case 'protect':
      return await unknownSubject(clusters, query, order.subject, cluster)
    case 'pause':
    case 'approve':
    case 'reject':
    case 'remove-finalizer':
    case 'forget-cluster':
    case 'confirm-clock':
      return ''
    case 'remember-cluster':
      return isForgotten(clusters, order, cluster) ? '' : ' It was not forgotten.'
  }
}

/** As every partition here has it. */
function isEnforcedIn(clusters: Clusters, { subject, digest }: Order): boolean {
  const readers = clusters.readers()
  const has = (reader: StateReader): boolean =>
    directivesOf(reader).rules.some(({ name, digest: of }) => name === subject && of === digest)
  return readers.length > 0 && readers.every(has)
}

/** As any partition here has it: an order is in all. */
function isForgotten(clusters: Clusters, { subject }: Order, cluster: ClusterId): boolean {
  return clusters.readers().some((reader) => {
    const { forgotten } = directivesOf(reader)
    return forgotten.some((each) => each.cluster === cluster && each.owner === subject)
  })
}

function suspended(clusters: Clusters, { subject }: Order): string {
  const readers = clusters.readers()
  if (readers.length === 0) return ''
  const isNamed = ({ name }: { readonly name: string }): boolean => name === subject
  if (readers.some((reader) => directivesOf(reader).rules.some(isNamed))) return ''
  const isKnown = readers.some((reader) => policyOf(reader).policy.rules.some(isNamed))
  return isKnown ? ' It was not enforced.' : ` But no rule ${subject} is known: check the spelling.`
}

/** The clusters, empty for all, for which such an order is in effect. */
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
  clusters: Clusters,
  cluster: ClusterId,
  standing: Standing,
  { none, others }: Words,
): Promise<string> {
  const readers = clusters.readers()
  if (readers.length === 0) return ''
  const all = new Set(readers.flatMap(standing))
  const left = [...all].filter((each) => each !== cluster)
  const names = new Map((await clusters.all()).map(({ id, name }) => [id, name]))
  const text = left.map((each) => (each === '' ? 'all clusters' : (names.get(each) ?? each)))
  const apart = left.length === 0 ? '' : ` ${others}: ${text.join(', ')}.`
  return `${all.has(cluster) ? '' : ` ${none}`}${apart}`
}

/**
 * Of that cluster, or of all; undefined when another process has one of them, so that nothing can
 * be said of what is nowhere.
 */
async function viewsOf(
  clusters: Clusters,
  cluster: ClusterId,
): Promise<readonly View[] | undefined> {
  const asked = (await clusters.all()).filter(({ id }) => cluster === '' || id === cluster)
  const views = asked.map((each) => clusters.view(each))
  return views.every((view) => view !== undefined) ? views : undefined
}

/** It may be defined later, or elsewhere; or be a slip of the pen. */
async function unknownSubject(
  clusters: Clusters,
  query: Query,
  text: string,
  cluster: ClusterId,
): Promise<string> {
  const subject = readSubject(text)
  if (subject?.type !== 'kind' && subject?.type !== 'namespace') return ''
  const views = await viewsOf(clusters, cluster)
  if (views === undefined) return ''
  const phasesOf = (kind: GroupKind): readonly Kind['phase'][] =>
    views.flatMap((view) => view.facts.kind(kind)?.phase ?? [])
  if (subject.type === 'kind') {
    if (phasesOf(subject).length > 0) return ''
    return ` But no kind ${subject.kind}${subject.group === '' ? '' : `.${subject.group}`} is known there now: is it spelled as in manifests?`
  }
  // Where namespaces are not watched, nothing is known of any.
  const phases = new Set(phasesOf(NAMESPACE))
  if (phases.size !== 1 || !phases.has('synced')) return ''
  const place = { kind: 'Namespace', name: subject.name, namespace: '', uid: undefined }
  const asked = { ...place, cluster: cluster === '' ? undefined : cluster }
  const { matches, lacks } = await query.findIn(views, asked)
  if (lacks === 'any' || matches.some(({ isThere }) => isThere)) return ''
  return ` But no namespace ${subject.name} is known there now: check the spelling.`
}

const NAMESPACE: GroupKind = { group: '', kind: 'Namespace' }

async function closed(clusters: Clusters, cluster: ClusterId): Promise<string> {
  const views = await viewsOf(clusters, cluster)
  if (views === undefined) return ''
  for (const view of views) for await (const _ of openBreakersOf(view)) return ''
  return ' No breaker was known to be open.'
}
