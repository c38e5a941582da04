/** `kinfold doctor` on a real API server names what an account may not do, kind by kind. */
import { doesNotMatch, equal, match } from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { missingServers } from '../testing/cluster/binaries.ts'
import { startControlPlane } from '../testing/cluster/control-plane.ts'
import { eventually } from '../testing/eventually.ts'
import { runKinfold } from '../testing/kinfold-command.ts'

const skip = missingServers('etcd', 'kube-apiserver')
const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const ALL = ['get', 'list', 'watch', 'delete', 'patch']

test('missing permissions are named kind by kind, with exit code 1', {
  skip: skip ?? false,
}, async (t) => {
  await using plane = await startControlPlane({ users: [{ name: 'poor' }] })
  const data = mkdtempSync(join(tmpdir(), 'kinfold-doctor-'))
  t.after(() => rmSync(data, { recursive: true, force: true }))
  const rules = [
    { apiGroups: [''], resources: ['configmaps'], verbs: ALL },
    { apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch'] },
    { apiGroups: [''], resources: ['namespaces'], verbs: ['get'] },
  ]
  const metadata = { name: 'poor' }
  const subjects = [{ kind: 'User', name: 'poor', apiGroup: 'rbac.authorization.k8s.io' }]
  const roleRef = { kind: 'ClusterRole', name: 'poor', apiGroup: 'rbac.authorization.k8s.io' }
  const role = await plane.request('POST', `${RBAC}/clusterroles`, { metadata, rules })
  equal(role.status, 201)
  const binding = { metadata, subjects, roleRef }
  equal((await plane.request('POST', `${RBAC}/clusterrolebindings`, binding)).status, 201)

  // The authorizer follows bindings by a watch of its own.
  const resourceAttributes = { verb: 'get', resource: 'namespaces', name: 'kube-system' }
  const review = { spec: { user: 'poor', resourceAttributes } }
  await eventually('the binding is in force', async () => {
    const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
    const answer = await plane.request<{ status: { allowed: boolean } }>('POST', path, review)
    return answer.body.status.allowed
  })

  const kubeconfig = await plane.kubeconfigOf('poor')
  const poor = await runKinfold(['doctor', '--kubeconfig', kubeconfig, '--data', data])
  equal(poor.code, 1, poor.stdout + poor.stderr)
  match(poor.stdout, /: pods: may not get, delete, patch; grant these in a ClusterRole/)
  match(poor.stdout, /: secrets: may not get, list, watch, delete, patch/)
  doesNotMatch(poor.stdout, /: configmaps: may not/)
  match(poor.stdout, /another API server .* is not known, .* grant list on apiservices/)

  const admin = await runKinfold(['doctor', '--kubeconfig', plane.kubeconfig, '--data', data])
  equal(admin.code, 0, admin.stdout + admin.stderr)
  doesNotMatch(admin.stdout, /may not|not known/)
})
