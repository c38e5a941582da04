/**
 * A data directory of an older version is refused with a sentence and left as it is, until
 * `kinfold upgrade` begins a new log in it. The older one was recorded by that version
 * (scripts/data-directory.ts).
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { openSqliteLog, type SqliteLog } from '../../adapters/sqlite/log.ts'
import { POSITION_KEY } from '../../core/graph/key.ts'
import { FOLD_VERSION } from '../../core/model/policy.ts'
import type { Position } from '../../core/model/state.ts'
import { systemClock } from '../../runtime/clock.ts'
import { auditPartition } from '../../services/graph/audit/audit.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { appendAll, codec, emptyStore, eventsOf, runTask } from '../../testing/rig/task-rig.ts'

const RECORDED = join(import.meta.dirname, '..', '..', 'testing', 'data-directories')

/** As that version left it. */
function dataOf(t: TestContext, version: number): string {
  const data = mkdtempSync(join(tmpdir(), 'kinfold-upgrade-'))
  t.after(() => rmSync(data, { recursive: true, force: true }))
  mkdirSync(join(data, 'log'))
  for (const name of ['store-0', 'index', 'shadow']) mkdirSync(join(data, name))
  const file = gunzipSync(readFileSync(join(RECORDED, `fold-${version}.sqlite.gz`)))
  writeFileSync(join(data, 'log', 'log.sqlite'), file)
  return data
}

async function openLog(data: string): Promise<SqliteLog> {
  return await openSqliteLog({ directory: join(data, 'log'), clock: systemClock() })
}

function kubeconfigIn(data: string): string {
  const file = join(data, 'kubeconfig')
  const cluster = { name: 'a', cluster: { server: 'http://127.0.0.1:1' } }
  const context = { name: 'a', context: { cluster: 'a', user: 'a' } }
  const users = [{ name: 'a', user: {} }]
  const config = { clusters: [cluster], contexts: [context], users, 'current-context': 'a' }
  writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'Config', ...config }))
  return file
}

for (const version of [3, 10, 11, 12, 13, 14]) {
  test(`a log of fold version ${version} is refused with what to do, and nothing is written to it`, async (t) => {
    const data = dataOf(t, version)
    const before = readFileSync(join(data, 'log', 'log.sqlite'))
    const commands = [
      ['up', '--data', data, '--kubeconfig', kubeconfigIn(data), '--http', '127.0.0.1:0'],
      ['audit', 'verify', '--data', data],
    ]
    for (const args of commands) {
      const { code, stderr } = await runKinfold(args)
      equal(code, 4, stderr)
      match(
        stderr,
        new RegExp(`error: The log was (folded by version ${version}|written in a format)`),
      )
      match(stderr, /begin a new log with "kinfold upgrade --data DIR"/)
      ok(!stderr.includes('    at '), stderr)
    }
    ok(before.equals(readFileSync(join(data, 'log', 'log.sqlite'))))
  })
}

test('an upgrade begins a new log, paused, above the old epochs, with the archive', async (t) => {
  const data = dataOf(t, 3)
  const before = readFileSync(join(data, 'log', 'log.sqlite'))
  const { code, stdout, stderr } = await runKinfold(['upgrade', '--data', data])
  equal(code, 0, stderr)
  match(stdout, /a new log is begun, for 1 cluster, with 1 records of the archive/)
  match(stdout, /all clusters are paused/)
  const kept = readdirSync(data).filter((name) => name.startsWith('log-of-'))
  equal(kept.length, 1)
  const old = join(data, kept[0] ?? '', 'log.sqlite')
  ok(before.equals(readFileSync(old)))
  equal(statSync(old).mode & 0o777, 0o400)
  // Of what is made of a log nothing stays.
  const left = readdirSync(data).filter((name) => !name.startsWith('log-of-'))
  deepEqual(left, ['log'])

  await using log = await openLog(data)
  const [pause] = await log.latest('orders', 0)
  const said = codec.decode(pause?.value ?? new Uint8Array())
  deepEqual([pause?.key, said.type === 'Control' && said.verb], ['pause/', 'pause'])
  const marks = await log.latest('watermarks', 0)
  deepEqual(
    marks.map(({ value }) => {
      const mark = codec.decode(value ?? new Uint8Array())
      return mark.type === 'Watermark' && [mark.cluster, mark.kind, mark.epoch, mark.clusterEpoch]
    }),
    [['c', '', 7, 3]],
  )
  const archive = await log.read('archive', 0, 0n, { limit: 10, waitMs: 0 })
  deepEqual(
    archive.entries.map(({ key, value }) => [key, Buffer.from(value ?? []).toString()]),
    [['c/rs-a', 'what was archived']],
  )

  // A cascade is folded, and nothing asked for.
  await using running = runTask(log, emptyStore())
  await appendAll(log, eventsOf(['put deploy/web', 'put rs/a <- deploy/web', 'delete deploy/web']))
  await running.caughtUp()
  equal((await log.bounds('commands', 0)).end, 0n)
  await running[Symbol.asyncDispose]()
  const parts = { log, codec, store: emptyStore(), partition: 0 }
  equal((await auditPartition(parts, new AbortController().signal)).type, 'identical')
})

test('an upgrade that was cut is told of, and goes on', async (t) => {
  const data = dataOf(t, 3)
  equal((await runKinfold(['upgrade', '--data', data])).code, 0)
  // As it is between its two names.
  renameSync(join(data, 'log'), join(data, 'log.upgrading'))
  const args = ['up', '--data', data, '--kubeconfig', kubeconfigIn(data), '--http', '127.0.0.1:0']
  const { code, stderr } = await runKinfold(args)
  equal(code, 4)
  match(stderr, /an upgrade was cut short; run "kinfold upgrade --data .*" again/)
  equal(existsSync(join(data, 'log')), false)
  equal((await runKinfold(['upgrade', '--data', data])).code, 0)
  const again = await runKinfold(['upgrade', '--data', data])
  match(again.stdout, /its log is of this version; there is nothing to do/)
})

test('nobody upgrades what is in use, nor what a newer Kinfold wrote', async (t) => {
  const data = dataOf(t, 3)
  {
    await using _log = await openLog(data)
    const { code, stderr } = await runKinfold(['upgrade', '--data', data])
    equal(code, 4)
    match(stderr, /is in use by another process/)
  }
  const directory = join(data, 'newer')
  {
    const options = { directory: join(directory, 'log'), partitions: 1, clock: systemClock() }
    await using log = await openSqliteLog(options)
    const position: Position = {
      ...{ type: 'Position', partition: 0, partitions: 1, position: 0n },
      ...{ state: '', outputs: '', foldVersion: FOLD_VERSION + 1, last: '', inForce: [] },
    }
    await log.append('changelog', 0, [{ key: POSITION_KEY, value: codec.encode(position) }])
  }
  const { code, stderr } = await runKinfold(['upgrade', '--data', directory])
  equal(code, 2)
  match(stderr, /run the newer one/)
})
