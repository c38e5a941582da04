/**
 * Shows that Kinfold, started on an upgraded data directory, lists a real cluster anew, deletes
 * nothing, and goes on when a person resumes it.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import { CONFIG_MAP, make, missingOf, remove } from '../../testing/process/objects.ts'

const RECORDED = join(
  import.meta.dirname,
  '..',
  '..',
  'testing',
  'data-directories',
  'fold-3.sqlite.gz',
)

const skip = missingServers('etcd', 'kube-apiserver')

suite('kinfold, started on an upgraded data directory,', { skip: skip ?? false }, () => {
  let plane: ControlPlane
  let kinfold: KinfoldProcess

  before(async () => {
    plane = await startControlPlane()
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
  })

  test('sees everything and deletes nothing until it is resumed', async () => {
    const data = join(plane.folder, 'kinfold')
    mkdirSync(join(data, 'log'), { recursive: true })
    writeFileSync(join(data, 'log', 'log.sqlite'), gunzipSync(readFileSync(RECORDED)))
    const upgraded = await runKinfold(['upgrade', '--data', data])
    equal(upgraded.code, 0, upgraded.stderr)

    const owner = await make(plane, { kind: CONFIG_MAP, name: 'owner' })
    const dependent = await make(plane, { kind: CONFIG_MAP, name: 'dependent', owners: [owner] })
    kinfold = await KinfoldProcess.start({ kubeconfig: plane.kubeconfig, data })
    await eventually('it is seen', async () => (await kinfold.verdicts([dependent]))[0] === 'keep')
    await remove(plane, owner)
    await eventually('it is judged', async () => {
      const [verdict] = await kinfold.verdicts([dependent])
      return verdict === 'delete, held by pause' || `${verdict}`
    })
    await kinfold.idle()
    deepEqual(await missingOf(plane, [dependent]), [])

    const resumed = await runKinfold(['resume', '--why', 'looked at', '--data', data])
    equal(resumed.code, 0, resumed.stderr)
    await eventually('it goes', async () => (await missingOf(plane, [dependent])).length === 1)
    await kinfold.stop()
    const audit = await runKinfold(['audit', 'verify', '--data', data])
    equal(audit.code, 0, audit.stdout)
  })
})
