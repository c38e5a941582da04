/**
 * Evidence and checkpoints over a real Kafka, whose offsets have gaps and whose records the brokers
 * give their times.
 */
import { equal, match } from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { openKafkaLog } from '../../adapters/kafka/log.ts'
import { systemClock } from '../../runtime/clock.ts'
import { startKafka } from '../../testing/kafka/broker.ts'
import { missingKafka } from '../../testing/kafka/jars.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { appendAll, assign, emptyStore, eventsOf, runTask } from '../../testing/rig/task-rig.ts'
import { makeKeys } from '../../testing/signing-keys.ts'

const STORY: readonly string[] = [
  ...['policy enforce parity', 'put deploy/web', 'put rs/web <- deploy/web'],
  ...['put pod/web <- rs/web', 'delete deploy/web', 'delete rs/web', 'delete pod/web'],
]

suite('evidence, over Kafka,', { skip: missingKafka() ?? false }, () => {
  test('is exported and verified, and a log is compared with its checkpoint', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'kinfold-evidence-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const { key, pub } = makeKeys(folder)
    await using kafka = await startKafka()
    const { bootstrap: brokers, application } = kafka
    await using log = await openKafkaLog({
      settings: { brokers, application, compression: 'none' },
      ...{ clientId: 'evidence', partitions: 2, mayCreate: true, clock: systemClock() },
    })
    await assign(log, 'c', 1)
    await appendAll(log, eventsOf(STORY), 1)
    {
      await using running = runTask(log, emptyStore(), undefined, 1)
      await running.caughtUp()
    }
    const at = ['--brokers', brokers.join(), '--application', application]
    const ran = async (code: number, output: RegExp, ...args: readonly string[]): Promise<void> => {
      const done = await runKinfold(args)
      equal(done.code, code, done.stdout + done.stderr)
      match(done.stdout + done.stderr, output)
    }
    const out = join(folder, 'bundle')
    const exporting = ['evidence', 'export', ...at, '--sign-key', key, '--out', out]
    await ran(2, /the log has 2 partitions: name a --cluster/, ...exporting, '--from', '1h')
    await ran(0, /2 decisions and \d+ changes/, ...exporting, '--from', '1h', '--cluster', 'c')
    await ran(0, /2 decisions, /, 'evidence', 'verify', out, '--key', pub)

    await ran(0, /partition 0: identical.*\npartition 1: identical/, 'audit', 'verify', ...at)
    await ran(1, /; 2 differences\n/, 'audit', 'replay', ...at, '--from', '1h')

    const file = join(folder, 'checkpoint.json')
    await ran(
      0,
      /events of partition 1/,
      'audit',
      'checkpoint',
      ...at,
      '--sign-key',
      key,
      '--out',
      file,
    )
    const comparing = ['audit', 'checkpoint', ...at, '--verify', file, '--key', pub]
    await ran(0, /^events of partition 1: as in the checkpoint from 0 to \d+$/m, ...comparing)
    await log.trim('events', 1, (await log.bounds('events', 1)).end)
    await ran(4, /^events of partition 1: 0 to \d+ cannot be compared/m, ...comparing)
  })
})
