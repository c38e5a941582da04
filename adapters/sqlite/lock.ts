/**
 * One process at a time writes a log's directory, or a data directory.
 *
 * What must stay true: the lock is the operating system's and dies with the process, so a killed
 * one leaves nothing to clean up. It is a second, empty SQLite file held in an exclusive
 * transaction: that also keeps out a second opener in this very process. Do not read log.lock from
 * within the process that holds it: closing any descriptor of a file drops a POSIX lock on it.
 */
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { LogError } from '../../ports/log.ts'
import { failureOf, isLogError } from './failure.ts'

export function lockDirectory(directory: string): Disposable {
  const path = join(directory, 'log.lock')
  const db = openLockFile(path)
  try {
    db.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (error) {
    db.close()
    const failure = failureOf(error, 'opened', path)
    if (!isLogError(failure, 'UNAVAILABLE')) throw failure
    const message = `The directory ${directory} is in use by another process: stop that one or use another directory`
    throw new LogError('LOCKED', message, { cause: error })
  }
  return { [Symbol.dispose]: () => db.close() }
}

function openLockFile(path: string): DatabaseSync {
  try {
    closeSync(openSync(path, 'ax', 0o600))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
  return new DatabaseSync(path, { timeout: 0 })
}
