/**
 * Lists the direct dependents of one object, a page at a time, however many there are.
 *
 * What must stay true: pages follow the uids of dependents, below whatever coordinates each names its owner: so no change of a dependent moves it, what
 * references the owner throughout is listed, and nothing twice. Where a page ends is said by no more of the next uid than tells it from the last one, since that
 * object may be hidden. A page reads a bounded number of keys, and may hold fewer dependents than were asked for, or none, before the last.
 *
 * Not here: which object is meant (choice.ts), the tree below it (tree.ts).
 */
import { edgesPrefix, lastPart } from '../../../core/graph/key.ts'
import type { Node } from '../../../core/model/node.ts'
import type { OwnerReference, Uid } from '../../../core/model/object.ts'
import { timeOf } from '../api/document.ts'
import { type HistoryIndex, part } from './history-index.ts'
import type { ListedObject } from './object-list.ts'
import type { Answer } from './query.ts'
import { behindText } from './query.ts'
import { HIDDEN, hiddenText, type Sight } from './sight.ts'
import { edgeOf, type TreeNode } from './tree.ts'
import { PAGE_KEYS, type View } from './view.ts'

/** Dependents on a page, unless it is asked for another number, and at most. */
export const LISTED = 500
export const LISTED_MOST = 2_000
/** Keys that one request reads at most; more where dependents are only counted. */
const MOST_READ = 5_000
const MOST_READ_TO_COUNT = 20_000
/** Coordinates by which an owner is referenced: one, unless references are wrong. */
const MOST_PLACES = 1_000

export interface Dependent
  extends Pick<ListedObject, 'group' | 'kind' | 'namespace' | 'name' | 'uid' | 'phase'>,
    Pick<ListedObject, 'createdAt' | 'deletionTimestamp' | 'verdict'> {
  /** Of its reference to the owner. */
  readonly edge: NonNullable<TreeNode['edge']>
}

export interface DependentsAsked {
  readonly limit: number
  /** Nothing is listed. */
  readonly isCounted: boolean
  /** Where the page begins; empty: at the first. */
  readonly from: string
}

export interface DependentPage {
  readonly objects: readonly Dependent[]
  /** Of this page, also where none is listed. */
  readonly count: number
  /** Where the next page begins; null: there is none. */
  readonly next: string | null
}

export interface DependentList {
  page(view: View, owner: Uid, asked: DependentsAsked, sight: Sight): Promise<Answer<DependentPage>>
}

export function createDependentList(index: HistoryIndex): DependentList {
  return {
    async page(view, owner, asked, sight) {
      const { isCounted, limit, from } = asked
      const behind = behindText(await (from === '' ? index.caughtUp() : index.lagEntries()))
      const most = isCounted ? MOST_READ_TO_COUNT : MOST_READ
      const { sources, cut } = await sourcesOf(view, index, owner, from, most)
      const objects: Dependent[] = []
      let [count, read, hidden, last] = [0, 0, 0, '']
      let next: string | null = null
      for await (const uid of merged(sources)) {
        const key = part(uid)
        const isFull = !isCounted && count >= limit
        if (read >= most || isFull) {
          next = between(last, key)
          break
        }
        read += 1
        last = key
        await view.turns.take()
        const node = view.node(uid)
        const reference = node?.object.ownerReferences.find((each) => each.uid === owner)
        if (node === undefined || reference === undefined) continue
        count += 1
        if (isCounted) continue
        const isShown = sight.isWhole || (await sight.shows(node.object))
        if (!isShown) hidden += 1
        objects.push(dependentOf(view, node, reference, isShown))
      }
      const partial = [view.partial(), behind, cut, hiddenText(hidden)]
      return {
        answer: { objects, count, next },
        partial: partial.filter((text) => text !== '').join('; '),
      }
    },
  }
}

interface Sources {
  readonly sources: readonly AsyncIterable<Uid>[]
  readonly cut: string
}

/** The edges of the graph, a source for each of the coordinates, and the index: it alone has references whose kind cannot be resolved. */
async function sourcesOf(
  view: View,
  index: Pick<HistoryIndex, 'dependents'>,
  owner: Uid,
  from: string,
  most: number,
): Promise<Sources> {
  const places: string[] = []
  for await (const place of view.places(owner)) {
    if (places.length >= MOST_PLACES) break
    places.push(place)
  }
  const pageKeys = Math.min(PAGE_KEYS, Math.max(1, Math.floor(most / (places.length + 1))))
  const edges = places.map((place) => {
    return lastParts(view.entries(edgesPrefix(view.cluster, owner, place), from, pageKeys))
  })
  const cut =
    places.length < MOST_PLACES
      ? ''
      : `it is referenced by ${MOST_PLACES} coordinates or more: a dependent that is not indexed yet may be left out`
  return { sources: [...edges, index.dependents(view.cluster, owner, from)], cut }
}

async function* lastParts(
  entries: AsyncIterable<readonly [key: string, value: unknown]>,
): AsyncIterable<Uid> {
  for await (const [key] of entries) yield lastPart(key)
}

/** Of sources that each are in the order of `part`: in that order, each once. */
async function* merged(sources: readonly AsyncIterable<Uid>[]): AsyncIterable<Uid> {
  const heads: { readonly key: string; readonly uid: Uid; readonly rest: AsyncIterator<Uid> }[] = []
  const advance = async (rest: AsyncIterator<Uid>): Promise<void> => {
    const { done, value } = await rest.next()
    if (done !== true) heads.push({ key: part(value), uid: value, rest })
  }
  for (const source of sources) await advance(source[Symbol.asyncIterator]())
  while (heads.length > 0) {
    const first = heads.reduce((a, b) => (b.key < a.key ? b : a))
    yield first.uid
    const spent = heads.filter(({ key }) => key === first.key)
    for (const head of spent) heads.splice(heads.indexOf(head), 1)
    for (const { rest } of spent) await advance(rest)
  }
}

/** As little of the second as is behind the first. */
export function between(last: string, next: string): string {
  let at = 0
  while (at < last.length && last[at] === next[at]) at += 1
  return next.slice(0, at + 1)
}

function dependentOf(
  view: View,
  node: Node,
  reference: OwnerReference,
  isShown: boolean,
): Dependent {
  const { object, phase, verdict } = node
  const { group, kind, namespace, name, uid, createdAt, deletedAt } = object
  const edge = edgeOf(view, node, reference)
  const place = { group, kind, namespace }
  if (!isShown) {
    const nothing = { createdAt: null, deletionTimestamp: null, verdict: null }
    return { ...place, name: HIDDEN, uid: HIDDEN, phase, ...nothing, edge }
  }
  return {
    ...{ ...place, name, uid, phase },
    createdAt: timeOf(createdAt),
    deletionTimestamp: timeOf(deletedAt),
    verdict: verdict && { type: verdict.type, because: verdict.because },
    edge,
  }
}
