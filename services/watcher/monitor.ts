/**
 * The watch of one kind as a state machine: what it is doing, and what it does next once that has
 * ended.
 *
 * What must stay true: a list is only ever followed by a watch from that list's version, and a
 * version that is too old, or untrusted, only ever by a list. Every failure ends in a wait that
 * grows; nothing ends the machine.
 *
 * Not here: calls, clocks and records (kind-monitor.ts), what follows from a restored cluster
 * (watcher.ts).
 */
import type { ResourceVersion } from '../../core/model/object.ts'
import type { ClusterErrorCode } from '../../ports/cluster.ts'
import type { WatcherConfig } from './config.ts'

/** Failures in a row: the next wait depends on them. */
export interface Trouble {
  readonly failures: number
  readonly lastMs: number
}

/**
 * Takes a complete list. `confirming`: the one before was suspiciously small; this one counts in
 * any case.
 */
export interface Listing {
  readonly phase: 'listing'
  readonly confirming: boolean
  readonly trouble: Trouble
}

/**
 * Follows from a version on. `check`: first make sure that the server's current version is not
 * below it.
 */
export interface Watching {
  readonly phase: 'watching'
  readonly from: ResourceVersion
  readonly check: boolean
  /** Watches in a row that ended without event or bookmark. */
  readonly fruitless: number
  readonly trouble: Trouble
}

/**
 * Cannot resume from its position: everything published until now is sent, then everything is
 * listed.
 */
export interface Expired {
  readonly phase: 'expired'
  readonly trouble: Trouble
}

/** Tries `next` again when `untilMs` has come. */
export interface Waiting {
  readonly phase: 'waiting'
  readonly next: Listing | Watching | Expired
  readonly untilMs: number
  readonly trouble: Trouble
}

export type MonitorState = Listing | Watching | Expired | Waiting

/**
 * How the activity of a state has ended. `at` is the version up to which everything was taken;
 * `proved` says that an event, a bookmark or the check before it showed the watch to be at the
 * server's version.
 */
export type MonitorInput =
  | { readonly type: 'Listed'; readonly version: ResourceVersion }
  | { readonly type: 'Shrunken' }
  /** The server ended the watch. */
  | {
      readonly type: 'Ended'
      readonly at: ResourceVersion
      readonly proved: boolean
      readonly livedMs: number
    }
  | { readonly type: 'Silent'; readonly at: ResourceVersion; readonly proved: boolean }
  /** The watch showed something that only a list can settle. */
  | { readonly type: 'Doubted' }
  | {
      readonly type: 'Failed'
      /** Null when it was no watch. */
      readonly at: ResourceVersion | null
      readonly code: ClusterErrorCode
      readonly retryAfterMs: number | null
    }
  | { readonly type: 'RelistAsked' }
  | { readonly type: 'SentOff' }
  | { readonly type: 'Woke' }

export interface Moment {
  /** Monotonic. */
  readonly nowMs: number
  /** In [0, 1). */
  readonly chance: number
}

const NO_TROUBLE: Trouble = { failures: 0, lastMs: 0 }

/**
 * `from` null: nothing is known, so everything is listed; otherwise the watch resumes from there,
 * after a check.
 */
export function startOf(from: ResourceVersion | null): MonitorState {
  if (from === null) return { phase: 'listing', confirming: false, trouble: NO_TROUBLE }
  return { phase: 'watching', from, check: true, fruitless: 0, trouble: NO_TROUBLE }
}

export function step(
  state: MonitorState,
  input: MonitorInput,
  moment: Moment,
  config: WatcherConfig,
): MonitorState {
  switch (state.phase) {
    case 'listing':
      return afterList(state, input, moment, config)
    case 'watching':
      return afterWatch(state, input, moment, config)
    case 'expired':
      return input.type === 'SentOff'
        ? { phase: 'listing', confirming: false, trouble: state.trouble }
        : state
    case 'waiting':
      if (input.type === 'Woke') return state.next
      if (input.type === 'RelistAsked') return { ...state, next: relistInstead(state.next) }
      return state
  }
}

function afterList(
  state: Listing,
  input: MonitorInput,
  moment: Moment,
  config: WatcherConfig,
): MonitorState {
  switch (input.type) {
    case 'Listed':
      return {
        phase: 'watching',
        from: input.version,
        check: false,
        fruitless: 0,
        trouble: state.trouble,
      }
    case 'Shrunken':
      return { ...state, confirming: true }
    case 'Failed': {
      const trouble = failedAgain(state.trouble, moment, config)
      return wait({ ...state, trouble }, trouble, input.retryAfterMs, moment, config)
    }
    default:
      return state
  }
}

