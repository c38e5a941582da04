/**
 * Shows that an object with more owner references than any workload needs, made by a tenant on a
 * real API server, delays no other object, and is collected itself.
 *
 * What must stay true: nothing here measures time; an object that would wait for good fails by
 * `eventually`.
 */
import { equal } from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import {
  CONFIG_MAP,
  type Kind,
  make,
  makeFamily,
  NAMESPACE,
  remove,
  untilGone,
} from '../../testing/process/objects.ts'

const PRIORITY_CLASS: Kind = {
  apiVersion: 'scheduling.k8s.io/v1',
  kind: 'PriorityClass',
  resource: 'priorityclasses',
  namespaced: false,
}
const DEPENDENTS = 20

const skip = missingServers('etcd', 'kube-apiserver')

suite('kinfold up, with a hostile tenant,', { skip: skip ?? false }, () => {
  let plane: ControlPlane
  let kinfold: KinfoldProcess

  before(async () => {
    plane = await startControlPlane()
    const { kubeconfig, folder } = plane
    kinfold = await KinfoldProcess.start({ kubeconfig, data: join(folder, 'kinfold') })
    await make(plane, { kind: NAMESPACE, name: 'evil' })
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
  })

  for (const count of [1_000]) {
    test(`finishes the cascade of another namespace, and deletes an object that references one uid by ${count} names`, async (t) => {
      const { owner, dependents } = await makeFamily(plane, `shop-${count}`, DEPENDENTS)
      const begun = performance.now()
      const seconds = (): string => ((performance.now() - begun) / 1_000).toFixed(1)
      const attack = await make(plane, {
        ...{ kind: CONFIG_MAP, namespace: 'evil', name: `attack-${count}` },
        owners: Array.from({ length: count }, (_, i) => ({
          apiVersion: PRIORITY_CLASS.apiVersion,
          kind: PRIORITY_CLASS.kind,
          name: `x${i}`,
          uid: '1b2f3a52-55d4-4d4c-8f7e-000000000000',
        })),
      })
      await remove(plane, owner)
      await untilGone(plane, dependents)
      t.diagnostic(`the other cascade ended after ${seconds()} s`)
      equal(await kinfold.isLive(), true)
      await untilGone(plane, [attack])
      t.diagnostic(`the object itself was deleted after ${seconds()} s`)
      await kinfold.assertRunning()
    })
  }
})
