/**
 * Records a small data directory as this version writes it: `npm run record-data`, once per fold
 * version, on the last commit that has it.
 *
 * What must stay true: files in testing/data-directories are never written again, since later
 * versions are tested on it.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { openSqliteLog } from '../adapters/sqlite/log.ts'
import { FOLD_VERSION } from '../core/model/policy.ts'
import { systemClock } from '../runtime/clock.ts'
import { appendAll, codec, emptyStore, eventsOf, runTask } from '../testing/rig/task-rig.ts'

/**
 * A cascade, an owner that waits, and one that is deleted while its dependent is not yet judged.
 */
const LIFE = [
  'put deploy/web',
  'put rs/a <- deploy/web',
  'put pod/a <- rs/a!',
  'put cm/b <- deploy/web',
  'delete deploy/web',
]

const target = join(
  import.meta.dirname,
  '..',
  'testing',
  'data-directories',
  `fold-${FOLD_VERSION}.sqlite.gz`,
)
if (existsSync(target)) throw new Error(`${target} is there already, and is never written again`)
const directory = mkdtempSync(join(tmpdir(), 'kinfold-recorded-'))
try {
  await record()
  mkdirSync(join(target, '..'), { recursive: true })
  const file = gzipSync(readFileSync(join(directory, 'log.sqlite')), { level: 9 })
  writeFileSync(target, file)
  process.stdout.write(`${target}: ${file.length} bytes\n`)
} finally {
  rmSync(directory, { recursive: true })
}

async function record(): Promise<void> {
  await using log = await openSqliteLog({ directory, partitions: 1, clock: systemClock() })
  const own = { group: '', kind: '', resource: '', resourceVersion: '', sync: 0, projection: '' }
  const mark = { ...own, partition: 0, shortNames: [] }
  const watermark = { type: 'Watermark', cluster: 'c', epoch: 7, clusterEpoch: 3, ...mark } as const
  await log.append('watermarks', 0, [{ key: 'c//', value: codec.encode(watermark) }])
  const archived = { key: 'c/rs-a', value: Buffer.from('what was archived') }
  await log.append('archive', 0, [archived])
  await using running = runTask(log, emptyStore())
  await appendAll(log, eventsOf(LIFE))
  await running.caughtUp()
}
