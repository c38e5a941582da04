/**
 * The one door to what a question reads: a cluster as it is now, or as it was at a moment.
 *
 * What must stay true: a moment that cannot be asked is refused here, and nowhere else: 410 for one
 * that is remembered no longer, 425 for one that the fold has not passed, 503 while the store is
 * being restored. Every other reader of a view does not know which moment it answers.
 *
 * Not here: how the store of then is read (fold/former/store-at.ts).
 */
import type { Clock } from '../../../../ports/clock.ts'
import { type Log, LogError } from '../../../../ports/log.ts'
import { Problem } from '../../../../runtime/http/problem.ts'
import { timeOf } from '../../api/document.ts'
import { changeAfter } from '../../fold/former/changed.ts'
import { reachOf } from '../../fold/former/former-rows.ts'
import { firstSince } from '../../fold/retention.ts'
import type { Asked } from '../index/moment.ts'
import type { View } from './view.ts'

/**
 * How long a question waits for the fold to pass the moment that it names, and how often it checks.
 */
const PASS_MS = 1_000
const PASS_LOOK_MS = 20

/** Of a store that has folded nothing. */
const NOTHING = { begin: Number.POSITIVE_INFINITY, isFilled: true }

/** Undefined: now. Throws `Problem` where the moment cannot be asked. */
export type OpenView = (view: View, asked: Asked | undefined) => Promise<View>

export function createOpenView({
  log,
  clock,
}: {
  readonly log: Log
  readonly clock: Clock
}): OpenView {
  async function passed(view: View, asked: Asked): Promise<void> {
    const until = clock.monotonicMs() + PASS_MS
    while (!isPassed(view, asked)) {
      if (clock.monotonicMs() >= until) throw notYet(view, asked)
      await clock.sleep(PASS_LOOK_MS)
    }
  }

  /** Append time of the first event that is not before it; undefined where that was trimmed. */
  async function timeAt(view: View, position: bigint): Promise<number | undefined> {
    const { partition } = view.partition
    // Of one that changed something it is in the store.
    const known = await view.timeOf(Number(position))
    if (known !== undefined) return known
    try {
      const { entries } = await log.read('events', partition, position, { limit: 1, waitMs: 0 })
      return entries[0]?.timestamp ?? view.facts.state?.now ?? 0
    } catch (error) {
      if (error instanceof LogError && error.code === 'OUT_OF_RANGE') return undefined
      throw error
    }
  }

  /**
   * Of a past time: after the last event that was appended by then. Events that changed nothing
   * make no difference, so the store knows it, except where the time may be before what it
   * remembers.
   */
  async function positionAt({ now, codec, partition }: View, time: number): Promise<bigint> {
    const reach = reachOf(now, codec)
    if (reach !== undefined) {
      const { position, hasEarlier } = await changeAfter(now, codec, reach, time)
      if (reach.begin === 0 || hasEarlier) return BigInt(position ?? reach.end)
    }
    return await firstSince(log, 'events', partition.partition, time + 1)
  }

  /** Where what is remembered begins, in words. */
  async function earliestText(view: View): Promise<string> {
    const reach = reachOf(view.now, view.codec)
    if (reach === undefined) return 'none is remembered ("keepPast"), or none yet'
    const at = await timeAt(view, BigInt(reach.begin))
    const time = at === undefined ? '' : `${timeOf(at)}, or `
    return `the earliest moment is ${time}pos:${view.partition.partition}-${reach.begin}`
  }

  return async (view, asked) => {
    if (asked === undefined) return view
    const { partition } = view.partition
    if (asked.type === 'position' && asked.partition !== partition) {
      throw new Problem(
        400,
        `pos:${asked.partition}-${asked.position} is of partition ${asked.partition}, and cluster ${view.name} is in partition ${partition}`,
      )
    }
    await passed(view, asked)
    const isTime = asked.type === 'time'
    const position = isTime ? await positionAt(view, asked.at) : asked.position
    const { begin, isFilled } = reachOf(view.now, view.codec) ?? NOTHING
    const at = isTime ? asked.at : await timeAt(view, position)
    if (Number(position) < begin && !isFilled) {
      throw new Problem(
        503,
        `the past of cluster ${view.name} before pos:${partition}-${begin} is being read from the log: ask again later`,
      )
    }
    if (Number(position) < begin || at === undefined) {
      throw new Problem(
        410,
        `that is more than is remembered of cluster ${view.name}; ${await earliestText(view)}`,
      )
    }
    return view.at({ type: 'position', position: Number(position), at, isTime })
  }
}

/**
 * What was read of a moment counts only where it was remembered all the while: to be called with
 * what reads it. Throws `Problem` 410 otherwise.
 */
export async function readThen<T>(view: View, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } finally {
    assertRemembered(view)
  }
}

function assertRemembered(view: View): void {
  const text = forgottenText(view)
  if (text !== '') throw new Problem(410, text)
}

/** Empty while the moment of a view is remembered, and of now. */
export function forgottenText(view: View): string {
  const { moment } = view
  if (moment === null) return ''
  const reach = reachOf(view.now, view.codec)
  if (reach !== undefined && reach.begin <= moment.position) return ''
  return `that moment of cluster ${view.name} was forgotten meanwhile: ask about a later one`
}

/** Everything before it is folded, and nothing that comes can be before it. */
function isPassed(view: View, asked: Asked): boolean {
  const { state, position } = view.partition.status()
  if (state !== 'folding') return false
  if (asked.type === 'position') return position >= asked.position
  return (view.facts.state?.now ?? 0) > asked.at
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
  const newest = timeOf((view.facts.state?.now ?? 1) - 1)
  return new Problem(
    425,
    `nothing of cluster ${view.name} was recorded after ${timeOf(asked.at)} yet, so what was there then is not known; the newest moment is ${newest}`,
  )
}
