/**
 * Begins a new log in a data directory that an older Kinfold wrote, and keeps the old one beside
 * it.
 *
 * What must stay true: whenever it is cut, the directory has its old log under its name, or says
 * that it has to be run again; it never looks like a fresh one.
 */
import { chmodSync, existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { avroCodec } from '../../adapters/avro/codec.ts'
import { lockDirectory } from '../../adapters/sqlite/lock.ts'
import { openSqliteLog } from '../../adapters/sqlite/log.ts'
import { FOLD_VERSION } from '../../core/model/policy.ts'
import { shellWord } from '../../core/model/text.ts'
import { systemClock } from '../../runtime/clock.ts'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import { type FoundVersion, foldVersionOf } from '../../services/graph/fold/fold-version.ts'
import { beginGeneration, type Generation } from '../../services/graph/fold/generation.ts'

export async function upgrade(data: string, signal: AbortSignal): Promise<string> {
  const [log, unfinished] = [join(data, 'log'), unfinishedIn(data)]
  if (!existsSync(log) && existsSync(unfinished)) {
    // The old log bears its other name already, and the new one is whole.
    renameSync(unfinished, log)
    return `${data}: the upgrade that was begun before is complete; ${HINT}`
  }
  if (!existsSync(log)) throw new ExitError(EXIT.input, `${data}: there is no log to upgrade`)
  // Held until the new log bears the name; the lock goes with its file, whatever the folder is
  // called by then.
  using _ = lockDirectory(log)
  const found = await versionIn(log)
  if (found === FOLD_VERSION || found === undefined)
    return `${data}: its log is of this version; there is nothing to do`
  if (typeof found === 'number' && found > FOLD_VERSION) {
    throw new ExitError(
      EXIT.input,
      `${data}: its log was folded by version ${found} of the rules, and this Kinfold has version ${FOLD_VERSION}: run the newer one`,
    )
  }
  rmSync(unfinished, { recursive: true, force: true })
  const { archived, clusters } = await fill(log, unfinished, signal)
  // They belong to the old log, and are made anew from any.
  for (const name of readdirSync(data)) {
    if (/^(store-\d+|index|shadow)$/.test(name)) rmSync(join(data, name), { recursive: true })
  }
  const kept = keepIn(data, found)
  renameSync(log, kept)
  renameSync(unfinished, log)
  chmodSync(join(kept, 'log.sqlite'), 0o400)
  return `${data}: a new log is begun, for ${clusters.length} ${clusters.length === 1 ? 'cluster' : 'clusters'}, with ${archived} records of the archive; the old one is kept in ${kept}; ${HINT}`
}

const HINT =
  'all clusters are paused: start Kinfold, see with "kinfold held" what it would delete, then run "kinfold resume --why …"'

async function versionIn(directory: string): Promise<FoundVersion> {
  await using log = await openSqliteLog({ directory, clock: systemClock(), readOnly: true })
  return await foldVersionOf(log, avroCodec())
}

/**
 * Both are closed behind it: what SQLite does when it closes a file, it does by the file's path.
 */
async function fill(old: string, made: string, signal: AbortSignal): Promise<Generation> {
  const clock = systemClock()
  await using from = await openSqliteLog({ directory: old, clock, readOnly: true })
  const partitions = from.partitions('events')
  await using to = await openSqliteLog({ directory: made, partitions, clock })
  return await beginGeneration({ from, to, codec: avroCodec(), who: whoAmI() }, signal)
}

/** A user without an entry has no name. */
function whoAmI(): string {
  try {
    return userInfo().username
  } catch {
    return `user ${process.getuid?.() ?? ''}`.trim()
  }
}

function unfinishedIn(data: string): string {
  return join(data, 'log.upgrading')
}

/** A name that nothing has yet. */
function keepIn(data: string, found: FoundVersion): string {
  const name = join(data, `log-of-${typeof found === 'number' ? `version-${found}` : 'before'}`)
  for (let number = 1; ; number++) {
    const path = number === 1 ? name : `${name}-${number}`
    if (!existsSync(path)) return path
  }
}

/** Throws `ExitError` when an upgrade was cut between two names. */
export function checkUpgraded(data: string): void {
  if (existsSync(join(data, 'log')) || !existsSync(unfinishedIn(data))) return
  throw new ExitError(
    EXIT.failure,
    `${data}: an upgrade was cut short; run "kinfold upgrade --data ${shellWord(data)}" again, which finishes it`,
  )
}
