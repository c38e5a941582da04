/**
 * A data directory is copied and both run: while the first is paused the second deletes nothing,
 * and both say why. Cases without processes: copied-data.test.ts.
 */
import { equal, match } from 'node:assert/strict'
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startPlayground } from '../../playground/playground.ts'
import { eventually } from '../../testing/eventually.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { ACTING, KinfoldProcess, logFile } from '../../testing/process/kinfold-process.ts'

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const DEPENDENTS = 10

test('a copy that runs beside its original deletes nothing, also while that is paused (T18)', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'kinfold-copied-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  await using playground = await startPlayground({
    ...{ directory, clusters: ['north'], workload: false },
  })
  const { kubeconfig } = playground
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
  const left = async (): Promise<number> => {
    const names = Array.from({ length: DEPENDENTS }, (_, each) => `${CONFIG_MAPS}/d-${each}`)
    const all = await Promise.all(names.map((name) => request('GET', name)))
    return all.filter(({ status }) => status === 200).length
  }
  const flags = [...ACTING, '--kinds', 'configmaps']
  const data = join(directory, 'data')
  const copy = join(directory, 'copy')
  await using before = await KinfoldProcess.start({ kubeconfig, data, flags })
  await before.stop()
  await cp(data, copy, { recursive: true })

  await using first = await KinfoldProcess.start({ kubeconfig, data, flags })
  await using second = await KinfoldProcess.start({ kubeconfig, data: copy, flags })
  for (const [each, says] of [
    [second, /^\[!\]data-copy\/north warning: .*this one deletes nothing/],
    [first, /^\[!\]data-copy\/north warning: .*it deletes nothing while this one runs/],
  ] as const) {
    await eventually('it says so', async () => {
      const lines = await each.readiness()
      return lines.some((line) => says.test(line)) || lines.join('; ')
    })
    equal(await each.metric('kinfold_data_copied', { cluster: 'north' }), 1)
    match(
      await readFile(logFile(each.data), 'utf8'),
      /the data directory was copied and runs twice/,
    )
    const { stdout } = await runKinfold(['doctor', '--data', each.data, '--kubeconfig', kubeconfig])
    match(stdout, /north: start 2-\w+ is of a copy of/)
  }

  await first.order('pause', 'to look at something')
  const owner = { name: 'owner', uid: await make('owner') }
  for (let each = 0; each < DEPENDENTS; each++) await make(`d-${each}`, owner)
  equal((await request('DELETE', `${CONFIG_MAPS}/owner`)).status, 200)
  await eventually('the second would delete them', async () => {
    const blocked = await second.metric('kinfold_commands_total', { result: 'blocked' })
    return blocked >= DEPENDENTS || `${blocked} commands were blocked`
  })
  equal(await left(), DEPENDENTS)
  await first.order('resume', 'done')
  await eventually('the first deletes them', async () => (await left()) === 0)
  equal(await second.metric('kinfold_commands_total', { verb: 'DeleteObject', result: 'done' }), 0)
})

interface Made {
  readonly status: number
  readonly metadata: { readonly uid: string }
}
