/**
 * `kinfold up` with an account that may not see everything, on a real API server: readiness names
 * each kind that it may not, one by one.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { startControlPlane } from '../../testing/cluster/control-plane.ts'
import { ALL_VERBS, bindRole } from '../../testing/cluster/role.ts'
import { eventually } from '../../testing/eventually.ts'
import { KinfoldProcess } from '../../testing/process/kinfold-process.ts'

const skip = missingServers('etcd', 'kube-apiserver')

test('readiness names the kinds that may not be seen, one by one', {
  skip: skip ?? false,
}, async (t) => {
  await using plane = await startControlPlane({ users: [{ name: 'poor' }] })
  const folder = mkdtempSync(join(tmpdir(), 'kinfold-poor-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  await bindRole(plane, 'poor', [
    { apiGroups: [''], resources: ['configmaps', 'secrets'], verbs: ALL_VERBS },
    { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] },
  ])
  const kubeconfig = await plane.kubeconfigOf('poor')
  await using kinfold = await KinfoldProcess.spawn({ kubeconfig, data: join(folder, 'data') })
  await eventually('what may be seen is synced, and what may not be watched is told', async () => {
    const lines = await kinfold.readiness()
    const isTold = lines.some((line) => line.includes('cannot watch resource'))
    // Kinds are listed a few at a time.
    const isAnswered = !lines.some((line) => line.endsWith('failed: listing'))
    return isTold && isAnswered && lines.some((line) => line === '[+]synced/test/secrets ok')
  })

  const lines = await kinfold.readiness()
  const failing = lines.filter((line) => line.startsWith('[-]'))
  const named = (resource: string): string =>
    failing.find((line) => line.includes(`/test/${resource} failed`)) ?? ''
  equal(await kinfold.isReady(), false)
  for (const resource of [
    'services',
    'deployments.apps',
    'jobs.batch',
    'apiservices.apiregistration.k8s.io',
  ]) {
    match(named(resource), /cannot list resource/, resource)
  }
  match(named('pods'), /cannot watch resource/)
  deepEqual([named('configmaps'), named('secrets')], ['', ''])
  ok(
    failing.every((line) => /may not (list|watch)|synced/.test(line)),
    failing.join('\n'),
  )
})
