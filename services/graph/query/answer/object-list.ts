/**
 * Lists the objects of one cluster, a page at a time: those that exist from the store of their
 * cluster, deleted ones from the index.
 *
 * What must stay true: pages follow keys that no change of an object moves (its uid, below its
 * cluster and kind), so what exists throughout is listed, and nothing twice. A page reads a bounded
 * number of keys, and may hold fewer objects than were asked for, or none, before the last. What is
 * not known here is `unknown`, never deleted; kinds that are not listed yet are named.
 *
 * Not here: which cluster a page is about (list-question.ts), who may ask (http.ts).
 */
import { lastPart, nodesPrefix, seenPrefix } from '../../../../core/graph/key.ts'
import type { Node } from '../../../../core/model/node.ts'
import { nodePhase } from '../../../../core/model/node.ts'
import type { Coordinates, GroupKind, Scope, Uid } from '../../../../core/model/object.ts'
import { entriesIn, type KeyRange, prefixRange } from '../../../../ports/store.ts'
import type { ObjectList as ObjectListDocument } from '../../api/answer-schema.ts'
import type { Row, Unshaped } from '../../api/document.ts'
import { type ClusterRef, timeOf } from '../../api/document.ts'
import { historiesAt, lastStateOf } from '../index/history-at.ts'
import type { HistoryIndex, Indexed } from '../index/history-index.ts'
import type { Asked } from '../index/moment.ts'
import type { Clusters } from '../view/clusters.ts'
import type { KindWord } from '../view/kind-word.ts'
import { type KnownKind, kindsIn } from '../view/kind-word.ts'
import { PAGE_KEYS, type View } from '../view/view.ts'
import type { Answer } from './query.ts'
import { judgedOf, NOT_JUDGED } from './tree.ts'

/**
 * Keys that one request reads at most; more where objects are only counted, since nothing is kept
 * of them.
 */
export const MOST_READ = 5_000
export const MOST_READ_TO_COUNT = 20_000
/** Kinds that `partial` names. */
const MOST_NAMED = 5

export interface ListAsked {
  /** Empty: all kinds. */
  readonly kind: string
  /** Undefined: any. A name takes a namespace. */
  readonly name: string | undefined
  /**
   * Undefined: all. Objects without a namespace are listed with every one where their kind is asked
   * for, as kubectl does.
   */
  readonly namespace: string | undefined
  /** Only those with a namespace, or those without. */
  readonly scope?: Scope
  /** Deleted ones, too. */
  readonly isGone: boolean
  readonly limit: number
  /** Nothing is listed. */
  readonly isCounted: boolean
  /** With owner references. */
  readonly hasReferences?: boolean
  /** Undefined: of now. */
  readonly at?: Asked | undefined
}

export type ListedObject = Row<Unshaped<ObjectListDocument>['objects']>

export interface ObjectPage {
  readonly objects: readonly ListedObject[]
  /** Of this page, also where none is listed. */
  readonly count: number
  /** Last key that was read; null: there are no more in this cluster. */
  readonly next: string | null
  /** Kinds of this cluster that the question means; empty for all. */
  readonly kinds: readonly string[]
}

export interface ObjectList {
  page(
    view: View,
    cluster: ClusterRef,
    asked: ListAsked,
    after: string,
  ): Promise<Answer<ObjectPage>>
}

/** One key on the way. */
interface Candidate {
  readonly key: string
  readonly uid: Uid
  /** As the index has it. */
  readonly last: Indexed | undefined
  /** Below which kind it was read; null: below none. */
  readonly prefix: string | null
}

/** Where objects of a name are searched: an object without a namespace is listed in every one. */
export function namespacesOf({ namespace = '' }: Pick<ListAsked, 'namespace'>): readonly string[] {
  return [...new Set(['', namespace])]
}

export function createObjectList(
  index: HistoryIndex,
  clusters: Pick<Clusters, 'kindWords'>,
): ObjectList {
  /** Of one name, or (undefined) all that were ever seen, by uid. */
  async function* indexed(view: View, asked: ListAsked, after: string): AsyncIterable<Candidate> {
    const { name } = asked
    // An object that is deleted now may have existed then.
    const isGone = asked.isGone || view.moment !== null
    const namespaces = namespacesOf(asked)
    const names = index.namesOf(view.cluster)
    const found =
      name === undefined
        ? names.all(after)
        : names.listed({ cluster: view.cluster, namespaces, name, isGone }, after)
    for await (const [key, last] of found) {
      await view.turns.take()
      yield { key, uid: last.uid, last, prefix: null }
    }
  }

  /** As the index had it at the moment of the view; of now as it is. */
  async function thenOf(view: View, candidate: Candidate): Promise<Candidate> {
    const { last, uid } = candidate
    const { moment, cluster } = view
    const isKnown = moment === null || last === undefined || last.cluster !== cluster
    if (isKnown || view.node(uid) !== undefined) return candidate
    const state = await lastStateOf(historiesAt(index, moment), view.identityOf(last))
    if (state === undefined) return { ...candidate, last: undefined }
    return { ...candidate, last: { ...last, isGone: state.change === 'gone', at: state.at } }
  }

  return {
    async page(view, cluster, asked, after) {
      const served = await kindsIn(view)
      const word = await clusters.kindWords.of(asked.kind)
      const kinds = asked.kind === '' ? served : served.filter((each) => word.is(each, each))
      const doubts = new Set([view.partial(), unlisted(asked, kinds)])
      const isIndexed = asked.name !== undefined || asked.isGone
      if (isIndexed) {
        const lag = await (after === '' ? index.caughtUp() : index.lagEntries())
        if (lag > 0n) doubts.add(`${lag} entries of history are not indexed yet`)
      }
      const candidates = isIndexed ? indexed(view, asked, after) : stored(view, asked, kinds, after)

      const objects: ListedObject[] = []
      const most = asked.isCounted ? MOST_READ_TO_COUNT : MOST_READ
      let [count, read, last] = [0, 0, after]
      const told = (next: string | null): Answer<ObjectPage> => ({
        answer: {
          objects,
          count,
          next,
          kinds: asked.kind === '' ? [] : kinds.map(nameOf),
        },
        partial: [...doubts].filter((text) => text !== '').join('; '),
      })
      for await (const candidate of candidates) {
        const isFull = !asked.isCounted && count >= asked.limit
        if (read >= most || isFull) return told(last)
        read += 1
        const object = objectOf(view, cluster, asked, await thenOf(view, candidate))
        if (object !== undefined && isAsked(asked, object, kinds, word)) {
          count += 1
          if (!asked.isCounted) objects.push(object)
        }
        last = candidate.key
      }
      return told(null)
    },
  }
}

