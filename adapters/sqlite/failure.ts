/**
 * The errors of SQLite and the file system, as errors of the port.
 *
 * What must stay true: nothing that may be damage is called anything milder, and no code says
 * `retry` after a write that may have happened.
 */
import { LogError, type LogErrorCode } from '../../ports/log.ts'
import { type Head, nameOf } from './head.ts'

export type Doing = 'opened' | 'read' | 'written'

/** Primary result codes of SQLite. */
const BUSY = 5
const LOCKED = 6
const IOERR = 10
const FULL = 13
const READONLY = 8
const CANTOPEN = 14
const CORRUPT = 11
const NOTADB = 26
/** Bits of any result code that are a primary one. */
const PRIMARY = 0xff
const IOERR_READ = IOERR | (1 << 8)
const IOERR_SHORT_READ = IOERR | (2 << 8)
/** The index of the write-ahead log could not get its size: that is how a full disk shows there. */
const IOERR_SHMSIZE = IOERR | (19 << 8)
const OF_READING = new Set([BUSY, LOCKED, CORRUPT, NOTADB, IOERR_READ, IOERR_SHORT_READ])

const ADVICE: Readonly<Record<'DAMAGED' | 'FULL' | 'IO' | 'UNAVAILABLE' | 'INVALID', string>> = {
  DAMAGED:
    'keep the file for a diagnosis and restore its directory from a backup, or start over with an empty one',
  FULL: 'make room on its disk and start again; what was acknowledged is safe',
  IO: "the system refused it, and not for lack of room: look for errors of its disk in the system's log, and whether it was remounted read-only or files have a limit (ulimit -f), then start again; what was acknowledged is safe",
  UNAVAILABLE: 'another program holds it, so close that or try again',
  INVALID: 'check that its directory exists and belongs to this user',
}

/**
 * An error that is neither SQLite's nor the file system's is a programming error and is not
 * converted.
 */
export function failureOf(error: unknown, doing: Doing, path: string): Error {
  if (!(error instanceof Error) || error instanceof LogError) return error as Error
  const code = codeOf(error, doing)
  if (code === undefined) return error
  const message = `The log ${path} cannot be ${doing} (${error.message}): ${ADVICE[code]}`
  return new LogError(code, message, { cause: error })
}

const COPY_ADVICE: Readonly<Partial<Record<keyof typeof ADVICE, string>>> = {
  FULL: 'make room there, or name a directory on another disk',
  IO: "look for errors of that disk in the system's log, or name a directory on another one",
}

/** Why a copy of a log failed, if it is not reported already: always with the target directory. */
export function copyFailureOf(error: unknown, target: string): Error {
  if (!(error instanceof Error) || error instanceof LogError) return error as Error
  const code = codeOf(error, 'written')
  if (code === undefined) return error
  const isFull = code === 'FULL'
  const advice = COPY_ADVICE[code] ?? 'name a directory that this user may make'
  const message = `The copy ${target} cannot be made (${error.message}): ${advice}; the log is not touched`
  return new LogError(isFull ? 'FULL' : 'INVALID', message, { cause: error })
}

/** It was written, and is not what was written, or cannot be read. */
export function unlikeItsSource(error: unknown, target: string): LogError {
  const what = 'it does not read back as it was written, and the log does'
  const message = `The copy ${target} cannot be made (${what}): look after its disk, or name a directory elsewhere; the log is not touched`
  return new LogError('INVALID', message, { cause: error })
}

/**
 * Of a statement that reads one file and writes another: the one that it reads is busy, or cannot
 * be read.
 */
export function isOfSource(error: unknown): boolean {
  const code = sqliteCodeOf(error)
  return code !== undefined && (OF_READING.has(code) || OF_READING.has(code & PRIMARY))
}

export function isLogError(error: unknown, code: LogErrorCode): boolean {
  return error instanceof LogError && error.code === code
}

export function damagedAt(head: Head, offset: number, path: string, what: string): LogError {
  const place = `${nameOf(head)} is damaged at offset ${offset} in ${path} (${what})`
  return new LogError('DAMAGED', `The log's ${place}: ${ADVICE.DAMAGED}`)
}

export function damagedFile(path: string, what: string): LogError {
  return new LogError('DAMAGED', `The log ${path} is damaged (${what}): ${ADVICE.DAMAGED}`)
}

export function invalid(message: string): LogError {
  return new LogError('INVALID', message)
}

function codeOf(error: Error, doing: Doing): keyof typeof ADVICE | undefined {
  const code = sqliteCodeOf(error)
  if (code !== undefined) return codeOfSqlite(code, doing)
  if (!('code' in error)) return undefined
  // An integer that Kinfold would never have written.
  if (error.code === 'ERR_OUT_OF_RANGE' && doing !== 'written') return 'DAMAGED'
  if (error.code === 'ENOSPC' || error.code === 'EDQUOT') return 'FULL'
  if (error.code === 'EIO' || error.code === 'EROFS' || error.code === 'EFBIG') return 'IO'
  return 'syscall' in error ? 'INVALID' : undefined
}

/** With its code besides the primary one. */
function sqliteCodeOf(error: unknown): number | undefined {
  const { errcode } = error as { readonly errcode?: unknown }
  return typeof errcode === 'number' ? errcode : undefined
}

function codeOfSqlite(extended: number, doing: Doing): keyof typeof ADVICE {
  const code = extended & PRIMARY
  if (code === BUSY || code === LOCKED) return 'UNAVAILABLE'
  if (code === CANTOPEN) return doing === 'written' ? 'IO' : 'INVALID'
  if (code === FULL || extended === IOERR_SHMSIZE) return 'FULL'
  if (code === READONLY) return 'IO'
  if (code === IOERR) return doing === 'written' ? 'IO' : 'DAMAGED'
  return 'DAMAGED'
}
