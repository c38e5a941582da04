/**
 * `kinfold doctor`: what is absent or open to other users is a warning, counted and marked as one;
 * only what fails is exit code 1.
 */
import { doesNotMatch, equal, match } from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openSqliteLog } from '../../adapters/sqlite/log.ts'
import { startPlayground } from '../../playground/playground.ts'
import { systemClock } from '../../runtime/clock.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'

function temporary(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'kinfold-doctor-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('a missing lock, a data directory that others may write to, an open kubeconfig and a clock that was set back are warnings', async (t) => {
  const directory = temporary(t)
  await using playground = await startPlayground({
    directory,
    clusters: ['north'],
    workload: false,
  })
  const data = join(directory, 'data')
  mkdirSync(data, { mode: 0o700 })
  const { kubeconfig } = playground
  chmodSync(kubeconfig, 0o600)
  const doctor = ['doctor', '--kubeconfig', kubeconfig, '--data', data, '--kinds', 'configmaps']
  const fine = await runKinfold(doctor)
  equal(fine.code, 0, fine.stdout + fine.stderr)
  match(fine.stdout, /^\[!\] north: lock: not in force for this account: /m)
  doesNotMatch(fine.stdout, /^\[\+\] .*(not in force|chmod)/m)
  match(fine.stdout, /^\d+ checks: 0 failed, 1 warning\n$/m)

  chmodSync(data, 0o777)
  chmodSync(kubeconfig, 0o644)
  await writeAnHourAhead(join(data, 'log'))
  const open = await runKinfold(doctor)
  equal(open.code, 0, open.stdout + open.stderr)
  match(open.stdout, /^\[!\] other users may write to .*data \(mode 0777\): run "chmod go-w /m)
  match(open.stdout, /^\[!\] the kubeconfig .*\(mode 0644\); run "chmod 600 /m)
  match(open.stdout, /^\[!\] .*data: the clock: it is 3\d{3} s behind the time of the log/m)
  match(open.stdout, /^\d+ checks: 0 failed, 4 warnings\n$/m)
})

test('a token file that other users may read has failed: Kinfold does not start with it', async (t) => {
  const directory = temporary(t)
  await using playground = await startPlayground({
    directory,
    clusters: ['north'],
    workload: false,
  })
  const { kubeconfig } = playground
  const token = join(directory, 'token')
  const config = join(directory, 'config.yaml')
  writeFileSync(token, 'a-token-for-this-test\n')
  chmodSync(token, 0o644)
  const data = join(directory, 'data')
  const settings = { kubeconfig, data, httpTokenFile: token, kinds: ['configmaps'] }
  const content = { apiVersion: 'kinfold/v1alpha1', kind: 'Config', ...settings }
  writeFileSync(config, JSON.stringify(content))
  const told = await runKinfold(['doctor', '--config', config])
  equal(told.code, 1, told.stdout + told.stderr)
  match(told.stdout, /^\[-\] the token file .*\(mode 0644\); run "chmod 600 /m)

  const started = await runKinfold(['up', '--config', config, '--http', '127.0.0.1:0'])
  equal(started.code, 2, started.stderr)
  match(started.stderr, /the token file .*: other users may read or change it .*"chmod 600 /)
})

async function writeAnHourAhead(directory: string): Promise<void> {
  const real = systemClock()
  const clock = { ...real, now: () => real.now() + 3_600_000 }
  await using log = await openSqliteLog({ directory, partitions: 1, clock })
  await log.append('events', 0, [{ key: 'k', value: new Uint8Array(1) }])
}
