/**
 * Says why no object is what a question asks for: there is no such cluster, no such kind, or none
 * of that name, and what is nearest to it.
 *
 * What must stay true: it is said to those only who may see the whole graph (question.ts); the
 * words are those of the question, over HTTP as in a terminal.
 */
import { Problem } from '../../../../runtime/http/problem.ts'
import type { ClusterRef } from '../../api/document.ts'
import { clusterRefs } from '../../api/document.ts'
import { labelOf } from '../../api/word.ts'
import type { Match, Selector } from '../answer/query.ts'
import { changesBetween } from '../index/near-word.ts'
import type { Clusters, KnownCluster } from '../view/clusters.ts'
import { alike, type KnownKind, kindsIn } from '../view/kind-word.ts'
import type { Finder } from './finder.ts'

/** What it is said by. */
export interface Seeking {
  readonly finder: Pick<Finder, 'find'>
  readonly clusters: Clusters
}

/** The beginning of a uid as API servers make them. */
const PART_OF_UID = /^[0-9a-f][0-9a-f-]{3,34}$/

/** `doubt`: what could not be asked, or is not indexed yet; else empty. */
export async function notFound(
  { finder, clusters }: Seeking,
  asked: Selector,
  doubt: string,
): Promise<Problem> {
  const named = namedClusters(await clusters.all(asked.cluster), asked.cluster)
  const unknown = (why: string): Problem =>
    new Problem(503, `whether ${wordsOf(asked)} was ever seen is not known: ${why}`)
  // A process that is silent is not waited for once more.
  if (doubt !== '') return unknown(doubt)
  const elsewhere = await elsewhereOf(finder, asked)
  const anyKind = { ...asked, kind: '' }
  const { matches: sameName, lacks } = await finder.find({ selector: anyKind })
  // What was not read may be the one that is asked for.
  if (lacks === 'any') return unknown(unreadText(asked))
  const hint =
    elsewhere.length > 0
      ? `; there is one in ${listed(elsewhere, ({ clusterName }) => `cluster ${clusterName}`)}`
      : ''
  if (asked.uid !== undefined) {
    const whole = PART_OF_UID.test(asked.uid) ? '; a uid is asked for in all of its length' : ''
    return new Problem(
      404,
      `no object with uid ${asked.uid} was ever seen${inOf(asked)}${hint || whole}`,
    )
  }
  const other =
    sameName.length > 0 ? `; of that name there is ${listed(sameName, kindAndName)}` : hint
  const kinds = await kindsOf(clusters, named)
  const word = await clusters.kindWords.of(asked.kind)
  const meant = kinds?.filter((kind) => word.is(kind, kind))
  if (kinds !== undefined && meant?.length === 0) {
    const [only, second] = named
    const who =
      only !== undefined && second === undefined
        ? `cluster ${labelOf(only)} serves`
        : 'the clusters serve'
    const near = alike(asked.kind, kinds)
    const maybe = other || (near.length > 0 ? `; did you mean ${near.join(' or ')}?` : '')
    const yet = isListing(clusters, named)
      ? ' as far as is known: kinds are still being listed'
      : ''
    return new Problem(404, `${who} no kind ${asked.kind}${yet}${maybe}`)
  }
  const isInNamespace = asked.namespace !== '' && meant?.every(isClusterScoped) !== true
  const where = `${isInNamespace ? ` in namespace ${asked.namespace}` : ''}${inOf(asked)}`
  const { matches: like } = await finder.find({ selector: asked, isNear: true })
  const near = nearText(asked, like)
  const maybe = isInNamespace ? '; it may be in another namespace' : ''
  const why = unwatched(meant) || other || near || maybe
  return new Problem(404, `no ${asked.kind}/${asked.name} was ever seen${where}${why}`)
}

/** In other clusters than those that are asked, as far as these can be asked. */
async function elsewhereOf(finder: Seeking['finder'], asked: Selector): Promise<readonly Match[]> {
  if (asked.cluster === undefined) return []
  return (await finder.find({ selector: { ...asked, cluster: undefined } })).matches
}

/**
 * Refuses a question about a kind that no cluster serves, or ever served: an empty answer would be
 * taken for one of "nothing". A kind is unknown only where the kinds of every cluster that is asked
 * can be read here, whole; if that is unclear, the question is answered.
 */
