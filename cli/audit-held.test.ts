/** `kinfold audit held`: what was held then, out of a data directory; and what asks for it in the wrong words. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { openSqliteLog } from '../adapters/sqlite/log.ts'
import { systemClock } from '../runtime/clock.ts'
import { runKinfold } from '../testing/kinfold-command.ts'
import { appendAll, assign, emptyStore, eventsOf, runTask } from '../testing/task-rig.ts'
import type { Held } from './answer.ts'

const folder = mkdtempSync(join(tmpdir(), 'kinfold-audit-held-'))
const data = join(folder, 'data')
after(() => rmSync(folder, { recursive: true, force: true }))

const STORY = ['policy enforce guarded', 'put rs/web', 'put pod/web <- rs/web', 'delete rs/web']

suite('audit held', () => {
  let end = 0
  before(async () => {
    mkdirSync(data)
    const clock = systemClock()
    await using log = await openSqliteLog({ directory: join(data, 'log'), partitions: 1, clock })
    await assign(log)
    await appendAll(log, eventsOf(STORY))
    end = Number((await log.bounds('events', 0)).end)
    await using running = runTask(log, emptyStore())
    await running.caughtUp()
  })
  const heldAt = async (at: string): Promise<Held> => {
    const { code, stdout, stderr } = await runKinfold([
      ...['audit', 'held', '--at', at, '--data', data, '-o', 'json'],
    ])
    equal(code, 0, stderr)
    return JSON.parse(stdout) as Held
  }

  test('before the deletion of the owner nothing, after it its dependent', async () => {
    equal((await heldAt(`pos:0-${end - 1}`)).total, 0)
    const { counts, mode, partial } = await heldAt(`pos:0-${end}`)
    deepEqual([mode, partial, counts.length], ['enforce', '', 1])
    const [{ kind, by, cluster }] = counts as [Held['counts'][number]]
    deepEqual([kind, by, cluster.name], ['Pod', 'hold', 'test'])
    const { stdout } = await runKinfold(['audit', 'held', '--at', `pos:0-${end}`, '--data', data])
    match(stdout, /test +hold +deleted +ns +Pod +1 /)
  })

  test('what cannot be answered is said in one sentence', async () => {
    const cases: readonly (readonly [string, number, RegExp])[] = [
      ['audit held --at 7d', 4, /--at 7d: no cluster had been seen by then/],
      ['audit held --at noon', 2, /--at: expected how long ago/],
      ['audit held --at 2999-01-01T00:00:00Z', 2, /is still to come/],
      [`audit held --at pos:0-${end} --cluster north`, 2, /no cluster north by then; .*: test/],
      ['audit held --at 1m --data /nowhere', 2, /there is no log in this data directory/],
      ['held --at 2h', 2, /"kinfold audit held --at 2h" folds it from the log/],
    ]
    for (const [line, code, sentence] of cases) {
      const of = line.startsWith('audit') && !line.includes('--data') ? ['--data', data] : []
      const ran = await runKinfold([...line.split(' '), ...of])
      equal(ran.code, code, line + ran.stderr)
      match(ran.stderr, sentence)
      equal(ran.stdout, '')
    }
  })
})
