/** `kinfold backup`: a checked copy of the embedded log, also while `kinfold up` runs on it. */
import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Command } from 'commander'
import { systemClock } from '../../runtime/clock.ts'
import { EXIT } from '../../runtime/lifecycle.ts'
import { makeDataDirectory } from '../config/config.ts'
import { DEFAULT_DATA, defaultDataDirectory } from '../config/data-directory.ts'
import { logDirectoryIn } from '../config/log-directory.ts'
import { bad } from '../config/setting.ts'

export function addBackup(program: Command): void {
  program
    .command('backup')
    .description(
      'copy the embedded log, as of one moment and checked, also while kinfold runs; the copy is a data directory to start from',
    )
    .argument('<dir>', 'directory of the copy; it must not be there yet')
    .option('--data <dir>', `data directory (default: ${DEFAULT_DATA})`)
    .action(async (to: string, flags: { readonly data?: string }) => {
      const data = flags.data ?? defaultDataDirectory()
      if (to === '') throw bad('for the copy a directory has to be named')
      const directory = logDirectoryIn(data)
      if (existsSync(to)) throw bad(`${to} is there already: name another directory`)
      makeDataDirectory(dirname(resolve(to)))
      const { backUpLog } = await import('../../adapters/sqlite/backup.ts')
      const { partitions, events } = await backUpLog({ directory, to, clock: systemClock() })
      const of = `${events} events in ${partitions} ${partitions === 1 ? 'partition' : 'partitions'}`
      process.stdout.write(`${to}: ${of}, read back and whole\n`)
      process.exitCode = EXIT.ok
    })
}
