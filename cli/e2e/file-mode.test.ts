/**
 * What Kinfold writes of people's objects is its user's alone, whatever the directory that it was
 * given lets in.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually } from '../../testing/eventually.ts'
import { startKinfold } from '../../testing/process/kinfold-command.ts'

test('files are 0600 and directories 0700 in a data directory that others may read', async (t) => {
  const data = mkdtempSync(join(tmpdir(), 'kinfold-mode-'))
  t.after(() => rmSync(data, { recursive: true, force: true }))
  chmodSync(data, 0o755)
  // As an older version made it.
  mkdirSync(join(data, 'store-0'), { mode: 0o755 })
  const { child, ended } = startKinfold(['playground', '--http', '127.0.0.1:0', '--data', data])
  t.after(async () => {
    child.kill('SIGTERM')
    await ended
  })
  await eventually('all of it is there', async () => {
    const files = filesIn(data)
    const made = ['http.json', 'store-0/CURRENT', 'histories-0/CURRENT', 'log/log.sqlite-wal']
    return made.every((name) => files.includes(name)) || files.join()
  })
  const open = filesIn(data).filter((name) => (modeOf(join(data, name)) & 0o077) !== 0)
  // It says where the endpoint is, to every user who may ask there.
  deepEqual(open, ['http.json'])
  equal(modeOf(join(data, 'http.json')), 0o644)
})

function filesIn(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
}

/** Of one that went meanwhile, none. */
function modeOf(path: string): number {
  return (statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o777
}
