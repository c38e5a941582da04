/**
 * Copies a log while another process writes it: as of one moment, checked, and under its name only
 * once all of it is on the disk.
 *
 * What must stay true: a directory of that name holds a whole log that was read back and fits its
 * checksums, or there is none. The log that is copied is only read, and is not blamed for faults of
 * the target.
 *
 * Not here: stores, which are rebuilt from the log.
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
import { copyFailureOf, failureOf, invalid, isOfSource, unlikeItsSource } from './failure.ts'
import { openSqliteLog } from './log.ts'

export interface BackupOptions {
  /** The directory of the log. */
  readonly directory: string
  /** The copy's, which must not be there yet, in a directory that is; it gets the folder `log`. */
  readonly to: string
  readonly clock: Clock
}

export interface Backup {
  readonly partitions: number
  /** Events that it holds, of all partitions. */
  readonly events: bigint
}

/** While it copies, the writer's write-ahead log grows by the records written meanwhile. */
export async function backUpLog({ directory, to, clock }: BackupOptions): Promise<Backup> {
  const source = join(directory, 'log.sqlite')
  if (to === '') throw invalid('For the copy a directory has to be named')
  const target = resolve(to)
  if (!existsSync(source)) throw invalid(`There is no log at ${source}: name the directory of one`)
  if (existsSync(target)) throw invalid(`${target} is there already: name another directory`)
  const unfinished = `${target}.unfinished`
  const copied = join(unfinished, 'log')
  const file = join(copied, 'log.sqlite')
  try {
    rmSync(unfinished, { recursive: true, force: true })
    for (const each of [unfinished, copied]) mkdirSync(each, { mode: 0o700 })
    copy(source, file)
    const backup = await checkCopy(copied, directory, target, clock)
    for (const path of [file, copied, unfinished]) sync(path)
    renameSync(unfinished, target)
    sync(dirname(target))
    return backup
  } catch (error) {
    discard(unfinished)
    // Failures of the log are reported as such by now.
    throw copyFailureOf(error, target)
  }
}

/** One statement is one moment of the file, however long it takes. */
function copy(source: string, file: string): void {
  const db = openSource(source)
  try {
    db.prepare('VACUUM INTO ?').run(file)
  } catch (error) {
    throw isOfSource(error) ? failureOf(error, 'read', source) : error
  } finally {
    db.close()
  }
  chmodSync(file, 0o600)
}

/** Its first read opens all of its files: a file that cannot be opened after that is the copy. */
function openSource(source: string): DatabaseSync {
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(source, { readOnly: true, timeout: BUSY_MS })
    db.exec('PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF')
    db.prepare('SELECT count(*) FROM sqlite_schema').get()
    return db
  } catch (error) {
    db?.close()
    throw failureOf(error, 'read', source)
  }
}

const BUSY_MS = 5_000

/** Damage in the log is also in its copy: then the log is reported. */
async function checkCopy(
  copied: string,
  directory: string,
  target: string,
  clock: Clock,
): Promise<Backup> {
  try {
    return await check(copied, clock)
  } catch (error) {
    await check(directory, clock)
    throw unlikeItsSource(error, target)
  }
}

/**
 * That it cannot be taken away must not hide why it was given up; the next backup to there tries
 * again.
 */
function discard(unfinished: string): void {
  try {
    rmSync(unfinished, { recursive: true, force: true })
  } catch {}
}

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
