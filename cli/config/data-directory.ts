/**
 * Where data is unless a flag or the config file says otherwise. What must stay true: it imports
 * nothing of ours, since a command that only asks loads it.
 */
import { homedir } from 'node:os'
import { join } from 'node:path'

/** For `--help`: what it is on every machine, and the path of none. */
export const DEFAULT_DATA = '$KINFOLD_DATA, or ~/.local/share/kinfold, or $XDG_DATA_HOME/kinfold'

export function defaultDataDirectory(env: NodeJS.ProcessEnv = process.env): string {
  const named = env['KINFOLD_DATA']
  if (named) return named
  const base = env['XDG_DATA_HOME'] || join(homedir(), '.local', 'share')
  return join(base, 'kinfold')
}
