/**
 * Shows on a real API server what its user learns beside Kinfold's own answer, as far as that user
 * may read it: the status of a tree's objects, and labels.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import {
  DEPLOYMENT,
  type Made,
  make,
  mergePatch,
  pathOf,
  REPLICA_SET,
  SECRET,
} from '../../testing/process/objects.ts'

const skip = missingServers('etcd', 'kube-apiserver')

suite('beside what Kinfold knows, on a real API server,', { skip: skip ?? false }, () => {
  let plane: ControlPlane
  let kinfold: KinfoldProcess
  let web: Made

  before(async () => {
    plane = await startControlPlane({ users: [{ name: 'viewer', groups: ['viewers'] }] })
    const { kubeconfig, folder } = plane
    const flags = ['--mode', 'observe', '--kinds', 'deployments.apps,replicasets.apps,secrets']
    kinfold = await KinfoldProcess.start({ kubeconfig, data: join(folder, 'kinfold'), flags })
    web = await make(plane, { kind: DEPLOYMENT, name: 'web' })
    const set = await make(plane, { kind: REPLICA_SET, name: 'web-1', owners: [web] })
    const secret = await make(plane, { kind: SECRET, name: 'key', owners: [web] })
    await eventually('the family is seen', async () => {
      const verdicts = await kinfold.verdicts([set, secret])
      return verdicts.every((verdict) => verdict !== 'unseen') || verdicts.join()
    })
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
  })

  const live = async (kubeconfig: string) => {
    const words = ['tree', 'deploy/web', '--live', '--kubeconfig', kubeconfig]
    return await runKinfold([...words, '--data', kinfold.data])
  }

  test('each object has its status', async () => {
    const { code, stdout, stderr } = await live(plane.kubeconfig)
    equal(code, 0, stderr)
    match(stdout, /NAME +READY +REASON +STATUS +AGE\n/)
    match(stdout, / Deployment\/web +- +- +InProgress +\d+s\n/)
    match(stdout, / [├└]─ ReplicaSet\/web-1 +- +- +InProgress +\d+s\n/)
    match(stdout, / [├└]─ Secret\/key +- +- +Current +\d+s\n/)
    const status = { observedGeneration: 1, replicas: 1, fullyLabeledReplicas: 1 }
    const path = `${pathOf({ kind: REPLICA_SET, namespace: 'default', name: 'web-1' })}/status`
    await mergePatch(plane, path, { status: { ...status, readyReplicas: 1, availableReplicas: 1 } })
    match((await live(plane.kubeconfig)).stdout, /ReplicaSet\/web-1 +- +- +Current /)
  })

  test('the objects that it selects by labels are listed', async () => {
    const made = await Promise.all(
      ['red', 'red', 'blue'].map(async (set, index) => {
        return await make(plane, { kind: SECRET, name: `labelled-${index}`, set })
      }),
    )
    await eventually('the secrets are seen', async () => {
      const verdicts = await kinfold.verdicts(made)
      return verdicts.every((verdict) => verdict !== 'unseen') || verdicts.join()
    })
    const get = async (labels: string) => {
      const words = ['get', 'secrets', '-l', labels, '--kubeconfig', plane.kubeconfig]
      return await runKinfold([...words, '-o', 'name', '--data', kinfold.data])
    }
    const red = { code: 0, stdout: 'secret/labelled-0\nsecret/labelled-1\n', stderr: '' }
    deepEqual(await get('set in (red),set!=blue'), red)
    deepEqual(await get('set=green'), { code: 0, stdout: '', stderr: '' })
    const { code, stdout, stderr } = await get('set===red')
    deepEqual([code, stdout], [2, ''])
    match(stderr, /-l set===red: .* was answered 400 BadRequest: unable to parse requirement/)
  })

  test('what its user may not read is unknown, and it is said why', async () => {
    const group = 'rbac.authorization.k8s.io'
    const path = `/apis/${group}/v1`
    const about = { apiVersion: `${group}/v1`, metadata: { name: 'viewers' } }
    const rules = [
      { apiGroups: [''], resources: ['namespaces'], verbs: ['get'] },
      { apiGroups: ['apps'], resources: ['deployments'], verbs: ['get'] },
    ]
    const role = { ...about, kind: 'ClusterRole', rules }
    equal((await plane.request('POST', `${path}/clusterroles`, role)).status, 201)
    const subjects = [{ kind: 'Group', apiGroup: group, name: 'viewers' }]
    const roleRef = { apiGroup: group, kind: 'ClusterRole', name: 'viewers' }
    const bound = { ...about, kind: 'ClusterRoleBinding', subjects, roleRef }
    equal((await plane.request('POST', `${path}/clusterrolebindings`, bound)).status, 201)
    const { code, stdout, stderr } = await live(await plane.kubeconfigOf('viewer'))
    equal(code, 0, stderr)
    match(stdout, / Deployment\/web +- +- +InProgress /)
    match(stdout, / [├└]─ Secret\/key +\? +\? +\? +\?\n/)
    match(stderr, /2 objects could not be read live: .*"viewer" cannot get/)
    const words = ['get', 'secrets', '-l', 'set=red', '--kubeconfig']
    const listed = await runKinfold([
      ...words,
      await plane.kubeconfigOf('viewer'),
      '--data',
      kinfold.data,
    ])
    deepEqual([listed.code, listed.stdout], [4, ''])
    match(
      listed.stderr,
      /user needs the right to list them: .*"viewer" cannot list resource "secrets"/,
    )
  })
})
