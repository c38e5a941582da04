/** Puts the reaper together over the clusters of this process. */
import type { Clock } from '../../ports/clock.ts'
import type { Codec } from '../../ports/codec.ts'
import type { Log } from '../../ports/log.ts'
import type { Random } from '../../ports/random.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { ConnectedCluster, Reaper } from './reaper.ts'
import { createReaper } from './reaper.ts'

export interface ReaperMainOptions {
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly clusters: readonly ConnectedCluster[]
}

export function openReaper({ clusters, logger, ...ports }: ReaperMainOptions): Reaper {
  return createReaper({
    ...ports,
    clusters: (id) => clusters.find((each) => each.id === id),
    observe: (note) => {
      if (note.type === 'Settled') {
        const { command, result } = note
        if (result.type !== 'CommandSettled' || result.outcome !== 'blocked') return
        const { cluster, target } = command
        const { reason, code } = result
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
        })
      } else {
        logger.log('warn', `reaper: ${note.type}`, { ...note })
      }
    },
  })
}
