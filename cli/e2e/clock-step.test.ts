/**
 * The clock of a machine is set forward by an hour while Kinfold runs on its embedded log, and is
 * an hour ahead when it starts again: what is held stays held until a person says that the clock is
 * right, people are notified, and what is deleted afterwards is collected as before.
 */
import { equal, match, ok } from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startPlayground } from '../../playground/playground.ts'
import { eventually } from '../../testing/eventually.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { KinfoldProcess, logFile } from '../../testing/process/kinfold-process.ts'

const STEPPABLE = import.meta.resolve('../../testing/steppable-clock.ts')
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
/** Since the step: by then whatever log time had let go is gone. */
const HEARTBEATS = 3

test('a clock that is set forward by an hour ends no hold, and nothing stops for it', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'kinfold-clock-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  await using playground = await startPlayground({
    directory,
    clusters: ['north'],
    workload: false,
  })
  const { url } = playground.servers[0]!
  const request = async (method: string, path: string, body?: object): Promise<Made> => {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(url + path, { method, headers, body: JSON.stringify(body) ?? null })
    return { ...((await answer.json()) as Made), status: answer.status }
  }
  const make = async (name: string, owner?: { name: string; uid: string }): Promise<string> => {
    const reference = { apiVersion: 'v1', kind: 'ConfigMap', ...owner }
    const ownerReferences = owner === undefined ? [] : [reference]
    const made = await request('POST', CONFIG_MAPS, { metadata: { name, ownerReferences } })
    equal(made.status, 201)
    return made.metadata.uid
  }

  const config = join(directory, 'config.yaml')
  await writeFile(
    config,
    'apiVersion: kinfold/v1alpha1\nkind: Config\nholds: { deleted: 0s }\nkinds: [configmaps]\n',
  )
  const data = join(directory, 'data')
  const started = async (clock: string): Promise<KinfoldProcess> => {
    return await KinfoldProcess.start({
      kubeconfig: playground.kubeconfig,
      data,
      flags: ['--config', config, '--mode', 'enforce', '--preset', 'guarded'],
      nodeArgs: ['--import', clock],
    })
  }
  await using kinfold = await started(STEPPABLE)
  const heartbeats = (): Promise<number> => kinfold.metric('kinfold_watcher_heartbeats_total')
  const held = await make('held', { name: 'never-was', uid: 'nobody' })
  await eventually('it is held for an hour, since its owner was never seen', async () => {
    const why = await kinfold.why({ uid: held })
    return (
      (why?.admission?.by === 'hold' && why.verdict?.evidence === 'not-found') ||
      JSON.stringify(why)
    )
  })

  process.kill(kinfold.pid, 'SIGUSR2')
  const since = await heartbeats()
  await eventually('heartbeats move log time', async () => {
    return (await heartbeats()) >= since + HEARTBEATS
  })
  equal((await request('GET', `${CONFIG_MAPS}/held`)).status, 200)
  await eventually('readiness tells of it', async () => {
    const lines = await kinfold.readiness()
    return lines.some((line) => line.startsWith('[!]clock warning: ')) || lines.join('; ')
  })
  const owner = await make('owner')
  await make('dependent', { name: 'owner', uid: owner })
  equal((await request('DELETE', `${CONFIG_MAPS}/owner`)).status, 200)
  await eventually('what is deleted afterwards is collected', async () => {
    return (await request('GET', `${CONFIG_MAPS}/dependent`)).status === 404
  })

  equal((await request('GET', `${CONFIG_MAPS}/held`)).status, 200)
  equal((await kinfold.why({ uid: held }))?.admission?.by, 'hold')
  ok(await kinfold.isReady(), 'it is a warning and no more')
  match(
    await readFile(logFile(data), 'utf8'),
    /it is 389\d s ahead.*the clock was set, or stood still/,
  )
  await kinfold.stop()

  await using again = await started(`${STEPPABLE}?ahead`)
  const restarted = await again.metric('kinfold_watcher_heartbeats_total')
  await eventually('heartbeats move log time after the start (T17)', async () => {
    return (await again.metric('kinfold_watcher_heartbeats_total')) >= restarted + HEARTBEATS
  })
  equal((await request('GET', `${CONFIG_MAPS}/held`)).status, 200)
  equal((await again.why({ uid: held }))?.admission?.by, 'hold')
  ok(await again.isReady())
  const lines = await again.readiness()
  ok(
    lines.some((line) => /^\[!\]clock warning: .*confirm-clock/.test(line)),
    lines.join('; '),
  )
  match(
    await readFile(logFile(data), 'utf8'),
    /north: 3900 s behind.*the clock is not believed|the clock is not believed.*north: 3900 s behind/,
  )
  match(await again.heldClock(), /389\d s ahead/)
  const confirmed = ['confirm-clock', '--why', 'the time server was down', '--data', data]
  equal((await runKinfold(confirmed)).code, 0)
  await eventually('its hold is over by the clock that a person confirmed', async () => {
    return (await request('GET', `${CONFIG_MAPS}/held`)).status === 404
  })
})

interface Made {
  readonly status: number
  readonly metadata: { readonly uid: string }
}
