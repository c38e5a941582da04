/**
 * Kubernetes Events on the real server: what was deleted for lack of an owner, and what waits for a
 * person.
 */
import { deepEqual, match } from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { ACTING, KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import {
  CONFIG_MAP,
  make,
  makeAll,
  remove,
  SECRET,
  untilGone,
} from '../../testing/process/objects.ts'

interface Event {
  readonly involvedObject: { readonly kind: string; readonly name: string }
  readonly reason: string
  readonly type: string
  readonly message: string
  readonly reportingComponent: string
}

const skip = missingServers('etcd', 'kube-apiserver') ?? false

suite('with notify.events', { skip }, () => {
  test('Events say what became of an owner’s dependents, and that a lock is missing', async () => {
    await using plane = await startControlPlane()
    const config = join(plane.folder, 'kinfold.yaml')
    const section = 'notify: { events: true }'
    await writeFile(config, `apiVersion: kinfold/v1alpha1\nkind: Config\n${section}\n`)
    const { kubeconfig, folder } = plane
    await using kinfold = await KinfoldProcess.start({
      ...{ kubeconfig, data: join(folder, 'kinfold') },
      flags: [...ACTING, '--config', config],
    })
    const owner = await make(plane, { kind: CONFIG_MAP, name: 'owner' })
    const names = [1, 2, 3].map((each) => `dependent-${each}`)
    const drafts = names.map((name) => ({ kind: SECRET, name, owners: [owner] }))
    const dependents = await makeAll(plane, drafts)
    await kinfold.idle()
    await remove(plane, owner)
    await untilGone(plane, dependents)
    const found = async (reason: string): Promise<readonly Event[]> => {
      const { body } = await plane.request('GET', '/api/v1/namespaces/default/events')
      const { items } = body as { readonly items: readonly Event[] }
      return items.filter((each) => each.reason === reason)
    }
    // One, or two where the ten seconds that are gathered end between the deletes.
    await eventually('all of them are told', async () => {
      const counts = (await found('Collected')).map(({ message }) => parseInt(message.slice(8), 10))
      const told = counts.reduce((sum, count) => sum + count, 0)
      return told === dependents.length || `${told} of ${dependents.length}`
    })
    for (const { type, involvedObject, message } of await found('Collected')) {
      const { kind, name } = involvedObject
      deepEqual([type, kind, name], ['Normal', 'ConfigMap', 'owner'])
      match(message, /^deleted \d dependents?, since no owner is left: Secret\/dep/)
    }
    await eventually('the lock, too', async () => (await found('LockNotInForce')).length > 0)
    const [lock] = await found('LockNotInForce')
    deepEqual(
      [lock?.type, lock?.involvedObject.kind, lock?.involvedObject.name],
      ['Warning', 'Namespace', 'kube-system'],
    )
  })
})
