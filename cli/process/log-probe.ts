/**
 * Asks the log now and then whether it answers, for `/readyz` and the log lines: watchers and
 * reapers that have nothing to say to it would not notice.
 *
 * What must stay true: it only asks; each part that needs the log waits for it by itself.
 */
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import { LogError } from '../../ports/log.ts'
import { type Check, failed, passed } from '../../runtime/health.ts'
import type { Logger } from '../../runtime/logger.ts'

const EVERY_MS = 5_000

export interface LogProbe {
  check(): Check
  run(signal: AbortSignal): Promise<void>
}

export function createLogProbe(log: Pick<Log, 'bounds'>, clock: Clock, logger: Logger): LogProbe {
  let failure = ''

  async function asked(): Promise<string> {
    try {
      await log.bounds('control', 0)
      return ''
    } catch (error) {
      if (error instanceof LogError) return error.message
      throw error
    }
  }

  return {
    check: () => (failure === '' ? passed('log') : failed('log', failure)),
    async run(signal) {
      while (!signal.aborted) {
        const former = failure
        failure = await asked()
        if (former === '' && failure !== '')
          logger.log('warn', 'the log does not answer', { reason: failure })
        if (former !== '' && failure === '') logger.log('info', 'the log answers again')
        await clock.sleep(EVERY_MS, signal)
      }
    },
  }
}
