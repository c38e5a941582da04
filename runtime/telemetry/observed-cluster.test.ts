/**
 * An observed cluster keeps the contract, and reports each call about one object as it was
 * answered.
 */
import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { openCluster } from '../../adapters/kubernetes/cluster.ts'
import { ApiServer } from '../../adapters/memory/api-server.ts'
import { memoryExchange } from '../../adapters/memory/exchange.ts'
import { clusterContract } from '../../ports/cluster.contract.ts'
import type { ExchangeRequest } from '../../ports/exchange.ts'
import { systemClock } from '../clock.ts'
import { systemRandom } from '../random.ts'
import { type ObservedCall, observedCluster } from './observed-cluster.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
const TARGET = {
  ...{ group: '', version: 'v1', kind: 'ConfigMap', resource: 'configmaps' },
  ...{ namespace: 'default', name: 'a', uid: 'u', resourceVersion: '1', aggregated: false },
}

clusterContract('of Kubernetes, observed', async () => {
  const server = newServer()
  const cluster = observedCluster(over(server), performance.now.bind(performance), () => {})
  return {
    cluster,
    request: async (method, path, body) => {
      const asked = METHODS.find((it) => it === method)
      ok(asked !== undefined)
      const headers = { accept: 'application/json', 'content-type': 'application/json' }
      const sent = body === undefined ? null : JSON.stringify(body)
      const request: ExchangeRequest = {
        ...{ method: asked, path, headers, body: sent },
        purpose: 'write',
      }
      const answer = await server.handle(request, AbortSignal.timeout(10_000))
      const chunks = await Array.fromAsync(answer.body)
      return { status: answer.status, body: JSON.parse(Buffer.concat(chunks).toString()) }
    },
    compact: async () => server.compact(),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  }
})

test('each call is reported once, with what the answer says and how long it took', async () => {
  const calls: ObservedCall[] = []
  let nowMs = 0
  const cluster = observedCluster(
    over(newServer()),
    () => (nowMs += 5),
    (call) => calls.push(call),
  )
  const signal = AbortSignal.timeout(10_000)
  await cluster.get(TARGET, signal, undefined, '0-1-0')
  const guard = { uid: 'u', resourceVersion: '1', propagationPolicy: 'Background' } as const
  await cluster.delete(TARGET, { ...guard, dryRun: false, auditId: '0-2-0' }, signal)
  const about = { cluster: 'memory', group: '', resource: 'configmaps', tookMs: 5, code: 404 }
  deepEqual(calls, [
    { ...about, verb: 'GET', outcome: 'Absent', auditId: '0-1-0' },
    { ...about, verb: 'DELETE', outcome: 'Absent', auditId: '0-2-0' },
  ])
})

test('a call that breaks is reported as unknown, and one that its caller gave up not at all', async () => {
  const calls: ObservedCall[] = []
  const cluster = observedCluster(
    over(newServer()),
    () => 0,
    (call) => calls.push(call),
  )
  await cluster[Symbol.asyncDispose]()
  const answer = await cluster.get(TARGET, AbortSignal.timeout(10_000))
  equal(answer.type, 'Unknown')
  deepEqual(
    calls.map(({ outcome, code }) => [outcome, code]),
    [['Unknown', null]],
  )
  const enough = new Error('enough')
  await rejects(cluster.get(TARGET, AbortSignal.abort(enough)), enough)
  equal(calls.length, 1, 'what its caller gave up says nothing about the cluster')
})

function newServer(): ApiServer {
  return new ApiServer({ clock: systemClock(), random: systemRandom(), name: 'memory' })
}

function over(server: ApiServer): ReturnType<typeof openCluster> {
  return openCluster({ name: 'memory', exchange: memoryExchange(server) })
}
