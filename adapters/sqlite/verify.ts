/**
 * Reads a file through before it is used: structure, heads, every record, every saved position.
 *
 * What must stay true: a file that passes holds the written records, up to an end that may only be
 * earlier than the truth if the write-ahead log was cut; a reader with a later position (the
 * store's checkpoint) sees that by `bounds`.
 *
 * Not here: the checks of every later read (record-table.ts).
 */
import { setImmediate } from 'node:timers/promises'
import { columnsSum } from './checksum.ts'
import { damagedAt, damagedFile } from './failure.ts'
import { type Head, nameOf, OFFSET_END } from './head.ts'
import type { LogFile } from './log-file.ts'
import { Proof, type Proved } from './proof.ts'

/** Records checked in one turn of the event loop: some 5 ms. */
const SLICE_RECORDS = 2_000

export async function verifyFile(file: LogFile): Promise<void> {
  file.read(() => checkStructure(file))
  for (const head of file.heads) {
    file.read(() => checkPositions(file, head))
    await checkRecords(file, head)
  }
}

/** SQLite's own check: pages that belong to no structure or to two. Our sums do not cover those. */
function checkStructure(file: LogFile): void {
  const row = file.database.prepare('PRAGMA quick_check(1)').get()
  const found = row?.['quick_check']
  if (found !== 'ok') throw damagedFile(file.path, `SQLite says: ${found}`)
}

async function checkRecords(file: LogFile, head: Head): Promise<void> {
  const proof = new Proof(file.database)
  let count = 0
  for (let from = head.start; ; ) {
    const proved = file.read(() => checkSome(file, proof, head, from))
    count += proved.count
    if (proved.complete) break
    from = proved.next
    await setImmediate()
  }
  if (count !== head.records) {
    throw damagedAt(head, head.start, file.path, `${count} records instead of ${head.records}`)
  }
  if (file.read(() => file.records.hasAny(head.lane, head.next, OFFSET_END))) {
    throw damagedAt(head, head.next, file.path, 'there are records behind the end')
  }
}

function checkSome(file: LogFile, proof: Proof, head: Head, from: number): Proved {
  const proved = proof.upward(head, from, file.records.sumBelow(head, from), SLICE_RECORDS)
  if (proved !== undefined) return proved
  const { records, complete } = file.records.upward(head, from, SLICE_RECORDS)
  return { count: records.length, next: (records.at(-1)?.offset ?? from) + 1, complete }
}

function checkPositions(file: LogFile, head: Head): void {
  let sums = 0
  const select = file.database.prepare(
    'SELECT reader, offset, detail, sum FROM position WHERE lane = ?',
  )
  for (const row of select.iterate(head.lane)) {
    const columns = [head.lane, String(row['reader']), Number(row['offset']), String(row['detail'])]
    const sum = columnsSum(columns)
    if (sum !== row['sum'])
      throw damagedFile(file.path, 'a saved position does not fit its checksum')
    sums = (sums ^ sum) >>> 0
  }
  if (sums !== head.positions) {
    throw damagedFile(file.path, `saved positions of ${nameOf(head)} are missing or changed`)
  }
}
