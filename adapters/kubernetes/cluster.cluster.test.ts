/**
 * Shows that both adapters keep their ports' promises on the real kube-apiserver.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { clusterContract } from '../../ports/cluster.contract.ts'
import { exchangeContract } from '../../ports/exchange.contract.ts'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { openCluster } from './cluster.ts'
import { openUndiciExchange } from './connection/exchange.ts'
import { loadContexts } from './connection/kubeconfig.ts'

const skip = missingServers('etcd', 'kube-apiserver')

let plane: ControlPlane

before(async () => {
  if (skip !== undefined) return
  // Watches of ConfigMaps go to etcd itself, so that a compaction reaches them.
  plane = await startControlPlane({ apiserverArgs: ['--watch-cache-sizes=configmaps#0'] })
})
after(() => plane?.[Symbol.asyncDispose]())

const open = () =>
  openUndiciExchange(loadContexts({ kubeconfig: plane.kubeconfig, contexts: [] })[0]!)

exchangeContract('of undici, to a kube-apiserver', async () => open(), { skip })

clusterContract(
  'of Kubernetes, a kube-apiserver',
  async () => {
    const cluster = openCluster({ name: 'test', exchange: open() })
    const briefWatches = openCluster({ name: 'test', exchange: open(), watchSeconds: 6 })
    return {
      cluster,
      briefWatches,
      request: (method, path, body) => plane.request(method, path, body),
      compact: () => plane.compact(),
      [Symbol.asyncDispose]: async () => {
        await cluster[Symbol.asyncDispose]()
        await briefWatches[Symbol.asyncDispose]()
      },
    }
  },
  { skip },
)

describe('a kube-apiserver answers a DELETE with the object', { skip: skip ?? false }, () => {
  const containers = [{ name: 'a', image: 'b' }]
  const rows: [string, string, string, object, string][] = [
    ['that is gone: a pod on no node', 'pods', 'Pod', { spec: { containers } }, 'Removed'],
    ['that is gone: a service account', 'serviceaccounts', 'ServiceAccount', {}, 'Removed'],
    [
      'that has its time of grace: a pod on a node',
      ...(['pods', 'Pod'] as const),
      { spec: { containers, nodeName: 'nowhere' } },
      'Changed',
    ],
  ]
  for (const [what, resource, kind, body, expected] of rows) {
    test(what, async () => {
      await using cluster = openCluster({ name: 'test', exchange: open() })
      const name = `deleted-${expected.toLowerCase()}`
      const path = `/api/v1/namespaces/default/${resource}`
      const metadata = { name }
      const made = await plane.request<Made>('POST', path, { metadata, ...body })
      equal(made.status, 201)
      const { uid, resourceVersion } = made.body.metadata
      const target = {
        ...{ group: '', version: 'v1', kind, resource, namespace: 'default', name },
        ...{ uid, resourceVersion, aggregated: false },
      }
      const options = {
        uid,
        resourceVersion,
        propagationPolicy: 'Background',
        dryRun: false,
      } as const
      const answer = await cluster.delete(target, options, AbortSignal.timeout(30_000))
      const after = await cluster.get(target, AbortSignal.timeout(30_000))
      deepEqual([answer.type, after.type], [expected, expected === 'Removed' ? 'Absent' : 'Found'])
    })
  }
})

interface Made {
  readonly metadata: { readonly uid: string; readonly resourceVersion: string }
}
