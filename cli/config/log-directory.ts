/**
 * Where the embedded log of a data directory lies, for commands that only read it. What must stay
 * true: they make none.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { bad } from './setting.ts'

/** Throws `ExitError` where there is none. */
export function logDirectoryIn(data: string): string {
  const directory = join(data, 'log')
  if (existsSync(join(directory, 'log.sqlite'))) return directory
  throw bad(
    `${data}: there is no log in this data directory; name that of the running Kinfold with --data: its line "ready" has it, and the playground prints it`,
  )
}
