/**
 * What differs between two moments of one cluster, a page at a time: along what changed between
 * them, so it costs that, and not what there is.
 *
 * What must stay true: a page is a part of the difference of the two lists of object-list.ts. An
 * object counts at its last change before the later moment, so none is listed twice. One that
 * appeared or disappeared with the watch of its kind is counted as left out, and never as added or
 * deleted.
 *
 * Not here: whether the moments can be asked (view/open-view.ts), who deleted what is deleted
 * (record/diff-question.ts).
 */
import { lastPart, nodesPrefix } from '../../../../core/graph/key.ts'
import { type Node, nodePhase } from '../../../../core/model/node.ts'
import type { Coordinates, Uid } from '../../../../core/model/object.ts'
import {
  changedBetween,
  changesBack,
  lastChangeBefore,
  timeOfChange,
} from '../../fold/former/changed.ts'
import type { Clusters } from '../view/clusters.ts'
import { kindsIn } from '../view/kind-word.ts'
import type { View } from '../view/view.ts'
import { isAsked, nameOf } from './object-list.ts'
import type { Answer } from './query.ts'

/** Changed keys that one page reads, of objects and of all else. */
const MOST_READ = 20_000

export interface DiffAsked {
  /** Empty: all kinds. */
  readonly kind: string
  /** Undefined: all. */
  readonly namespace: string | undefined
  readonly limit: number
}

export interface Difference {
  /** Where the next page begins if a page ends with it. */
  readonly key: string
  readonly change: 'added' | 'deleted' | 'changed'
  readonly object: Coordinates & { readonly uid: Uid }
  /** Of its last change before the later moment, with its append time in milliseconds. */
  readonly position: number
  readonly at: number
  readonly before: Node | undefined
  readonly after: Node | undefined
}

export interface DifferencePage {
  readonly differences: readonly Difference[]
  /** Last key that was read; null: there are no more in this cluster. */
  readonly next: string | null
  /** Kinds of this cluster that the question means; empty for all. */
  readonly kinds: readonly string[]
}

/** Of one cluster. */
export interface TwoViews {
  readonly from: View
  readonly to: View
}

export type Differ = (
  views: TwoViews,
  asked: DiffAsked,
  after: string,
) => Promise<Answer<DifferencePage>>

export function createDiffer(clusters: Pick<Clusters, 'kindWords'>): Differ {
  return async (views, asked, after) => {
    const { from, to } = views
    const served = await kindsIn(to)
    const word = await clusters.kindWords.of(asked.kind)
    const meant = asked.kind === '' ? served : served.filter((each) => word.is(each, each))
    const differences: Difference[] = []
    let [read, unclear, last] = [0, 0, after]
    const told = (next: string | null): Answer<DifferencePage> => {
      const partial = [
        from.partial(),
        unclear > 0 ? `left out: ${unclear} that nobody watched at one of the moments` : '',
      ]
      const kinds = asked.kind === '' ? [] : meant.map(nameOf)
      const answer = { differences, next, kinds }
      return { answer, partial: partial.filter((text) => text !== '').join('; ') }
    }
    const nodes = nodesPrefix(to.cluster)
    const span = { from: positionOf(from), to: positionOf(to) }
    for await (const { key, position, at, cursor } of changedBetween(
      to.now,
      to.codec,
      span,
      after,
    )) {
      if (read >= MOST_READ || differences.length >= asked.limit) return told(last)
      read += 1
      last = cursor
      if (!key.startsWith(nodes)) continue
      await to.turns.take()
      // It changed again before the later moment, and is met again there.
      if (lastChangeBefore(to.now, to.codec, key, span.to) !== position) continue
      const uid = lastPart(key)
      const [before, is] = [from.node(uid), to.node(uid)]
      const known = is ?? before
      if (known === undefined) continue
      const { object } = known
      const shown = { ...object, phase: nodePhase(known) }
      if (!isAsked({ ...asked, name: undefined }, shown, meant, word)) continue
      const change = changeOf(before, is)
      if (change === undefined) continue
      if (change !== 'changed' && !isWatched(views, object)) unclear += 1
      else {
        const seen = await lastSeen(views, key, { position, at, after: is })
        differences.push({ key: cursor, change, object, ...seen, before, after: is })
      }
    }
    return told(null)
  }
}

function positionOf({ moment, partition }: View): number {
  return moment?.position ?? Number(partition.status().position)
}

/**
 * Watched at both moments: otherwise an object that appears or disappears may have existed
 * throughout.
 */
function isWatched({ from, to }: TwoViews, object: Coordinates): boolean {
  return [from, to].every((view) => {
    return view.facts.kind(object)?.phase !== 'unmonitored'
  })
}

/** Changes of one object that are read to find the one that shows. */
const MOST_BACK = 100

/**
 * The newest change of what the answer shows of an object; changes of what holds it, and why, are
 * skipped.
 */
async function lastSeen(
  { to }: TwoViews,
  key: string,
  last: { readonly position: number; readonly at: number; readonly after: Node | undefined },
): Promise<{ readonly position: number; readonly at: number }> {
  const { after } = last
  let { position, at } = last
  if (after === undefined) return { position, at }
  let left = MOST_BACK
  for (const change of changesBack(to.now, to.codec, key, positionOf(to))) {
    const { value } = change
    position = change.position
    const before = value.length === 0 ? undefined : nodeAt(to, position)
    if (before === undefined || !isSame(before, after) || --left === 0) break
  }
  if (position !== last.position) at = (await timeOfChange(to.now, to.codec, position)) ?? at
  return { position, at }

  function nodeAt(view: View, moment: number): Node | undefined {
    return view.at({ type: 'position', position: moment, at: 0, isTime: false }).node(lastPart(key))
  }
}

/** Undefined: there is none. */
function changeOf(
  before: Node | undefined,
  after: Node | undefined,
): Difference['change'] | undefined {
  if (before === undefined) return after === undefined ? undefined : 'added'
  if (after === undefined) return 'deleted'
  return isSame(before, after) ? undefined : 'changed'
}

function isSame(a: Node, b: Node): boolean {
  if (nodePhase(a) !== nodePhase(b) || a.object.deletedAt !== b.object.deletedAt) return false
  return JSON.stringify(a.object.ownerReferences) === JSON.stringify(b.object.ownerReferences)
}
