/**
 * Shows that both adapters keep their ports' promises on the real kube-apiserver.
 */
import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { clusterContract } from '../../ports/cluster.contract.ts'
import { exchangeContract } from '../../ports/exchange.contract.ts'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { front } from '../../testing/process/listening.ts'
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

describe('a kube-apiserver', { skip: skip ?? false }, () => {
  test('is watched for all of its kinds over a few connections', async () => {
    const context = loadContexts({ kubeconfig: plane.kubeconfig, contexts: [] })[0]!
    await using between = await front(Number(new URL(context.server).port))
    const server = `https://127.0.0.1:${between.port}`
    await using exchange = openUndiciExchange({ ...context, server })
    const signal = AbortSignal.timeout(60_000)
    const watch = (path: string) =>
      exchange.request(
        {
          ...{ method: 'GET', path: `${path}?watch=true`, purpose: 'watch', body: null },
          headers: { accept: 'application/json' },
        },
        signal,
      )
    const paths = await watchablePaths()
    const watches = await Promise.all(paths.map(watch))
    deepEqual(new Set(watches.map(({ status }) => status)), new Set([200]))
    ok(paths.length > 50, `${paths.length} kinds`)
    equal(between.connections, Math.ceil(paths.length / 50))
    const made = await plane.request('POST', '/api/v1/namespaces/default/secrets', {
      metadata: { name: 'over-a-shared-connection' },
    })
    equal(made.status, 201)
    let seen = ''
    for await (const chunk of watches[paths.indexOf('/api/v1/secrets')]!.body) {
      seen += Buffer.from(chunk).toString()
      if (seen.includes('over-a-shared-connection')) break
    }
    await plane.killApiserver()
    for (const { body } of watches) await rejects(Array.fromAsync(body))
    await plane.startApiserver()
    equal((await watch('/api/v1/secrets')).status, 200)
  })
})

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

/** Of all that the server serves and lets one watch. */
async function watchablePaths(): Promise<readonly string[]> {
  const get = async <T>(path: string) => (await plane.request<T>('GET', path)).body
  const { groups } = await get<Groups>('/apis')
  const roots = groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`)
  const paths: string[] = []
  for (const root of ['/api/v1', ...roots]) {
    for (const { name, verbs } of (await get<Resources>(root)).resources) {
      if (verbs.includes('watch')) paths.push(`${root}/${name}`)
    }
  }
  return paths
}

interface Groups {
  readonly groups: readonly { readonly preferredVersion: { readonly groupVersion: string } }[]
}

interface Resources {
  readonly resources: readonly { readonly name: string; readonly verbs: readonly string[] }[]
}

interface Made {
  readonly metadata: { readonly uid: string; readonly resourceVersion: string }
}
