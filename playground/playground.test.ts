/**
 * Shows that a playground keeps, over HTTP, the promises that Kinfold expects of a real server; and
 * that it is one of several.
 */
import { deepEqual, equal, match, notEqual, ok } from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { openCluster } from '../adapters/kubernetes/cluster.ts'
import { openUndiciExchange } from '../adapters/kubernetes/connection/exchange.ts'
import { loadContexts } from '../adapters/kubernetes/connection/kubeconfig.ts'
import { clusterContract } from '../ports/cluster.contract.ts'
import { exchangeContract } from '../ports/exchange.contract.ts'
import type { Exchange } from '../ports/exchange.ts'
import { type Playground, startPlayground } from './playground.ts'

let directory: string
let playground: Playground

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinfold-playground-'))
  playground = await startPlayground({ directory, clusters: ['north', 'south'], workload: false })
})
after(async () => {
  await playground?.[Symbol.asyncDispose]()
  await rm(directory, { recursive: true, force: true })
})

function open(): Exchange {
  const contexts = loadContexts({ kubeconfig: playground.kubeconfig, contexts: ['north'] })
  return openUndiciExchange(contexts[0]!)
}

exchangeContract('of undici, to a playground', async () => open())

clusterContract('of Kubernetes, a playground', async () => {
  const cluster = openCluster({ name: 'north', exchange: open() })
  const briefWatches = openCluster({ name: 'north', exchange: open(), watchSeconds: 3 })
  const { url, api } = playground.servers[0]!
  return {
    cluster,
    briefWatches,
    request: async (method, path, body) => {
      const headers = { 'content-type': 'application/json' }
      const sent = body === undefined ? null : JSON.stringify(body)
      const answer = await fetch(url + path, { method, headers, body: sent })
      return { status: answer.status, body: await answer.json() }
    },
    compact: async () => api.compact(),
    [Symbol.asyncDispose]: async () => {
      await cluster[Symbol.asyncDispose]()
      await briefWatches[Symbol.asyncDispose]()
    },
  }
})

test('a playground has a context per cluster, each with an identity of its own', async () => {
  const text = await readFile(playground.kubeconfig, 'utf8')
  match(text, /current-context: "north"/)
  const contexts = loadContexts({ kubeconfig: playground.kubeconfig, contexts: ['north', 'south'] })
  deepEqual(
    contexts.map(({ name }) => name),
    ['north', 'south'],
  )
  const identities = playground.servers.map(({ api }) => {
    return api.object('', 'namespaces', '', 'kube-system')?.metadata.uid
  })
  notEqual(identities[0], identities[1])
  ok(playground.servers.every(({ url }) => url.startsWith('http://127.0.0.1:')))
})

test('a playground refuses a body that is too large', async () => {
  const path = `${playground.servers[0]!.url}/api/v1/namespaces/default/configmaps`
  const answer = await fetch(path, { method: 'POST', body: 'x'.repeat(4 * 1024 * 1024) })
  equal(answer.status, 413)
})
