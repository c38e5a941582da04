/**
 * Copies a log while another process writes it: as of one moment, checked, and under its name only once all of it is on the disk.
 *
 * What must stay true: a directory of that name holds a whole log that was read back and fits its checksums, or there is none. The log that is copied is only read.
 *
 * Not here: stores, which are made anew from the log.
 */
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../ports/clock.ts'
import { failureOf, invalid } from './failure.ts'
import { openSqliteLog } from './log.ts'

export interface BackupOptions {
  /** That the log lies in. */
  readonly directory: string
  /** The copy's, which must not be there yet; it gets the folder `log`. */
  readonly to: string
  readonly clock: Clock
}

export interface Backup {
  readonly partitions: number
  /** Events that it holds, of all partitions. */
  readonly events: bigint
}

/** While it copies, the writer's write-ahead log grows by what is written meanwhile. */
export async function backUpLog({ directory, to, clock }: BackupOptions): Promise<Backup> {
  const source = join(directory, 'log.sqlite')
  const target = resolve(to)
  if (!existsSync(source)) throw invalid(`There is no log at ${source}: name the directory of one`)
  if (existsSync(target)) throw invalid(`${target} is there already: name another directory`)
  const unfinished = `${target}.unfinished`
  try {
    rmSync(unfinished, { recursive: true, force: true })
    mkdirSync(join(unfinished, 'log'), { recursive: true, mode: 0o700 })
    const file = join(unfinished, 'log', 'log.sqlite')
    copy(source, file)
    const backup = await check(join(unfinished, 'log'), clock)
    for (const path of [file, join(unfinished, 'log'), unfinished]) sync(path)
    renameSync(unfinished, target)
    sync(dirname(target))
    return backup
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true })
    throw failureOf(error, 'read', source)
  }
}

/** One statement is one moment of the file, however long it takes. */
function copy(source: string, file: string): void {
  const db = new DatabaseSync(source, { readOnly: true, timeout: BUSY_MS })
  try {
    db.exec('PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF')
    db.prepare('VACUUM INTO ?').run(file)
  } finally {
    db.close()
  }
  chmodSync(file, 0o600)
}

const BUSY_MS = 5_000

/** Opening a log reads all of it through. */
async function check(directory: string, clock: Clock): Promise<Backup> {
  await using log = await openSqliteLog({ directory, clock, readOnly: true })
  const partitions = log.partitions('events')
  let events = 0n
  for (let partition = 0; partition < partitions; partition++) {
    const { start, end } = await log.bounds('events', partition)
    events += end - start
  }
  return { partitions, events }
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
