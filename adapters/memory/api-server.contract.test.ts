/**
 * Shows that the in-memory API server keeps the promises that the Cluster port makes of a real one,
 * seen through the same adapter.
 */
import { ok } from 'node:assert/strict'
import { clusterContract } from '../../ports/cluster.contract.ts'
import type { ExchangeRequest } from '../../ports/exchange.ts'
import { systemClock } from '../../runtime/clock.ts'
import { systemRandom } from '../../runtime/random.ts'
import { openCluster } from '../kubernetes/cluster.ts'
import { ApiServer } from './api-server.ts'
import { memoryExchange } from './exchange.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

clusterContract('of Kubernetes, an API server in memory', async () => {
  const server = new ApiServer({ clock: systemClock(), random: systemRandom(), name: 'memory' })
  const cluster = openCluster({ name: 'memory', exchange: memoryExchange(server) })
  const exchange = memoryExchange(server)
  const briefWatches = openCluster({ name: 'memory', exchange, watchSeconds: 3 })
  return {
    cluster,
    briefWatches,
    request: async (method, path, body) => {
      const asked = METHODS.find((it) => it === method)
      ok(asked !== undefined)
      const headers = { accept: 'application/json', 'content-type': 'application/json' }
      const sent = body === undefined ? null : JSON.stringify(body)
      const request: ExchangeRequest = {
        ...{ method: asked, path, headers },
        body: sent,
        purpose: 'write',
      }
      const answer = await server.handle(request, AbortSignal.timeout(10_000))
      const chunks = await Array.fromAsync(answer.body)
      return { status: answer.status, body: JSON.parse(Buffer.concat(chunks).toString()) }
    },
    compact: async () => server.compact(),
    [Symbol.asyncDispose]: async () => {
      await cluster[Symbol.asyncDispose]()
      await briefWatches[Symbol.asyncDispose]()
    },
  }
})
