/**
 * Attack f19: an error of the disk is not called a lack of room, and what to do fits what happened.
 */
import { equal, match, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { LogError } from '../../ports/log.ts'
import { copyFailureOf, type Doing, failureOf } from './failure.ts'

/** As node:sqlite throws them, with SQLite's extended result codes. */
function sqlite(errcode: number): Error {
  return Object.assign(new Error('disk I/O error'), { errcode })
}

function system(code: string): Error {
  return Object.assign(new Error(`${code}: it failed`), { code, syscall: 'fsync' })
}

const ROWS: readonly (readonly [string, Error, Doing, string])[] = [
  ['a write that failed', sqlite(10 | (3 << 8)), 'written', 'IO'],
  ['a sync that failed', sqlite(10 | (4 << 8)), 'written', 'IO'],
  ['a file system that is read-only by now', sqlite(8), 'written', 'IO'],
  ['a file that cannot be opened to write', sqlite(14), 'written', 'IO'],
  ['no room', sqlite(13), 'written', 'FULL'],
  ['no room for the index of the write-ahead log', sqlite(10 | (19 << 8)), 'written', 'FULL'],
  ['a read that failed', sqlite(10 | (1 << 8)), 'read', 'DAMAGED'],
  ['EIO of the system', system('EIO'), 'written', 'IO'],
  ['ENOSPC of the system', system('ENOSPC'), 'written', 'FULL'],
  ['EDQUOT of the system', system('EDQUOT'), 'written', 'FULL'],
  ['EACCES of the system', system('EACCES'), 'opened', 'INVALID'],
]
for (const [what, error, doing, code] of ROWS) {
  test(`T19: ${what} is ${code}`, () => {
    const failure = failureOf(error, doing, '/data/log.sqlite')
    ok(failure instanceof LogError)
    equal(failure.code, code)
    equal(/make room/.test(failure.message), code === 'FULL')
    if (code === 'IO') match(failure.message, /errors of its disk/)
  })
}

test('T19: a copy that fails by an error of its disk does not ask for room', () => {
  match(copyFailureOf(system('EIO'), '/backup').message, /errors of that disk/)
  match(copyFailureOf(system('ENOSPC'), '/backup').message, /make room there/)
})
