/**
 * What differs between two moments of one cluster, a page at a time, out of the index alone: from the minutes in which objects changed, so it costs what changed between
 * the two, and not what there is.
 *
 * What must stay true: a page is a part of the difference of the two lists of past-list.ts. An object counts in the minute of its last change before the later moment, so
 * none is listed twice. One of which nobody knows what it was at a moment is counted as left out, and never as added or deleted.
 *
 * Not here: whether the moments can be asked (past.ts), who deleted what is deleted (record/diff-question.ts).
 */
import { clusterOf } from '../../../../core/graph/graph.ts'
import type { HistoryIndex } from '../index/history-index.ts'
import type { Moment } from '../index/moment.ts'
import { type Minutes, minuteIn, minuteOf, type PastObject, uidIn } from '../index/span-index.ts'
import type { Clusters } from '../view/clusters.ts'
import { kindsIn } from '../view/kind-name.ts'
import { PAGE_KEYS, type View } from '../view/view.ts'
import { isAsked, nameOf } from './object-list.ts'
import { unlistedAt } from './past.ts'
import { wasThere } from './past-tree.ts'
import type { Answer } from './query.ts'

/** Keys that one page reads. */
const MOST_READ = 5_000
/** Objects with more states than are kept that one page looks at. */
const MOST_CUT = 1_000
/** By so much times of one partition may be out of its order, where brokers have clocks of their own. */
const SKEW_MS = 60_000

export interface DiffAsked {
  /** Empty: all kinds. */
  readonly kind: string
  /** Undefined: all. */
  readonly namespace: string | undefined
  readonly limit: number
}

export interface Difference {
  /** Where a page goes on that ends with it. */
  readonly key: string
  readonly change: 'added' | 'deleted' | 'changed'
  readonly before: PastObject | undefined
  readonly after: PastObject
}

export interface DifferencePage {
  readonly differences: readonly Difference[]
  /** Last key that was read; null: there are no more in this cluster. */
  readonly next: string | null
  /** Kinds of this cluster that the question means; empty for all. */
  readonly kinds: readonly string[]
}

export interface TwoMoments {
  readonly from: Moment
  readonly to: Moment
}

export type PastDiff = (
  view: View,
  asked: DiffAsked,
  moments: TwoMoments,
  after: string,
) => Promise<Answer<DifferencePage>>

export function createPastDiff(
  index: Pick<HistoryIndex, 'spans'>,
  clusters: Pick<Clusters, 'kindWord'>,
): PastDiff {
  const { spans } = index

  /** Of what these were at a moment, and are no more, the index kept nothing. */
  async function cutText(view: View, { from, to }: TwoMoments, filter: Filter): Promise<string> {
    const keys = await spans.cutPage(view.cluster, MOST_CUT)
    const unknown = keys.filter((key) => {
      const between = spans.objectBetween(view.cluster, uidIn(key), from, to)
      const is = [between?.before, between?.after].find((each) => each?.phase === 'unknown')
      return is !== undefined && filter(is)
    })
    if (unknown.length === 0 && keys.length < MOST_CUT) return ''
    const most = keys.length < MOST_CUT ? `${unknown.length}` : `more than ${unknown.length}`
    const objects = most === '1' ? '1 object that changed' : `${most} objects that changed`
    return `left out: ${objects} very often, and of which older states are not kept`
  }

  return async (view, asked, moments, after) => {
    const { from, to } = moments
    const served = await kindsIn(view)
    const word = await clusters.kindWord(asked.kind)
    const meant = asked.kind === '' ? served : served.filter((each) => word.is(each, each))
    const filter: Filter = (object) => isAsked({ ...asked, name: undefined }, object, meant, word)
    // What was listed by the first moment was listed by the second.
    const unlisted = unlistedAt(meant, asked.kind !== '', from, 'the first moment')
    const doubts = [unlisted, ...(after === '' ? [await cutText(view, moments, filter)] : [])]
    const minutes = minutesBetween(view, moments)
    const differences: Difference[] = []
    let [read, unclear, last] = [0, 0, after]
    const told = (next: string | null): Answer<DifferencePage> => {
      if (unclear > 0) doubts.push(`left out: ${unclear} that nobody watched at one of the moments`)
      const partial = doubts.filter((text) => text !== '').join('; ')
      const kinds = asked.kind === '' ? [] : meant.map(nameOf)
      return { answer: { differences, next, kinds }, partial }
    }
    for (;;) {
      const keys = await spans.changedPage(view.cluster, minutes, last, PAGE_KEYS)
      for (const key of keys) {
        if (read >= MOST_READ || differences.length >= asked.limit) return told(last)
        read += 1
        await view.turns.take()
        last = key
        const between = spans.objectBetween(view.cluster, uidIn(key), from, to)
        const found = between?.after
        // It changed again before the later moment: it is below that minute, too.
        if (found === undefined || minuteOf(found.since) !== minuteIn(key)) continue
        if (found.phase === 'unknown' || !filter(found)) continue
        const { before } = between ?? {}
        const change = changeOf(before, found)
        if (change === 'unclear') unclear += 1
        else if (change !== undefined) differences.push({ key, change, before, after: found })
      }
      if (keys.length < PAGE_KEYS) return told(null)
    }
  }
}

type Filter = (object: PastObject) => boolean

/** Undefined: there is none. */
function changeOf(
  before: PastObject | undefined,
  after: PastObject,
): Difference['change'] | 'unclear' | undefined {
  if (before?.position === after.position || before?.phase === 'unknown') return undefined
  if (before?.phase === 'hidden' || after.phase === 'hidden') return 'unclear'
  const is = wasThere(after)
  if (!wasThere(before)) return is ? 'added' : undefined
  if (!is) return 'deleted'
  return isSame(before, after) ? undefined : 'changed'
}

function isSame(a: PastObject, b: PastObject): boolean {
  if (a.phase !== b.phase || a.deletedAt !== b.deletedAt) return false
  return JSON.stringify(a.owners) === JSON.stringify(b.owners)
}

/** All in which something may have changed that the second moment holds and the first does not. */
function minutesBetween(view: View, { from, to }: TwoMoments): Minutes {
  const now = clusterOf(view.reader, view.cluster)?.now ?? 0
  // Where nothing follows a position, its time is that of the last heartbeat, and what came after that is held.
  const end = to.at + SKEW_MS >= now ? Number.POSITIVE_INFINITY : to.at + SKEW_MS
  return { first: minuteOf(from.at - SKEW_MS), last: minuteOf(end) }
}
