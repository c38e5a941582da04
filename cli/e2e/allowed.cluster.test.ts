/**
 * `--kinds allowed` on a real API server: what the account may list and watch is watched, a kind
 * that is defined later too, and nothing else is known or judged (C16).
 */
import { equal, match, ok } from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { kubeconfigOfAccount, kubectlEach } from '../../testing/cluster/account.ts'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { KinfoldProcess } from '../../testing/process/kinfold-process.ts'

/** May see ConfigMaps, definitions and all of a group that has no kinds yet; no Secrets. */
const ACCOUNT = `
apiVersion: v1
kind: ServiceAccount
metadata: { name: seer, namespace: default }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: seer }
rules:
- { apiGroups: [''], resources: [configmaps, namespaces], verbs: [get, list, watch] }
- { apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [get, list, watch] }
- { apiGroups: [apiregistration.k8s.io], resources: [apiservices], verbs: [get, list, watch] }
- { apiGroups: [x.io], resources: ['*'], verbs: [get, list, watch] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: seer }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: seer }
subjects: [{ kind: ServiceAccount, name: seer, namespace: default }]
`

function definition(group: string, kind: string): string {
  const plural = `${kind.toLowerCase()}s`
  return `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: ${plural}.${group} }
spec:
  group: ${group}
  scope: Namespaced
  names: { plural: ${plural}, singular: ${kind.toLowerCase()}, kind: ${kind}, listKind: ${kind}List }
  versions:
  - { name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object } } }
`
}

const skip = missingServers('etcd', 'kube-apiserver', 'kubectl')

suite('kinds that the account may see', { skip: skip ?? false }, () => {
  let folder: string
  let plane: ControlPlane
  let kubeconfig: string
  let kinfold: KinfoldProcess

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kinfold-allowed-'))
    plane = await startControlPlane()
    await kubectlEach(plane, 'apply', ACCOUNT)
    kubeconfig = await kubeconfigOfAccount(plane, 'default', 'seer')
    const flags = ['--mode', 'observe', '--kinds', 'allowed']
    kinfold = await KinfoldProcess.start({ kubeconfig, data: join(folder, 'kinfold'), flags })
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  const ask = (...args: readonly string[]) => runKinfold([...args, '--data', kinfold.data])

  test('doctor and status name what it may not see, and nothing is amiss', async () => {
    const doctor = await ask(
      ...['doctor', '--service', 'watcher', '--kubeconfig', kubeconfig, '--kinds', 'allowed'],
    )
    match(doctor.stdout, /not watched.*secrets.*: this account may not list and watch it/)
    match(doctor.stdout, /\b4 of 4 kinds have all permissions/)
    const status = await ask('status')
    equal(status.code, 0, status.stdout)
    match(status.stdout, /\n\S+ +observe .* 4\/4 /)
    match(status.stdout, /\nNot watched in .*secrets.*: this account may not list and watch it/)
  })

  test('a kind that is defined after the start is watched without a restart, where the account may', async () => {
    await kubectlEach(
      plane,
      'apply',
      `${definition('x.io', 'Widget')}---${definition('y.io', 'Gadget')}`,
    )
    await eventually('the new kind is served', async () => {
      const path = '/apis/x.io/v1/namespaces/default/widgets'
      const { status } = await plane.request('POST', path, {
        ...{ apiVersion: 'x.io/v1', kind: 'Widget', metadata: { name: 'w' } },
      })
      return status === 201 || `answered ${status}`
    })
    await eventually('its object is known', async () => {
      const { code, stdout, stderr } = await ask('get', 'widgets', '-n', 'default')
      return (code === 0 && stdout.includes('widget.x.io/w ')) || stdout + stderr
    })
    const gadgets = await ask('get', 'gadgets', '-n', 'default')
    match(gadgets.stdout + gadgets.stderr, /not watched/)
  })

  test('an owner of a kind that is not watched is never absent', async () => {
    const owner = await plane.request<{ metadata: { uid: string } }>(
      ...(['POST', '/api/v1/namespaces/default/secrets'] as const),
      { metadata: { name: 'hidden' } },
    )
    const ownerReferences = [
      { apiVersion: 'v1', kind: 'Secret', name: 'hidden', uid: owner.body.metadata.uid },
    ]
    await plane.request('POST', '/api/v1/namespaces/default/configmaps', {
      metadata: { name: 'kept', ownerReferences },
    })
    await eventually('the dependent is known', async () => {
      const { code, stdout, stderr } = await ask('why', 'cm/kept', '-n', 'default', '-o', 'json')
      if (code !== 0) return stderr
      const { verdict } = JSON.parse(stdout) as { verdict: { type: string } | null }
      ok(verdict === null || !/^delete/i.test(verdict.type), stdout)
      return verdict !== null || stdout
    })
  })
})
