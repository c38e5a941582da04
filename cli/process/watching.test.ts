/** A watcher that may not go on ends alone, while another is left. */
import { deepEqual, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { together } from '../../runtime/lifecycle.ts'
import type { Logger } from '../../runtime/logger.ts'
import { WatcherError } from '../../services/watcher/identity.ts'
import { watching } from './watching.ts'

const CHANGED = new WatcherError('IDENTITY_CHANGED', 'it is another one')

interface Rig {
  readonly told: unknown[]
  readonly stop: AbortController
  readonly ended: Promise<void>
}

/** Each ends with its error; those without one run until they are stopped. */
function rig(...errors: readonly (Error | null)[]): Rig {
  const told: unknown[] = []
  const logger: Logger = { log: (level, message, fields) => told.push([level, message, fields]) }
  const stop = new AbortController()
  const watchers = errors.map((error) => ({
    async run(signal: AbortSignal): Promise<void> {
      if (error !== null) throw error
      if (signal.aborted) return
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    },
  }))
  return { told, stop, ended: together(watching(watchers, logger), stop.signal) }
}

test('one whose cluster is another now is told of, and the others go on', async () => {
  const { told, stop, ended } = rig(CHANGED, null)
  let isOver = false
  void ended.then(() => {
    isOver = true
  })
  await new Promise(setImmediate)
  deepEqual(
    [isOver, told],
    [
      false,
      [
        [
          'error',
          'a cluster is no longer watched',
          { code: 'IDENTITY_CHANGED', reason: 'it is another one', left: 1 },
        ],
      ],
    ],
  )
  stop.abort()
  await ended
})

test('the last one ends the process, and so does an only one', async () => {
  await rejects(rig(CHANGED).ended, CHANGED)
  await rejects(rig(CHANGED, CHANGED).ended, CHANGED)
})

test('what is no matter of one cluster ends the process at once', async () => {
  const lost = new Error('the log is lost')
  await rejects(rig(lost, null).ended, lost)
})
