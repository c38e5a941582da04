/**
 * A backup, an audit and a restore without a log, and a backup to where it cannot go, are bad
 * input.
 */
import { equal, match } from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { openSqliteLog } from '../../adapters/sqlite/log.ts'
import { systemClock } from '../../runtime/clock.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'

const folder = mkdtempSync(join(tmpdir(), 'kinfold-backup-'))
const data = join(folder, 'data')
const there = join(folder, 'there')
const empty = join(folder, 'empty')

before(async () => {
  for (const path of [data, there, empty]) mkdirSync(path)
  const log = await openSqliteLog({
    ...{ directory: join(data, 'log'), partitions: 1, clock: systemClock() },
  })
  await log[Symbol.asyncDispose]()
})
after(() => rmSync(folder, { recursive: true, force: true }))

const rows: readonly (readonly [string, number, readonly string[], RegExp])[] = [
  ['a backup into a directory that is there', 2, ['backup', there, '--data', data], /already/],
  ['a backup to nowhere', 2, ['backup', '', '--data', data], /a directory has to be named/],
  ['a backup of no log', 2, ['backup', join(folder, 'x'), '--data', empty], /there is no log/],
  ['an audit of no log', 2, ['audit', 'verify', '--data', empty], /there is no log/],
  ['a backup', 0, ['backup', join(folder, 'copy'), '--data', data], /^$/],
  [
    'a backup, with all that leads to it',
    0,
    ['backup', join(folder, 'a', 'b'), '--data', data],
    /^$/,
  ],
  ['an audit of it', 0, ['audit', 'verify', '--data', join(folder, 'copy')], /^$/],
  [
    'a backup to where no directory can be made',
    4,
    ['backup', '/proc/kinfold', '--data', data],
    /The copy \/proc\/kinfold cannot be made/,
  ],
  [
    'a backup to below such a place',
    4,
    ['backup', '/proc/kinfold/copy', '--data', data],
    /the directory \/proc\/kinfold cannot be made: .*; name another/,
  ],
]

for (const [what, expected, args, message] of rows) {
  test(`${what}: exit code ${expected}`, async () => {
    const { code, stderr } = await runKinfold(args)
    equal(code, expected, stderr)
    match(stderr, message)
  })
}
