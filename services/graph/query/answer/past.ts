/**
 * Whether a moment of the past can be asked, and what is said beside an answer about it.
 *
 * What must stay true: a moment that the fold has not passed, that the index has not read, or of which something was forgotten is refused with the nearest one that
 * can be asked. It is never answered with less.
 *
 * Not here: what was there (span-index.ts).
 */
import { clusterOf } from '../../../../core/graph/graph.ts'
import type { Clock } from '../../../../ports/clock.ts'
import type { Log } from '../../../../ports/log.ts'
import { LogError } from '../../../../ports/log.ts'
import { Problem } from '../../../../runtime/http/problem.ts'
import { type AsOf, timeOf } from '../../api/document.ts'
import type { HistoryIndex } from '../index/history-index.ts'
import { type Asked, type Horizon, holds, type Moment } from '../index/moment.ts'
import type { KnownKind } from '../view/kind-name.ts'
import type { View } from '../view/view.ts'

/** How long a question waits for the fold to pass the moment that it names, and how often it looks. */
const PASS_MS = 1_000
const PASS_LOOK_MS = 20
/** Kinds that a text names. */
const MOST_NAMED = 5

export interface Past {
  /** Waits a moment until everything before it is folded. Throws `Problem` where it is not. */
  passed(view: View, asked: Asked): Promise<void>
  /** Where nothing is missing. Throws `Problem` otherwise. */
  momentOf(view: View, asked: Asked): Promise<Moment>
  /** To be called behind all that was read: throws `Problem` where something of the moment was forgotten meanwhile. */
  stillKnown(view: View, moment: Moment): void
}

export interface PastParts {
  readonly log: Log
  readonly clock: Clock
  readonly index: Pick<HistoryIndex, 'caughtUp' | 'spans' | 'isBegun' | 'begin'>
}

export function createPast({ log, clock, index }: PastParts): Past {
  async function passed(view: View, asked: Asked): Promise<void> {
    const until = clock.monotonicMs() + PASS_MS
    while (!isPassed(view, asked)) {
      if (clock.monotonicMs() >= until) throw notYet(view, asked)
      await clock.sleep(PASS_LOOK_MS)
    }
  }

  /** Append time of the first entry that is not before it. */
  async function timeAt(view: View, position: bigint): Promise<number> {
    const { partition } = view.partition
    try {
      const { entries } = await log.read('events', partition, position, { limit: 1, waitMs: 0 })
      return entries[0]?.timestamp ?? clusterOf(view.reader, view.cluster)?.now ?? 0
    } catch (error) {
      if (!(error instanceof LogError) || error.code !== 'OUT_OF_RANGE') throw error
      const { start } = await log.bounds('events', partition)
      throw new Problem(
        410,
        `position ${partition}-${position} is kept no longer; the earliest is pos:${partition}-${start}`,
      )
    }
  }

  function stillKnown(view: View, moment: Moment): void {
    // Of what was deleted and forgotten before that, nothing says that it was there.
    const begun = begunAt(log, index)
    if (moment.at < begun) throw before(view, begun)
    const horizon = index.spans.horizon(view.cluster)
    if (horizon !== undefined && isBeyond(moment, horizon)) throw beyond(view, horizon)
  }

  return {
    passed,
    stillKnown,
    async momentOf(view, asked) {
      const { partition } = view.partition
      if (asked.type === 'position' && asked.partition !== partition) {
        throw new Problem(
          400,
          `pos:${asked.partition}-${asked.position} is of partition ${asked.partition}, and cluster ${view.name} is in partition ${partition}`,
        )
      }
      await passed(view, asked)
      const lag = await index.caughtUp()
      if (lag > 0n || !index.isBegun()) {
        const why = lag > 0n ? `${lag} entries of history are not indexed yet` : 'it is built anew'
        throw new Problem(
          503,
          `the index of the past has not come so far for cluster ${view.name}, ask again later: ${why}`,
        )
      }
      const moment: Moment =
        asked.type === 'time'
          ? asked
          : {
              type: 'position',
              position: Number(asked.position),
              at: await timeAt(view, asked.position),
            }
      stillKnown(view, moment)
      return moment
    },
  }
}

/** Everything before it is folded, and nothing that comes can be before it. */
function isPassed(view: View, asked: Asked): boolean {
  const { state, position } = view.partition.status()
  if (state !== 'folding') return false
  if (asked.type === 'position') return position >= asked.position
  return (clusterOf(view.reader, view.cluster)?.now ?? 0) > asked.at
}

function notYet(view: View, asked: Asked): Problem {
  const doubt = view.partial()
  if (doubt !== '') {
    return new Problem(503, `the past of cluster ${view.name} cannot be asked yet: ${doubt}`)
  }
  const { partition } = view.partition
  if (asked.type === 'position') {
    const { position } = view.partition.status()
    return new Problem(
      425,
      `pos:${partition}-${asked.position} is not folded yet; the newest is pos:${partition}-${position}`,
    )
  }
  const newest = timeOf((clusterOf(view.reader, view.cluster)?.now ?? 1) - 1)
  return new Problem(
    425,
    `nothing of cluster ${view.name} was recorded after ${timeOf(asked.at)} yet, so what was there then is not known; the newest moment is ${newest}`,
  )
}

/** Where history was trimmed before it was first read: since when none is missing. */
export function begunAt(log: Log, index: Pick<HistoryIndex, 'begin'>): number {
  const partitions = Array.from({ length: log.partitions('history') }, (_, each) => each)
  return Math.max(0, ...partitions.map((each) => index.begin(each)?.at ?? 0))
}

function before(view: View, begun: number): Problem {
  return new Problem(
    410,
    `history of cluster ${view.name} was removed from the log before this index was built; the earliest moment is ${timeOf(begun)}`,
  )
}

function isBeyond(moment: Moment, { position, at }: Horizon): boolean {
  return moment.type === 'time' ? moment.at < at : moment.position < position
}

function beyond(view: View, { position, at }: Horizon): Problem {
  const earliest = timeOf(at)
  if (position === Number.MAX_SAFE_INTEGER || earliest === null) {
    return new Problem(
      410,
      `history of cluster ${view.name} was recorded by a version that did not record owners: its past cannot be asked`,
    )
  }
  const { partition } = view.partition
  return new Problem(
    410,
    `that is more than is remembered of cluster ${view.name}; the earliest moment is ${earliest}, or pos:${partition}-${position}`,
  )
}

/** Of an answer about a moment. The position is null where a time was asked. */
export function asOfMoment(view: View, moment: Moment): AsOf {
  const { partition } = view.partition
  const position = moment.type === 'position' ? moment.position : null
  return { partition, position, time: timeOf(moment.at) }
}

/** Kinds of which objects may have existed that nobody had listed by then. */
export function unlistedAt(
  kinds: readonly KnownKind[],
  isOneKind: boolean,
  moment: Moment,
  when = 'then',
): string {
  const wasListed = ({ phase, listedBy, listedAt }: KnownKind): boolean =>
    phase === 'synced' && listedBy >= 0 && holds(moment, listedBy, listedAt)
  const unknown = kinds.filter((kind) => {
    const isMeant = isOneKind || kind.phase === 'synced' || kind.phase === 'unsynced'
    return isMeant && !wasListed(kind)
  })
  const names = unknown.slice(0, MOST_NAMED).map(({ group, resource }) => {
    return group === '' ? resource : `${resource}.${group}`
  })
  const more = unknown.length - names.length
  if (names.length === 0) return ''
  return `not known to have been listed by ${when}: ${names.join(', ')}${more > 0 ? ` and ${more} more kinds` : ''}`
}
