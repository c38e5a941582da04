/**
 * Shows that the control plane of the cluster tests has the properties that those tests rely on:
 * objects outlive crashes, the port stays, history can be lost, and upstream's collector can run on
 * it.
 */
import { deepEqual, equal, notEqual, ok } from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, suite, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { missingServers, requireBinary } from './binaries.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const WITHIN_MS = 60_000

interface ConfigMap {
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly resourceVersion: string
  }
}

interface List {
  readonly metadata: { readonly resourceVersion: string }
  readonly items: readonly ConfigMap[]
}

let plane: ControlPlane

const skip = missingServers('etcd', 'kube-apiserver', 'kubectl', 'kube-controller-manager')

suite('a control plane', { skip: skip ?? false }, () => {
  before(async () => {
    plane = await startControlPlane({
      context: 'blue',
      users: [{ name: 'visitor', groups: ['visitors'] }],
      // Watches of ConfigMaps go to etcd itself, so that a compaction reaches them.
      apiserverArgs: ['--watch-cache-sizes=configmaps#0'],
    })
  })
  after(() => plane?.[Symbol.asyncDispose]())

  test('stores objects and counts the requests for them', async () => {
    const before = await plane.requestCounts()
    const made = await createConfigMap('first')
    const listed = await plane.request<List>('GET', CONFIG_MAPS)
    ok(listed.body.items.some(({ metadata }) => metadata.uid === made.metadata.uid))

    const after = await plane.requestCounts()
    const moved = (key: string) => (after.get(key) ?? 0) - (before.get(key) ?? 0)
    deepEqual([moved('POST configmaps'), moved('LIST configmaps')], [1, 1])
  })

  test('has a kubeconfig that kubectl understands', async () => {
    const kubectl = promisify(execFile)
    const cluster = ['--kubeconfig', plane.kubeconfig, '--context', 'blue']
    const args = [...cluster, '--cache-dir', `${plane.folder}/kubectl`, 'get', 'namespaces']
    const { stdout } = await kubectl(requireBinary('kubectl'), args)
    ok(stdout.includes('kube-system'))
  })

  test('calls itself by the version it was built from', async () => {
    const { body } = await plane.request<{ gitVersion: string }>('GET', '/version')
    notEqual(body.gitVersion.slice(0, 6), 'v0.0.0')
  })

  test('knows users beside the admin, with the rights that RBAC gives them', async () => {
    const authorization = `Bearer ${plane.tokenOf('visitor')}`
    const { status } = await plane.request('GET', CONFIG_MAPS, undefined, { authorization })
    equal(status, 403)
  })

  test('answers 410 to a watch from a version that was compacted away', async () => {
    const old = await createConfigMap('old')
    await createConfigMap('newer')
    await createConfigMap('newest')
    await plane.compact()
    const version = old.metadata.resourceVersion
    const watch = await plane.request<{ type: string; object: { code: number } }>(
      'GET',
      `${CONFIG_MAPS}?watch=true&resourceVersion=${version}&timeoutSeconds=5`,
    )
    deepEqual([watch.body.type, watch.body.object.code], ['ERROR', 410])
  })

  test('comes back on its port with its objects when the API server is killed', async () => {
    const made = await createConfigMap('survivor')
    const { pid } = plane.apiserver
    await plane.killApiserver()
    await plane.startApiserver()
    notEqual(plane.apiserver.pid, pid)
    deepEqual(await uidOf('survivor'), made.metadata.uid)
  })

  test('goes back to a snapshot of etcd behind a running API server', async () => {
    const kept = await createConfigMap('kept')
    const snapshot = `${plane.folder}/snapshot`
    await plane.snapshot(snapshot)
    await eventually(async () => {
      await createConfigMap('lost')
      return (await uidOf('lost')) !== undefined
    })
    await plane.restore(snapshot)
    await eventually(async () => (await uidOf('lost')) === undefined)
    equal(await uidOf('kept'), kept.metadata.uid)
  })

  test("leaves dependents alone without upstream's collector, and deletes them with it", async () => {
    await using _others = await plane.startControllerManager({ collector: false })
    const owner = await createConfigMap('owner')
    await createConfigMap('dependent', owner)
    await plane.request('DELETE', `${CONFIG_MAPS}/owner`)
    await otherControllersAtWork()
    notEqual(await uidOf('dependent'), undefined)

    const options = { collector: true, clientLimitsLifted: true }
    await using collector = await plane.startControllerManager(options)
    await eventually(async () => (await uidOf('dependent')) === undefined)
    ok((await collector.metrics()).includes('workqueue_adds_total'))
  })
})

async function createConfigMap(name: string, owner?: ConfigMap): Promise<ConfigMap> {
  const ownerReferences = owner && [
    { apiVersion: 'v1', kind: 'ConfigMap', name: owner.metadata.name, uid: owner.metadata.uid },
  ]
  const { body } = await plane.request<ConfigMap>('POST', CONFIG_MAPS, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, ownerReferences },
  })
  return body
}

/** A new namespace is given a service account by a controller of its own. */
async function otherControllersAtWork(): Promise<void> {
  await plane.request('POST', '/api/v1/namespaces', { metadata: { name: 'later' } })
  const path = '/api/v1/namespaces/later/serviceaccounts/default'
  await eventually(async () => (await plane.request('GET', path)).status === 200)
}

async function uidOf(name: string): Promise<string | undefined> {
  const { status, body } = await plane.request<ConfigMap>('GET', `${CONFIG_MAPS}/${name}`)
  return status === 200 ? body.metadata.uid : undefined
}

async function eventually(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + WITHIN_MS
  while (!(await holds())) {
    ok(performance.now() < deadline, 'it did not come about in time')
    await delay(50)
  }
}
