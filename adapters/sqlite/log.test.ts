/** The embedded log against its contract, and what only it does. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type LogFixture, logContract } from '../../ports/log.contract.ts'
import { SettableClock } from '../../testing/settable-clock.ts'
import { openSqliteLog } from './log.ts'

async function fixture(
  directory: string,
  clock: SettableClock,
  t: TestContext,
): Promise<LogFixture> {
  const log = await openSqliteLog({ directory, partitions: 2, clock })
  t.after(() => log[Symbol.asyncDispose]())
  return {
    log,
    clock,
    reopen: async () => {
      await log[Symbol.asyncDispose]()
      return fixture(directory, clock, t)
    },
    compact: (topic, partition) => log.compact(topic, partition),
  }
}

logContract('sqlite log', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'log-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return fixture(directory, new SettableClock(), t)
})
