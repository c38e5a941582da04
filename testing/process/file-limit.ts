/**
 * How large a file of this process may grow: writing beyond fails, as on a full disk, at any byte
 * one likes and without any rights.
 *
 * What must stay true: only the soft limit moves, so that room can be made again; where
 * KINFOLD_REQUIRE_SERVERS is 1, as on CI, a machine that has no such limits fails instead of
 * skipping.
 */
import { spawnSync } from 'node:child_process'

/** Null: as large as they like. Processes started from now on have it, too. */
export function limitFiles(bytes: number | null): void {
  const why = whyNotLimited(bytes)
  if (why !== '') throw new Error(`no limit on files was set: ${why}`)
}

/** Why a test that limits files cannot run here; false when it can. */
export function withoutFileLimits(): string | false {
  const why = whyNotLimited(null)
  if (why === '') return false
  const reason = `no limits on files: needs Linux and its prlimit (${why})`
  if (process.env['KINFOLD_REQUIRE_SERVERS'] === '1') throw new Error(reason)
  return `skipped: ${reason}`
}

/** Empty when it is. */
function whyNotLimited(bytes: number | null): string {
  const args = ['--pid', String(process.pid), `--fsize=${bytes ?? 'unlimited'}:`]
  const { status, error, stderr } = spawnSync('prlimit', args, { encoding: 'utf8' })
  return status === 0 ? '' : (error?.message ?? stderr.trim())
}
