/**
 * Shows that a cascade gets over an API server that is killed, one that hangs, and an etcd that is
 * away, in the middle of it.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import {
  CONFIG_MAP,
  type Made,
  make,
  makeAll,
  missingOf,
  remove,
  SECRET,
  uidsOf,
} from '../../testing/process/objects.ts'

const DEPENDENTS = 1_000
const BYSTANDERS = 50

const skip = missingServers('etcd', 'kube-apiserver')

suite('a cascade completes, and takes nothing else,', { skip: skip ?? false }, () => {
  let plane: ControlPlane
  let kinfold: KinfoldProcess
  let bystanders: readonly Made[]

  before(async () => {
    plane = await startControlPlane()
    const { kubeconfig, folder } = plane
    kinfold = await KinfoldProcess.start({ kubeconfig, data: join(folder, 'kinfold') })
    const solid = await make(plane, { kind: SECRET, name: 'solid' })
    const others = Array.from({ length: BYSTANDERS }, (_, i) => {
      return { kind: CONFIG_MAP, name: `bystander-${i}`, owners: [solid] }
    })
    bystanders = [solid, ...(await makeAll(plane, others))]
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
  })

  test('when the API server is killed and started again', async () => {
    await collectThrough('killed', async () => {
      await plane.killApiserver()
      await plane.startApiserver()
    })
  })

  test('when the API server hangs for a while', async () => {
    await collectThrough('hanging', async () => {
      plane.apiserver.pause()
      await eventually('kinfold says that it is not ready', async () => !(await kinfold.isReady()))
      plane.apiserver.resume()
    })
  })

  test('when etcd is killed and started again', async () => {
    await collectThrough('without-etcd', async () => {
      await plane.etcd.kill()
      await plane.etcd.start()
    })
  })

  async function collectThrough(set: string, outage: () => Promise<void>): Promise<void> {
    const owner = await make(plane, { kind: SECRET, name: set })
    const dependents = await makeAll(
      plane,
      Array.from({ length: DEPENDENTS }, (_, i) => {
        return { kind: CONFIG_MAP, name: `${set}-${i}`, set, owners: [owner] }
      }),
    )
    await eventually('the last ones are seen', async () => {
      return (await kinfold.verdicts(dependents.slice(-20))).every((verdict) => verdict === 'keep')
    })
    await remove(plane, owner)
    let atOutage = DEPENDENTS
    await eventually(
      'a part is gone',
      async () => {
        atOutage = (await uidsOf(plane, CONFIG_MAP, set)).size
        return atOutage < DEPENDENTS
      },
      { everyMs: 5 },
    )
    await outage()
    ok(atOutage > 0, 'the outage came too late')
    await eventually('all of them go', async () => {
      const { size } = await uidsOf(plane, CONFIG_MAP, set)
      return size === 0 || `${size} left`
    })
    await kinfold.ready()
    await kinfold.idle()
    deepEqual(await missingOf(plane, bystanders), [])
  }
})
