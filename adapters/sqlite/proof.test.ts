/**
 * What a whole stretch is proved of, and what leaves it to the table, which says what is wrong
 * (damage.test.ts has that verdict for every kind of damage).
 */
import { deepEqual, equal } from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import type { Produced } from '../../ports/log.ts'
import { systemClock } from '../../runtime/clock.ts'
import { openSqliteLog } from './log.ts'
import { LogFile } from './log-file.ts'
import { Proof, type Proved } from './proof.ts'

const KIB = 1_024

/** Short and long ones, tombstones, and values of no bytes. */
const RECORDS: readonly Produced[] = Array.from({ length: 41 }, (_, index) => {
  const bytes = [0, 200, 5 * KIB, 400 * KIB][index % 4]!
  const value = index % 5 === 4 ? null : new Uint8Array(bytes).fill(index)
  return { key: `node/${index}/${'k'.repeat(index * 3)}`, value }
})

test('records of any length are proved, and tombstones, in stretches without a gap', async (t) => {
  const directory = await written(t, RECORDS)
  const stretches = proved(directory, 16)
  equal(stretches.includes(undefined), false)
  deepEqual(
    stretches.map((each) => each?.complete),
    stretches.map((_, at) => at === stretches.length - 1),
  )
  equal(
    stretches.reduce((sum, each) => sum + (each?.count ?? 0), 0),
    RECORDS.length,
  )
})

test('tombstones alone, and nothing at all', async (t) => {
  const gone = [{ key: 'a', value: null }] satisfies Produced[]
  deepEqual(proved(await written(t, gone), 16), [{ count: 1, next: 1, complete: true }])
  deepEqual(proved(await written(t, []), 16), [{ count: 0, next: 1, complete: true }])
})

test('a key of more than ASCII is left to the table', async (t) => {
  const records = [{ key: 'größer', value: new Uint8Array(1) }]
  deepEqual(proved(await written(t, records), 16), [undefined])
})

const DAMAGE: readonly (readonly [string, string])[] = [
  ['another value', "UPDATE record SET value = x'00' WHERE id = ?"],
  ['a value that is gone', 'UPDATE record SET value = NULL WHERE id = ?'],
  ['another key', "UPDATE record SET key = 'other' WHERE id = ?"],
  ['another time', 'UPDATE record SET timestamp = timestamp + 1 WHERE id = ?'],
  ['another link', 'UPDATE record SET prev = prev + 1 WHERE id = ?'],
  ['another sum', 'UPDATE record SET sum = sum + 1 WHERE id = ?'],
  ['a record that is missing', 'DELETE FROM record WHERE id = ?'],
]

for (const [what, sql] of DAMAGE) {
  test(`${what} is not proved, the last one's neither`, async (t) => {
    for (const offset of [5, RECORDS.length - 1]) {
      const directory = await written(t, RECORDS)
      const db = new DatabaseSync(join(directory, 'log.sqlite'))
      const lane = db.prepare("SELECT lane FROM head WHERE topic = 'changelog'").get()?.['lane']
      const { changes } = db.prepare(sql).run(BigInt(Number(lane) * 2 ** 44 + offset))
      db.close()
      equal(changes, 1)
      equal(proved(directory, 100).at(-1), undefined)
    }
  })
}

async function written(t: TestContext, records: readonly Produced[]): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'proof-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  await using log = await openSqliteLog({ directory, partitions: 1, clock: systemClock() })
  if (records.length > 0) await log.append('changelog', 0, records)
  return directory
}

/** Ends where nothing is left, or with what is not proved. */
function proved(directory: string, limit: number): (Proved | undefined)[] {
  const path = join(directory, 'log.sqlite')
  const file = new LogFile({ path, readOnly: true, maxBytes: undefined, traces: false })
  const head = [...file.heads].find(({ topic }) => topic === 'changelog')!
  const proof = new Proof(file.database)
  const stretches: (Proved | undefined)[] = []
  for (let from = 0; ; ) {
    const stretch = proof.upward(head, from, file.records.sumBelow(head, from), limit)
    stretches.push(stretch)
    if (stretch === undefined || stretch.complete) break
    from = stretch.next
  }
  file.close()
  return stretches
}