function afterWatch(
  state: Watching,
  input: MonitorInput,
  moment: Moment,
  config: WatcherConfig,
): MonitorState {
  switch (input.type) {
    case 'Ended':
      return afterEnd(state, input, moment, config)
    case 'Silent': {
      const fruitless = input.proved ? 0 : state.fruitless + 1
      if (fruitless >= config.fruitlessWatches) return expire(state.trouble, moment, config)
      return { ...state, from: input.at, check: true, fruitless }
    }
    case 'Doubted':
      return expire(state.trouble, moment, config)
    case 'RelistAsked':
      return { phase: 'expired', trouble: state.trouble }
    case 'Failed': {
      if (input.code === 'EXPIRED') return expire(state.trouble, moment, config)
      // Any break may have been a restore: the version is checked before the watch continues. The
      // same holds for a version said to be too new, which a server that lags says as well.
      const trouble = failedAgain(state.trouble, moment, config)
      const next: Watching = { ...state, from: input.at ?? state.from, check: true, trouble }
      return wait(next, trouble, input.retryAfterMs, moment, config)
    }
    default:
      return state
  }
}

function afterEnd(
  state: Watching,
  end: Extract<MonitorInput, { type: 'Ended' }>,
  moment: Moment,
  config: WatcherConfig,
): MonitorState {
  const fruitless = end.proved ? 0 : state.fruitless + 1
  if (fruitless >= config.fruitlessWatches) return expire(state.trouble, moment, config)
  const next: Watching = { ...state, from: end.at, check: false, fruitless }
  if (end.livedMs >= config.watchShortMs) return next
  // Short but useful ones wait the shortest time each; short and useless ones longer and longer.
  const failed = failedAgain(state.trouble, moment, config)
  const trouble = end.proved ? { failures: 1, lastMs: moment.nowMs } : failed
  return wait({ ...next, trouble }, trouble, null, moment, config)
}

/**
 * The first time at once; a version that expires again soon after its list waits like any other
 * failure.
 */
function expire(before: Trouble, moment: Moment, config: WatcherConfig): MonitorState {
  const trouble = failedAgain(before, moment, config)
  const next: Expired = { phase: 'expired', trouble }
  return trouble.failures === 1 ? next : wait(next, trouble, null, moment, config)
}

function relistInstead(next: Listing | Watching | Expired): Listing | Expired {
  return next.phase === 'watching' ? { phase: 'expired', trouble: next.trouble } : next
}

function failedAgain(trouble: Trouble, moment: Moment, config: WatcherConfig): Trouble {
  const forgiven = moment.nowMs - trouble.lastMs > config.backoffResetMs
  return { failures: forgiven ? 1 : trouble.failures + 1, lastMs: moment.nowMs }
}

function wait(
  next: Listing | Watching | Expired,
  trouble: Trouble,
  retryAfterMs: number | null,
  moment: Moment,
  config: WatcherConfig,
): Waiting {
  const asked = Math.min(retryAfterMs ?? 0, config.retryAfterMaxMs)
  const delayMs = Math.max(backoffMs(trouble.failures, moment.chance, config), asked)
  return { phase: 'waiting', next, untilMs: moment.nowMs + delayMs, trouble }
}

/**
 * Doubles from the shortest wait; up to as much again is jitter, so the longest wait is never
 * passed.
 */
export function backoffMs(
  failures: number,
  chance: number,
  config: Pick<WatcherConfig, 'backoffMinMs' | 'backoffMaxMs'>,
): number {
  const doubled = config.backoffMinMs * 2 ** Math.min(failures - 1, 30)
  return Math.min(doubled, config.backoffMaxMs / 2) * (1 + chance)
}

/**
 * F14: empty where something was held, or far fewer, and many. Such a list is taken a second time
 * before it counts.
 */
export function isShrunken(
  held: number,
  listed: number,
  config: Pick<WatcherConfig, 'shrinkShare' | 'shrinkObjects'>,
): boolean {
  if (listed === 0) return held > 0
  const missing = held - listed
  return missing > config.shrinkObjects && missing > held * config.shrinkShare
}
