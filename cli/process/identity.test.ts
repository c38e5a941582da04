/**
 * Whether clusters that were met are still who they were, asked by a process that acts upon them;
 * the servers are in memory, and time is moved by hand.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { openCluster } from '../../adapters/kubernetes/cluster.ts'
import { ApiServer } from '../../adapters/memory/api-server.ts'
import { ManualClock } from '../../adapters/memory/clock.ts'
import { memoryExchange } from '../../adapters/memory/exchange.ts'
import type { Cluster } from '../../ports/cluster.ts'
import type { Exchange } from '../../ports/exchange.ts'
import { identifySome, watchIdentities } from './identity.ts'

const CHECK_MS = 30_000

/** Two names, and what each of them leads to: a server's number, or nowhere. */
class Names {
  readonly clock = new ManualClock()
  readonly lead: (0 | 1 | undefined)[] = [0, 1]
  readonly lines: string[] = []
  readonly clusters: readonly Cluster[] = ['blue', 'red'].map((name, index) =>
    openCluster({ name, exchange: this.#exchangeOf(index) }),
  )
  readonly #servers = ['first', 'second'].map((name) =>
    memoryExchange(new ApiServer({ clock: this.clock, random: { next: Math.random }, name })),
  )
  readonly #stop = new AbortController()

  async watch(clusters: readonly Cluster[] = this.clusters) {
    const known = await identifySome(clusters, this.#stop.signal)
    const log = (_: string, message: string): unknown => this.lines.push(message)
    const identities = watchIdentities(known, this.clock, { log: log as never })
    const running = identities.run(this.#stop.signal)
    const stop = async (): Promise<void> => {
      this.#stop.abort()
      await running
    }
    return { failures: () => clusters.map((each) => identities.failure(each)), stop }
  }

  #exchangeOf(index: number): Exchange {
    const target = (): Exchange => {
      const lead = this.lead[index]
      if (lead === undefined) throw new Error('no such host')
      return this.#servers[lead]!
    }
    return {
      request: async (request, signal) => await target().request(request, signal),
      [Symbol.asyncDispose]: async () => undefined,
    }
  }
}

test('says which cluster another one answers for, until it is itself again', async () => {
  const names = new Names()
  const watched = await names.watch()
  await names.clock.advance(CHECK_MS)
  deepEqual(watched.failures(), ['', ''])

  names.lead[1] = 0
  await names.clock.advance(CHECK_MS)
  const [blue, red] = watched.failures()
  equal(blue, '')
  match(red ?? '', /^"red" now answers as cluster .* nothing is sent there: correct the address/)

  await names.clock.advance(3 * CHECK_MS)
  names.lead[1] = 1
  await names.clock.advance(CHECK_MS)
  deepEqual(watched.failures(), ['', ''])
  deepEqual(names.lines, ['address leads to another cluster', 'cluster is the same again'])
  await watched.stop()
})

test('names each of two that changed places, and does not take one for the other (F30)', async () => {
  const names = new Names()
  const watched = await names.watch()
  names.lead.reverse()
  await names.clock.advance(2 * CHECK_MS)
  deepEqual(
    watched.failures().map((each) => each.match(/^"(.*)" now answers as cluster/)?.[1]),
    ['blue', 'red'],
  )
  await watched.stop()
})

test('takes one that does not answer for who it was', async () => {
  const names = new Names()
  const watched = await names.watch()
  names.lead.fill(undefined)
  await names.clock.advance(5 * CHECK_MS)
  deepEqual(watched.failures(), ['', ''])

  names.lead[0] = 1
  await names.clock.advance(CHECK_MS)
  names.lead[0] = undefined
  await names.clock.advance(5 * CHECK_MS)
  match(watched.failures()[0] ?? '', /^"blue" now answers as cluster/)
  await watched.stop()
})
