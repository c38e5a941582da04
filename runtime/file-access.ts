/**
 * Who else may read or change what is ours: files that hold a secret, directories that hold our
 * state.
 *
 * What must stay true: a secret that other users may read is refused, with the command that mends
 * it; what may be mounted with the owner root and a group of ours, as Kubernetes mounts Secrets, is
 * accepted.
 *
 * Not here: what is in the files.
 */
import { lstatSync, type Stats, statSync } from 'node:fs'
import { EXIT, ExitError } from './lifecycle.ts'

/**
 * What only the owner may do; where the owner is root, only root can have given the group what it
 * has.
 */
const SECRET = { others: 0o077, othersOfRoot: 0o037 }
const DIRECTORY = { others: 0o022, othersOfRoot: 0o002 }

/**
 * Why a file is no secret; empty when no other user may read or change it. Throws what the system
 * says.
 */
export function exposureOf(file: string): string {
  const stats = statSync(file)
  return isOpen(stats, SECRET) ? `other users may read or change it (mode ${octal(stats)})` : ''
}

/** Throws `ExitError` for a secret that is none. `what`: the file's role, for the sentence. */
export function checkSecret(file: string, what: string): void {
  const exposure = exposureOf(file)
  if (exposure === '') return
  throw new ExitError(
    EXIT.input,
    `${what} ${file}: ${exposure}; run "chmod 600 ${file}", and take another secret if another user may have read it`,
  )
}

/** Why others may change what is in a directory of ours; empty when they may not. */
export function intrusionInto(directory: string): string {
  const here = statSync(directory, { throwIfNoEntry: false })
  if (here === undefined) return ''
  const uid = process.geteuid?.()
  if (uid === undefined) return ''
  const owner = [here, lstatSync(directory)].find((each) => each.uid !== uid && each.uid !== 0)
  if (owner !== undefined) {
    return `${directory} belongs to the user ${owner.uid}, who may replace what is in it: run "chown ${uid} ${directory}"`
  }
  if (!isOpen(here, DIRECTORY)) return ''
  return `other users may write to ${directory} (mode ${octal(here)}): run "chmod go-w ${directory}"`
}

function isOpen({ mode, uid }: Stats, { others, othersOfRoot }: typeof SECRET): boolean {
  return (mode & (uid === 0 ? othersOfRoot : others)) !== 0
}

function octal({ mode }: Stats): string {
  return (mode & 0o7777).toString(8).padStart(4, '0')
}
