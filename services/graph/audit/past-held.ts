/**
 * What was held at a moment of the past: a partition folded again up to it, and then asked as a graph process is (query/held.ts).
 *
 * What must stay true: it makes no call and writes to nothing but the store it was given. A moment that the log does not reach back to is refused (reach.ts).
 * What the fold had not come to is said in `partial`.
 *
 * Not here: reading the log (refold.ts), one answer of several partitions (cli/audit-held.ts).
 */
import { clusterOf } from '../../../core/graph/graph.ts'
import type { ClusterId } from '../../../core/model/object.ts'
import { readAssignments } from '../../../ports/assignment.ts'
import type { Clock } from '../../../ports/clock.ts'
import { Tally } from '../fold/tally.ts'
import { heldIn, type OwnHeld } from '../query/held.ts'
import type { Asked } from '../query/moment.ts'
import { WHOLE } from '../query/sight.ts'
import { readerOf, View } from '../query/view.ts'
import { loadBaseBefore } from './reach.ts'
import { committedEnd, eventOf, READ_LIMIT, type RefoldParts } from './refold.ts'
import { ReplayFold } from './replay-fold.ts'

export interface HeldQuestion {
  readonly asked: Asked
  /** Undefined: in all. */
  readonly namespace: string | undefined
  /** Given the clusters that were seen by then, those that the answer is about. */
  readonly chosen: (known: readonly SeenCluster[]) => readonly SeenCluster[]
}

export interface PastHeldParts extends RefoldParts, HeldQuestion {
  readonly clock: Clock
}

export interface SeenCluster {
  readonly id: ClusterId
  readonly name: string
}

export interface PastHeld extends OwnHeld {
  /** Seen by then, in this partition. */
  readonly clusters: readonly SeenCluster[]
}

/** Undefined: a position of another partition was asked for. */
export async function heldAt(
  parts: PastHeldParts,
  signal: AbortSignal,
): Promise<PastHeld | undefined> {
  const { log, codec, store, partition, clock, asked, namespace } = parts
  if (asked.type === 'position' && asked.partition !== partition) return undefined
  const fold = new ReplayFold(parts, await loadBaseBefore(parts, asked))
  const isWhole = await foldUntil(parts, fold, signal)
  const { position, partitions } = fold.position
  const reader = readerOf(store, codec)
  const tally = new Tally(codec)
  while (!tally.isWhole) await tally.goOn(store, reader)
  const local = {
    ...{ partition, store, counts: () => tally.counts() },
    status: () => ({ state: 'folding', position, lagEntries: 0n }) as const,
  }
  const assigned = [...(await readAssignments(log, codec)).values()]
  const seen = assigned.flatMap(({ cluster, partition: own }) => {
    const state = own === partition ? clusterOf(reader, cluster) : undefined
    return state === undefined ? [] : [{ id: cluster, name: state.name }]
  })
  const views = parts.chosen(seen).map(({ id }) => {
    return new View({ cluster: id, partition: local, partitions, codec, clock })
  })
  const scope = { namespace, isWhole: true, sight: async () => WHOLE }
  const own = await heldIn(views, [reader], { namesake: async () => '' }, scope)
  const doubts = [own.partial, isWhole ? '' : `partition ${partition}: ${NOT_FOLDED}`]
  const partial = doubts.filter((text) => text !== '').join('; ')
  return { ...own, partial, clusters: seen }
}

const NOT_FOLDED = 'not all that was recorded by then is folded yet'

/** Answers false where the fold had not come so far. */
async function foldUntil(
  parts: PastHeldParts,
  fold: ReplayFold,
  signal: AbortSignal,
): Promise<boolean> {
  const { log, partition, asked } = parts
  const { partitions } = fold.position
  const end = await committedEnd(parts)
  for (;;) {
    signal.throwIfAborted()
    const from = fold.position.position
    const page = await log.read('events', partition, from, { limit: READ_LIMIT, waitMs: 0 })
    for (const entry of page.entries) {
      const { offset: position, timestamp } = entry
      const isBefore = asked.type === 'time' ? timestamp <= asked.at : position < asked.position
      if (!isBefore || position >= end) {
        await fold.stored()
        return !isBefore
      }
      const at = { partition, partitions, position, timestamp }
      await fold.fold(await eventOf(parts, fold, entry), at)
    }
    await fold.stored()
    if (page.entries.length === 0) {
      return asked.type === 'time' || fold.position.position >= asked.position
    }
  }
}
