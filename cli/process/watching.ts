/**
 * The watchers of one process, side by side.
 *
 * What must stay true: one that may not go on by itself, since its cluster is another one now, ends
 * alone while another is left: a fault of one cluster is no fault of the others. The last one to
 * end takes the process with it, with its reason.
 */
import type { Logger } from '../../runtime/logger.ts'
import { WatcherError } from '../../services/watcher/identity.ts'
import type { Watcher } from '../../services/watcher/watcher.ts'

type Loop = (signal: AbortSignal) => Promise<void>

export function watching(watchers: readonly Pick<Watcher, 'run'>[], logger: Logger): Loop[] {
  let left = watchers.length
  return watchers.map((watcher) => async (signal) => {
    try {
      await watcher.run(signal)
    } catch (error) {
      left--
      if (!(error instanceof WatcherError) || left === 0) throw error
      const { code, message: reason } = error
      logger.log('error', 'a cluster is no longer watched', { code, reason, left })
    }
  })
}