export async function refuseUnknownKind(
  clusters: Pick<Clusters, 'view' | 'kindWords'>,
  kind: string,
  asked: readonly KnownCluster[],
): Promise<void> {
  const word = await clusters.kindWords.of(kind)
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

/** Names that a hint has at most. */
const MOST_NEAR = 3

/** What may have been meant, as it has to be asked for. */
function nearText({ kind, name }: Selector, near: readonly Match[]): string {
  const sorted = near.toSorted((a, b) => changesOf(name, a) - changesOf(name, b))
  const nearest = sorted.filter((each) => changesOf(name, each) === changesOf(name, sorted[0]!))
  const words = nearest.map(({ object, isThere }) => {
    const at = object.namespace === '' ? '' : ` -n ${object.namespace}`
    const word = object.name === name ? at.trim() : `${kind}/${object.name}${at}`
    return isThere ? word : `${word} (deleted)`
  })
  const [first, ...more] = [...new Set(words)]
  if (first === undefined) return ''
  const shown = [first, ...more].slice(0, MOST_NEAR).join(' or ')
  return `; did you mean ${shown}${more.length >= MOST_NEAR ? ', or others' : ''}?`
}

function changesOf(name: string, { object }: Match): number {
  return changesBetween(name, object.name)
}

/** Where more have a name, or a uid, than are looked through. */
export function unreadText({ uid, name, cluster }: Selector): string {
  const what = uid === undefined ? `objects are or were called ${name}` : 'objects have this uid'
  const remedy = uid === undefined ? 'ask with uid' : 'add --cluster'
  return `more ${what} than are looked through; ${cluster === undefined ? 'add --cluster, or ' : ''}${remedy}`
}

function wordsOf({ kind, name, uid }: Selector): string {
  return uid === undefined ? `${kind}/${name}` : `an object with uid ${uid}`
}

/** Clusters without a name that a refusal lists. */
const MOST_UNNAMED = 5

/** Of that name or id, or all. */
export function namedClusters(
  all: readonly KnownCluster[],
  asked: string | undefined,
): readonly (KnownCluster & ClusterRef)[] {
  const refOf = clusterRefs(all)
  const found = all.filter(({ id, name }) => asked === undefined || id === asked || name === asked)
  if (found.length > 0 || asked === undefined) {
    return found.map((known) => ({ ...known, ...refOf(known.id) }))
  }
  refuseUnnamed(all, asked)
  const known = all.map(({ id }) => labelOf(refOf(id))).join(', ')
  throw new Problem(404, `there is no cluster ${asked}; known clusters: ${known || 'none'}`)
}

/** Where none of them has that name: it may be that of one whose watcher has not said it yet. */
export function refuseUnnamed(all: readonly KnownCluster[], asked: string): void {
  const unnamed = all.flatMap(({ id, isNamed }) => (isNamed ? [] : [id]))
  if (unnamed.length === 0) return
  const some = unnamed.slice(0, MOST_UNNAMED).join(', ')
  const ids = unnamed.length > MOST_UNNAMED ? `${some} and others` : some
  throw new Problem(
    503,
    `whether a cluster is called ${asked} is not known: watchers have not said yet what these are called; ask with the id: ${ids}`,
  )
}

/** Undefined when another process has one of them: the kinds that it serves are unknown here. */
async function kindsOf(
  clusters: Clusters,
  named: readonly KnownCluster[],
): Promise<readonly KnownKind[] | undefined> {
  const kinds: KnownKind[] = []
  for (const each of named) {
    const view = clusters.view(each)
    if (view === undefined || view.partial() !== '') return undefined
    kinds.push(...(await kindsIn(view)))
  }
  return kinds.length === 0 ? undefined : kinds
}

/** What such a cluster serves may not be known yet. */
function isListing(clusters: Clusters, named: readonly KnownCluster[]): boolean {
  return named.some((each) => {
    const view = clusters.view(each)
    const { monitored = 0, synced = 0 } = view?.facts.state ?? {}
    return monitored > synced
  })
}

function isClusterScoped({ scope }: KnownKind): boolean {
  return scope === 'Cluster'
}

/**
 * Each watcher of today records one, at its start (services/watcher/kind/catalog.ts): only what an
 * older one recorded has none.
 */
const UNRECORDED =
  'its watcher recorded no reason, as older versions do not; restart it with this version, then "kinfold doctor" names the reason'

/** Objects of an unwatched kind are never observed; of a kind that is not listed yet, not yet. */
function unwatched(meant: readonly KnownKind[] = []): string {
  const reasons = meant.map(({ group, kind, phase, reason }) => {
    const name = group === '' ? kind : `${kind}.${group}`
    if (phase === 'unsynced') return `${name} is not listed yet; /readyz?verbose says why`
    return phase === 'unmonitored' ? `${name} is not watched: ${reason || UNRECORDED}` : ''
  })
  return reasons.length === 0 || reasons.includes('') ? '' : `: ${[...new Set(reasons)].join('; ')}`
}

function inOf({ cluster }: Selector): string {
  return cluster === undefined ? '' : ` in cluster ${cluster}`
}

function listed(matches: readonly Match[], word: (match: Match) => string): string {
  return [...new Set(matches.map(word))].join(', ')
}

function kindAndName({ object: { group, kind, name } }: Match): string {
  return `${group === '' ? kind : `${kind}.${group}`}/${name}`
}