/** Those that exist, by uid, below their kind where one is asked for. */
async function* stored(
  view: View,
  { kind }: ListAsked,
  kinds: readonly KnownKind[],
  after: string,
): AsyncIterable<Candidate> {
  const { cluster } = view
  const prefixes =
    kind === '' ? [nodesPrefix(cluster)] : kinds.map((each) => seenPrefix(cluster, each))
  for (const prefix of prefixes.toSorted()) {
    let range: KeyRange = prefixRange(prefix, PAGE_KEYS)
    if (range.lt <= after) continue
    if (range.gte <= after) range = { ...range, gte: `${after}\0` }
    for await (const [key] of entriesIn(view.store, range)) {
      await view.turns.take()
      yield { key, uid: lastPart(key), last: undefined, prefix: kind === '' ? null : prefix }
    }
  }
}

/** Undefined where it is not of this cluster, or exists no more and is not asked for. */
function objectOf(
  view: View,
  cluster: ClusterRef,
  { isGone, hasReferences }: ListAsked,
  { uid, last, prefix }: Candidate,
): ListedObject | undefined {
  if (last !== undefined && last.cluster !== view.cluster) return undefined
  const node = view.node(uid)
  if (node !== undefined) {
    // One that is served in two groups may have been read below both: it is listed with the one
    // that it has now.
    const isHere = prefix === null || prefix === seenPrefix(view.cluster, node.object)
    if (!isHere) return undefined
    const references = node.object.ownerReferences
    return { ...existing(cluster, node), ...(hasReferences && { references }) }
  }
  if (last === undefined) return undefined
  const isKnown = view.partial() === ''
  if (!isGone && isKnown) return undefined
  const { group, kind, namespace, name, owners, moreOwners = 0, at } = last
  return {
    ...{ cluster, group, kind, namespace, name, uid },
    phase: isKnown ? 'gone' : 'unknown',
    createdAt: null,
    deletionTimestamp: null,
    goneAt: isKnown && last.isGone ? timeOf(at) : null,
    ...NOT_JUDGED,
    owners: [...new Set(owners.map((owner) => owner.uid))],
    moreOwners,
    ...(hasReferences && { references: null }),
  }
}

function existing(cluster: ClusterRef, node: Node): ListedObject {
  const { object } = node
  const phase = nodePhase(node)
  const { group, kind, namespace, name, uid, createdAt, deletedAt, ownerReferences } = object
  return {
    ...{ cluster, group, kind, namespace, name, uid, phase },
    createdAt: timeOf(createdAt),
    deletionTimestamp: timeOf(deletedAt),
    goneAt: null,
    ...judgedOf(node),
    owners: [...new Set(ownerReferences.map((owner) => owner.uid))],
    moreOwners: 0,
  }
}

export function isAsked(
  asked: Pick<ListAsked, 'kind' | 'name' | 'namespace' | 'scope'>,
  object: Coordinates & { readonly phase: string },
  kinds: readonly KnownKind[],
  word: KindWord,
): boolean {
  const { kind, name, namespace, scope } = asked
  if (scope !== undefined && (scope === 'Cluster') !== (object.namespace === '')) return false
  if (name !== undefined && object.name !== name) return false
  const isThere = namespace === undefined || object.namespace === namespace
  if (!isThere && (object.namespace !== '' || kind === '')) return false
  if (kind === '' || kinds.some((each) => isSame(each, object))) return true
  // A deleted one may be of a kind that its cluster was never said to serve here.
  return (object.phase === 'gone' || object.phase === 'unknown') && word.is(object, undefined)
}

function isSame(a: GroupKind, b: GroupKind): boolean {
  return a.group === b.group && a.kind === b.kind
}

/** Of a kind that is not listed yet, or is unwatched, objects may exist that are unknown here. */
function unlisted({ kind }: ListAsked, kinds: readonly KnownKind[]): string {
  const unknown = kinds.filter(
    ({ phase }) => phase === 'unsynced' || (kind !== '' && phase === 'unmonitored'),
  )
  const names = unknown.slice(0, MOST_NAMED).map((each) => {
    return `${nameOf(each)} is ${each.phase === 'unsynced' ? 'not listed yet' : 'not watched'}`
  })
  const more = unknown.length - names.length
  return [...names, ...(more > 0 ? [`${more} more kinds are not listed yet`] : [])].join('; ')
}

export function nameOf({ group, resource }: KnownKind): string {
  return group === '' ? resource : `${resource}.${group}`
}
