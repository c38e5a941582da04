/**
 * What `control` says now about each cluster: paused, connected, its epoch. Followed by the reaper itself, so that a pause does not queue
 * behind commands.
 *
 * What must stay true: a directive that cannot be read counts against acting: a pause as pressed, a cluster as not connected. So does one that may have
 * been given since `control` was last read: nobody acts on what is older than `controlFreshMs`.
 *
 * Not here: requests to relist (the watcher reads those), what is done about a pause (gate.ts).
 */
import type { ClusterId } from '../../core/object.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Codec } from '../../ports/codec.ts'
import { type Entry, type Log, LogError } from '../../ports/log.ts'
import type { LogRetry } from './log-retry.ts'

export interface Control {
  /** Why nothing may be done in this cluster now; empty when it may. */
  pausedBecause(cluster: ClusterId): string
  isConnected(cluster: ClusterId): boolean
  clusterEpoch(cluster: ClusterId): number | undefined
}

export interface FollowedControl extends Control {
  /** Reads what stands now; `follow` goes on from there. */
  load(signal: AbortSignal): Promise<void>
  follow(signal: AbortSignal): Promise<void>
}

interface Connection {
  readonly isConnected: boolean
  readonly clusterEpoch: number | undefined
}

export interface ControlBounds {
  readonly page: number
  readonly controlPollMs: number
  readonly controlFreshMs: number
}

/** With a cluster behind it, or nothing for all. */
const PAUSE = 'pause/'
const CLUSTER = 'cluster/'

export function createControl(
  log: Log,
  codec: Codec,
  retry: LogRetry,
  clock: Pick<Clock, 'monotonicMs'>,
  bounds: ControlBounds,
): FollowedControl {
  const paused = new Set<ClusterId>()
  const connections = new Map<ClusterId, Connection>()
  let next = 0n
  /** When it was last asked what stands, by a question that was answered. Monotonic. */
  let askedAt = Number.NEGATIVE_INFINITY

  function asked<T>(question: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return retry(async () => {
      const at = clock.monotonicMs()
      const answer = await question()
      askedAt = at
      return answer
    }, signal)
  }

  function apply(entry: Entry): void {
    if (entry.key.startsWith(PAUSE)) {
      const cluster = entry.key.slice(PAUSE.length)
      if (isPause(codec, entry)) paused.add(cluster)
      else paused.delete(cluster)
    } else if (entry.key.startsWith(CLUSTER)) {
      connections.set(entry.key.slice(CLUSTER.length), connectionOf(codec, entry))
    }
  }

  async function load(signal: AbortSignal): Promise<void> {
    // The end first: what is appended in between is applied twice, never left out.
    const end = (await retry(() => log.bounds('control', 0), signal)).end
    const entries = await asked(() => log.latest('control', 0), signal)
    paused.clear()
    connections.clear()
    for (const entry of entries) apply(entry)
    next = end
  }

  return {
    load,
    async follow(signal) {
      const options = { limit: bounds.page, waitMs: bounds.controlPollMs }
      while (!signal.aborted) {
        try {
          const page = await asked(() => log.read('control', 0, next, options, signal), signal)
          for (const entry of page.entries) apply(entry)
          next = page.next
        } catch (error) {
          if (!(error instanceof LogError) || error.code !== 'OUT_OF_RANGE') throw error
          await load(signal) // Compacted beyond us: what stands now is all we need.
        }
      }
    },
    pausedBecause(cluster) {
      if (paused.has('') || paused.has(cluster)) return 'paused'
      const isFresh = clock.monotonicMs() - askedAt <= bounds.controlFreshMs
      return isFresh ? '' : 'whether it is paused cannot be read'
    },
    isConnected: (cluster) => connections.get(cluster)?.isConnected === true,
    clusterEpoch: (cluster) => connections.get(cluster)?.clusterEpoch,
  }
}

function isPause(codec: Codec, entry: Entry): boolean {
  if (entry.value === null) return false
  try {
    const record = codec.decode(entry.value)
    return record.type !== 'Control' || record.verb !== 'resume'
  } catch {
    return true
  }
}

const UNKNOWN: Connection = { isConnected: false, clusterEpoch: undefined }

function connectionOf(codec: Codec, entry: Entry): Connection {
  if (entry.value === null) return UNKNOWN
  try {
    const record = codec.decode(entry.value)
    if (record.type !== 'Control' || record.verb !== 'epoch') return UNKNOWN
    return { isConnected: record.connected, clusterEpoch: record.number }
  } catch {
    return UNKNOWN
  }
}
