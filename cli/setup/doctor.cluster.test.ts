/** `kinfold doctor` on a real API server names what an account may not do, kind by kind. */
import { doesNotMatch, equal, match } from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { kubectlEach } from '../../testing/cluster/account.ts'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { startControlPlane } from '../../testing/cluster/control-plane.ts'
import { ALL_VERBS, bindRole } from '../../testing/cluster/role.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'

const DEFINITIONS = new URL('../../deploy/crds/cleanup-policies.yaml', import.meta.url)
const skip = missingServers('etcd', 'kube-apiserver', 'kubectl')

test('missing permissions are named kind by kind, with exit code 1', {
  skip: skip ?? false,
}, async (t) => {
  await using plane = await startControlPlane({ users: [{ name: 'poor' }, { name: 'reaping' }] })
  const data = mkdtempSync(join(tmpdir(), 'kinfold-doctor-'))
  t.after(() => rmSync(data, { recursive: true, force: true }))
  await bindRole(plane, 'poor', [
    { apiGroups: [''], resources: ['configmaps'], verbs: ALL_VERBS },
    { apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch'] },
  ])

  const kubeconfig = await plane.kubeconfigOf('poor')
  const poor = await runKinfold(['doctor', '--kubeconfig', kubeconfig, '--data', data])
  equal(poor.code, 1, poor.stdout + poor.stderr)
  match(poor.stdout, /: pods: may not get, delete, patch; grant these in a ClusterRole/)
  match(poor.stdout, /: secrets: may not get, list, watch, delete, patch/)
  doesNotMatch(poor.stdout, /: configmaps: may not/)
  match(
    poor.stdout,
    /\[!\] test: lease kube-system\/kinfold-data: may not get, create, update; .* is not noticed: grant these on leases\.coordination\.k8s\.io of that name/,
  )
  match(poor.stdout, /another API server .* is not known, .* grant list on apiservices/)

  const admin = await runKinfold(['doctor', '--kubeconfig', plane.kubeconfig, '--data', data])
  equal(admin.code, 0, admin.stdout + admin.stderr)
  match(
    admin.stdout,
    /lease kube-system\/kinfold-data: a second process on a copied data directory is noticed/,
  )
  doesNotMatch(admin.stdout, /may not|not known/)

  // For rules: by their config, and by the definitions of policies.
  await kubectlEach(plane, 'apply', readFileSync(DEFINITIONS, 'utf8'))
  const ruled = join(data, 'rules.yaml')
  writeFileSync(
    ruled,
    'apiVersion: kinfold/v1alpha1\nkind: Config\nkinds: [pods]\nrules: [{ builtin: orphaned-pods }]\n',
  )
  const withRules = ['doctor', '--config', ruled, '--data', data]
  const unruled = await runKinfold([...withRules, '--kubeconfig', kubeconfig])
  equal(unruled.code, 1, unruled.stdout + unruled.stderr)
  match(unruled.stdout, /\[!\] test: rule orphaned-pods: Node: not watched/)
  match(
    unruled.stdout,
    /\[-\] test: pods\/status: may not patch; orphaned-pods, orphaned-pods-term/,
  )
  match(
    unruled.stdout,
    /\[!\] test: policies of the cluster: may not get cleanuppolicies\.kinfold\.dev, .* patch cleanuppolicies\/status\.kinfold\.dev, .* impersonate serviceaccounts;/,
  )
  const able = await runKinfold([...withRules, '--kubeconfig', plane.kubeconfig])
  match(able.stdout, /\[\+\] test: rules may set Pods to Failed/)
  match(able.stdout, /\[\+\] test: policies of the cluster: all rights are there/)

  // Of the kinds and the service that are meant, and of no others.
  await bindRole(plane, 'reaping', [
    { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'delete', 'patch'] },
    { apiGroups: [''], resources: ['events'], verbs: ['create', 'get'] },
  ])
  const config = join(data, 'kinfold.yaml')
  const reaping = await plane.kubeconfigOf('reaping')
  writeFileSync(
    config,
    `apiVersion: kinfold/v1alpha1\nkind: Config\nkinds: [configmaps]\nkubeconfig: ${reaping}\ndata: ${data}\n`,
  )
  const asked = async (...flags: readonly string[]) =>
    await runKinfold(['doctor', '--kubeconfig', reaping, '--data', data, ...flags])
  for (const reaper of [
    await asked('--service', 'reaper', '--kinds', 'configmaps'),
    await runKinfold(['doctor', '--service', 'reaper', '--config', config]),
  ]) {
    equal(reaper.code, 0, reaper.stdout + reaper.stderr)
    match(reaper.stdout, /1 of 1 kinds have all permissions/)
    doesNotMatch(reaper.stdout, /lease|another API server/)
  }
  const watcher = await asked('--service', 'watcher', '--kinds', 'configmaps,gadgets.example.com')
  equal(watcher.code, 1, watcher.stdout + watcher.stderr)
  match(watcher.stdout, /\[-\] test: configmaps: may not list, watch; grant/)
  match(watcher.stdout, /\[-\] test: gadgets\.example\.com: is listed, and not served/)
  match(watcher.stdout, /\[-\] test: lease kube-system\/kinfold-watcher: may not/)
  doesNotMatch(watcher.stdout, /lock:|events:/)
})
