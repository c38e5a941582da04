/**
 * Lists the direct dependents of one object, a page at a time, however many there are.
 *
 * What must stay true: pages follow the uids of dependents, so no change of a dependent moves it; a
 * dependent that references the owner throughout is listed, and none twice. A dependent names its
 * owner by uid and coordinates; an object that references only the uid is listed apart, on the
 * first page. The cursor has no more of the next uid than distinguishes it from the last one, since
 * that object may be hidden. A page reads a bounded number of keys, and may hold fewer dependents
 * than were asked for, or none, before the last.
 *
 * Not here: which object is meant (choice.ts), the tree below it (tree.ts), references by the uid
 * alone (misnamed.ts).
 */
import type { Identity } from '../../../../core/graph/identity.ts'
import type { Node } from '../../../../core/model/node.ts'
import { nodePhase } from '../../../../core/model/node.ts'
import type { OwnerReference } from '../../../../core/model/object.ts'
import type { DependentList as DependentListDocument } from '../../api/answer-schema.ts'
import type { Row, Unshaped } from '../../api/document.ts'
import { timeOf } from '../../api/document.ts'
import type { Misnamed } from '../../api/part-schema.ts'
import type { HistoryIndex } from '../index/history-index.ts'
import { part } from '../index/index-key.ts'
import { HIDDEN, hiddenText, type Sight } from '../view/sight.ts'
import { PAGE_KEYS, type View } from '../view/view.ts'
import { misnamedIn, NONE_MISNAMED } from './misnamed.ts'
import type { Answer } from './query.ts'
import { edgeOf, judgedOf, NOT_JUDGED } from './tree.ts'

/** Dependents on a page, unless it is asked for another number, and at most. */
export const LISTED = 500
export const LISTED_MOST = 2_000
/** Keys that one request reads at most; more where dependents are only counted. */
const MOST_READ = 5_000
const MOST_READ_TO_COUNT = 20_000

export type Dependent = Row<Unshaped<DependentListDocument>['objects']>

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
  /** None on a later page. */
  readonly misnamed: Misnamed
}

export interface DependentList {
  page(
    view: View,
    owner: Identity,
    asked: DependentsAsked,
    sight: Sight,
  ): Promise<Answer<DependentPage>>
}

export function createDependentList(index: HistoryIndex): DependentList {
  async function misnamedOf(view: View, owner: Identity, sight: Sight): Promise<Misnamed> {
    const isBehind = (await index.caughtUp()) > 0n
    return await misnamedIn(view, index, owner, { sight, isBehind })
  }

  return {
    async page(view, owner, asked, sight) {
      const { isCounted, limit, from } = asked
      const most = isCounted ? MOST_READ_TO_COUNT : MOST_READ
      const objects: Dependent[] = []
      let [count, read, hidden, last] = [0, 0, 0, '']
      let next: string | null = null
      for await (const uid of view.dependents(owner, from, Math.min(PAGE_KEYS, most))) {
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
        const reference = node && view.referenceTo(owner, node.object)
        if (node === undefined || reference === undefined) continue
        count += 1
        if (isCounted) continue
        const isShown = sight.isWhole || (await sight.shows(node.object))
        if (!isShown) hidden += 1
        objects.push(dependentOf(view, node, reference, isShown))
      }
      const misnamed = from === '' ? await misnamedOf(view, owner, sight) : NONE_MISNAMED
      const partial = [view.partial(), hiddenText(hidden)]
      return {
        answer: { objects, count, next, misnamed },
        partial: partial.filter((text) => text !== '').join('; '),
      }
    },
  }
}

/** As little of the second as makes it sort after the first. */
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
  const { object } = node
  const phase = nodePhase(node)
  const { group, kind, namespace, name, uid, createdAt, deletedAt } = object
  const edge = edgeOf(view, node, reference)
  const place = { group, kind, namespace }
  if (!isShown) {
    const nothing = { createdAt: null, deletionTimestamp: null, ...NOT_JUDGED }
    return { ...place, name: HIDDEN, uid: HIDDEN, phase, ...nothing, edge }
  }
  return {
    ...{ ...place, name, uid, phase },
    createdAt: timeOf(createdAt),
    deletionTimestamp: timeOf(deletedAt),
    ...judgedOf(node),
    edge,
  }
}
