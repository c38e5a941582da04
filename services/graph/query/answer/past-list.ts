/**
 * Lists the objects of one cluster at a moment of the past, a page at a time, out of the index alone.
 *
 * What must stay true: pages follow keys that no change moves; a page reads a bounded number of them, and may hold fewer objects than were asked for before the last.
 * What was not listed by then, or is not watched, is named and never counts as absent.
 *
 * Not here: whether the moment can be asked (moment.ts), the objects of now (object-list.ts).
 */
import { type ClusterRef, timeOf } from '../../api/document.ts'
import type { HistoryIndex } from '../index/history-index.ts'
import type { Moment } from '../index/moment.ts'
import { kindPrefix, type PastObject, uidIn } from '../index/span-index.ts'
import type { Clusters } from '../view/clusters.ts'
import { kindsIn } from '../view/kind-name.ts'
import { PAGE_KEYS, type View } from '../view/view.ts'
import {
  isAsked,
  type ListAsked,
  type ListedObject,
  MOST_READ,
  MOST_READ_TO_COUNT,
  nameOf,
  namespacesOf,
  type ObjectPage,
} from './object-list.ts'
import { unlistedAt } from './past.ts'
import type { Answer } from './query.ts'

export type PastList = (
  view: View,
  cluster: ClusterRef,
  asked: ListAsked,
  moment: Moment,
  after: string,
) => Promise<Answer<ObjectPage>>

export function createPastList(
  index: HistoryIndex,
  clusters: Pick<Clusters, 'kindWord'>,
): PastList {
  const { spans } = index

  /** Keys of all that were ever seen of these prefixes' kinds. */
  async function* keysBelow(
    view: View,
    kinds: readonly Parameters<typeof kindPrefix>[1][],
    after: string,
  ): AsyncIterable<string> {
    const sorted = kinds.toSorted((a, b) => {
      return kindPrefix(view.cluster, a) < kindPrefix(view.cluster, b) ? -1 : 1
    })
    for (const kind of sorted) {
      for (let from = after; ; ) {
        const page = await spans.page(view.cluster, kind, from, PAGE_KEYS)
        yield* page
        const last = page.at(-1)
        if (last === undefined || page.length < PAGE_KEYS) break
        from = last
      }
    }
  }

  /** Keys of all that ever had the name. */
  async function* named(view: View, asked: ListAsked, after: string): AsyncIterable<string> {
    const { name = '' } = asked
    const of = { cluster: view.cluster, namespaces: namespacesOf(asked), name, isGone: true }
    for await (const [key] of index.listed(of, after)) yield key
  }

  return async (view, cluster, asked, moment, after) => {
    const served = await kindsIn(view)
    const word = await clusters.kindWord(asked.kind)
    const kinds = asked.kind === '' ? served : served.filter((each) => word.is(each, each))
    const doubts = new Set([unlistedAt(kinds, asked.kind !== '', moment)])
    const keys =
      asked.name === undefined
        ? keysBelow(view, asked.kind === '' ? [null] : kinds, after)
        : named(view, asked, after)

    const objects: ListedObject[] = []
    const most = asked.isCounted ? MOST_READ_TO_COUNT : MOST_READ
    let [count, read, hidden, last] = [0, 0, 0, after]
    const told = (next: string | null): Answer<ObjectPage> => {
      if (hidden > 0) doubts.add(`left out: ${hidden} that nobody watched by then`)
      return {
        answer: { objects, count, next, kinds: asked.kind === '' ? [] : kinds.map(nameOf) },
        partial: [...doubts].filter((text) => text !== '').join('; '),
      }
    }
    for await (const key of keys) {
      if (read >= most || (!asked.isCounted && count >= asked.limit)) return told(last)
      read += 1
      await view.turns.take()
      last = key
      const past = spans.objectAt(view.cluster, uidIn(key), moment)
      if (past === undefined || (past.phase === 'gone' && !asked.isGone)) continue
      const object = listedAs(cluster, past)
      if (!isAsked(asked, object, kinds, word)) continue
      if (past.phase === 'hidden') hidden += 1
      else {
        count += 1
        const references = past.phase === 'gone' ? null : past.owners
        const full = asked.hasReferences ? { ...object, references } : object
        if (!asked.isCounted) objects.push(full)
      }
    }
    return told(null)
  }
}

function listedAs(cluster: ClusterRef, past: PastObject): ListedObject {
  const { group, kind, namespace, name, uid, phase, createdAt, deletedAt, since, owners } = past
  return {
    ...{ cluster, group, kind, namespace, name, uid },
    phase: phase === 'hidden' ? 'unknown' : phase,
    createdAt: timeOf(createdAt),
    deletionTimestamp: timeOf(deletedAt),
    goneAt: phase === 'gone' ? timeOf(since) : null,
    verdict: null,
    owners: [...new Set(owners.map((owner) => owner.uid))],
    moreOwners: 0,
  }
}
