/**
 * Makes directories that a process may keep what is its own in.
 *
 * What must stay true: it ends. In some places (/proc) the system answers as if what a new
 * directory would be in were not there, and then Node's own recursion never does.
 */
import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * With all that leads to it, one level after the other, for its owner only; it may be there
 * already. Throws what the system says.
 */
export function makeDirectory(path: string): void {
  const isThere = existsSync(path)
  if (!isThere) makeDirectory(dirname(path))
  // Of what is there this says only whether it is a directory.
  mkdirSync(path, { recursive: isThere, mode: 0o700 })
}
