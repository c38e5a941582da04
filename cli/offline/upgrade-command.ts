/**
 * `kinfold upgrade`: its flags. Not here: what it does (upgrade.ts), which is loaded when it is
 * done.
 */
import type { Command } from 'commander'
import { EXIT, stopSignal } from '../../runtime/lifecycle.ts'
import { DEFAULT_DATA, defaultDataDirectory } from '../config/data-directory.ts'

export function addUpgrade(program: Command): void {
  program
    .command('upgrade')
    .description(
      'begin a new log in a data directory of an older version: paused, everything listed anew, the archive carried over, the old log kept',
    )
    .option('--data <dir>', `data directory (default: ${DEFAULT_DATA})`)
    .action(async (flags: { readonly data?: string }) => {
      const data = flags.data ?? defaultDataDirectory()
      const { upgrade } = await import('./upgrade.ts')
      process.stdout.write(`${await upgrade(data, stopSignal())}\n`)
      process.exitCode = EXIT.ok
    })
}
