/** Puts the reaper together over the clusters of this process. */
import { compileOnDemand } from '../../adapters/cel/on-demand.ts'
import type { Mode } from '../../core/model/policy.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Random } from '../../ports/random.ts'
import type { Codec } from '../../ports/record/codec.ts'
import type { ArchiveSettings } from '../../runtime/archive/archive-record.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Cuts } from '../../runtime/shares/cuts.ts'
import { DEFAULT_REAPER_CONFIG } from './config.ts'
import { createLocks, type LockStatus, type LockWanted } from './lock.ts'
import type { ConnectedCluster, Reaper, ReaperParts } from './reaper.ts'
import { createReaper } from './reaper.ts'

export interface ReaperMainOptions {
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  readonly ageMs?: ReaperParts['ageMs']
  readonly random: Random
  readonly logger: Logger
  readonly cuts: Cuts
  readonly clusters: readonly ConnectedCluster[]
  /**
   * Commands of an earlier start may still be on the log, judged in another mode: the stricter one
   * counts.
   */
  readonly mode: Mode
  /** Finalizers of others that an order may have it remove. */
  readonly mayRemove: readonly string[]
  /** Whether the clusters' own locks are checked, and required. */
  readonly lock: LockWanted
  readonly placement?: ReaperParts['placement']
  readonly archive?: ArchiveSettings | undefined
  readonly barring?: ReaperParts['barring']
  /** Gets everything, before it is logged. */
  readonly observe?: ReaperParts['observe'] | undefined
}

/**
 * The same reason in a cluster is a line once a minute, with how many there were: a pause blocks a
 * whole backlog.
 */
const BLOCKED_LINE_MS = 60_000
const MAX_REASONS = 1_000

export function openReaper(options: ReaperMainOptions): Reaper {
  const { clusters, logger, mode, mayRemove, lock, observe, ...ports } = options
  const told = new Map<string, { at: number; count: number }>()
  const isNews = (key: string): number => {
    const now = ports.clock.monotonicMs()
    const last = told.get(key) ?? { at: Number.NEGATIVE_INFINITY, count: 0 }
    const isDue = now - last.at >= BLOCKED_LINE_MS
    told.set(key, isDue ? { at: now, count: 0 } : { at: last.at, count: last.count + 1 })
    return isDue ? last.count + 1 : 0
  }
  const locks = createLocks({
    clusters: () => clusters,
    // Where nothing is deleted there is nothing for it to refuse.
    wanted: mode === 'observe' ? 'off' : lock,
    clock: ports.clock,
    bounds: DEFAULT_REAPER_CONFIG,
    onChange: (status) => tellLock(logger, status),
  })
  return createReaper({
    ...ports,
    config: { mode, mayRemove },
    compile: compileOnDemand,
    locks,
    clusters: (id) => clusters.find((each) => each.id === id),
    observe: (note) => {
      observe?.(note)
      if (note.type === 'Settled') {
        const { command, result } = note
        if (result.type !== 'CommandSettled' || result.outcome !== 'blocked') return
        const { cluster, target } = command
        const { reason, code } = result
        const times = isNews(`${cluster} ${command.type} ${code} ${reason.slice(0, 64)}`)
        if (times === 0) return
        if (told.size > MAX_REASONS) told.clear()
        logger.log('warn', 'a command is blocked', {
          cluster,
          verb: command.type,
          group: target.group,
          kind: target.kind,
          namespace: target.namespace,
          name: target.name,
          uid: target.uid,
          command_id: command.id,
          reason,
          code,
          times,
        })
      } else {
        // The logger writes fields as they are, and of an error that is all but its message.
        const what = 'error' in note ? { ...note, error: note.error.message } : { ...note }
        logger.log('warn', `reaper: ${note.type}`, what)
      }
    },
  })
}

function tellLock(logger: Logger, { name, cluster, state, reason, isRequired }: LockStatus): void {
  const isFine = state === 'in force' || !isRequired
  const hint = isFine ? '' : 'commands are only dry runs until it is there'
  const fields = { name, cluster, state, reason, hint }
  logger.log(isFine ? 'info' : 'warn', 'admission lock', fields)
}
