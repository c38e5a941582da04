/**
 * Owners in a real kube-apiserver, and objects in another one that name them: what is deleted an
 * hour after its owner was, and what never is.
 *
 * What must stay true: watchers, graph and reaper are the real ones, and the rules are read as a
 * config file has them; the log and the clock are of this process, so an hour is moved by hand, in
 * steps in which heartbeats continue.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { avroCodec } from '../../adapters/avro/codec.ts'
import { openCluster } from '../../adapters/kubernetes/cluster.ts'
import { openUndiciExchange } from '../../adapters/kubernetes/connection/exchange.ts'
import { loadContexts } from '../../adapters/kubernetes/connection/kubeconfig.ts'
import { MemoryLease } from '../../adapters/memory/lease.ts'
import { MemoryLog } from '../../adapters/memory/log.ts'
import { placeAll } from '../../adapters/memory/placement.ts'
import { MemoryStore } from '../../adapters/memory/store.ts'
import type { OwnerElsewhere } from '../../core/model/event.ts'
import { ruleDigest } from '../../core/model/rule/rule.ts'
import type { Exchange } from '../../ports/exchange.ts'
import type { Writable } from '../../ports/record/codec.ts'
import { serveEndpoint } from '../../runtime/http/endpoint.ts'
import { systemRandom } from '../../runtime/random.ts'
import { Graph } from '../../services/graph/graph.ts'
import { addDirectives } from '../../services/graph/orders/directive-http.ts'
import { HistoryIndex } from '../../services/graph/query/index/history-index.ts'
import { createQuestions } from '../../services/graph/questions.ts'
import { createReaper } from '../../services/reaper/reaper.ts'
import { createWatcher, type Watcher } from '../../services/watcher/watcher.ts'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import {
  CONFIG_MAP,
  type Made,
  make,
  makeAll,
  mergePatch,
  NAMESPACE,
  pathOf,
  remove,
} from '../../testing/process/objects.ts'
import { SettableClock } from '../../testing/settable-clock.ts'
import { graphOptionsOf, upConfig } from '../config/config.ts'

const skip = missingServers('etcd', 'kube-apiserver') ?? false
const RULE = 'far'
const PARTITIONS = 2
/** A heartbeat that is older than a minute shows nothing. */
const STEP_MS = 50_000
const HOUR_MS = 3_600_000
/** More revisions than an API server writes of its own when it starts. */
const UNDONE_WRITES = 400

const OWN = 'example.com/own'

const ATTENTIVE = { everyMs: 10 }

/** Of a bridge one sees that it asks for the end of lineage in each round. */
class SeenLog extends MemoryLog {
  rounds = 0

  override async end(...asked: Parameters<MemoryLog['end']>): Promise<bigint> {
    if (asked[0] === 'lineage') this.rounds++
    return await super.end(...asked)
  }
}

function configOf(north: string, south: string): string {
  return `
apiVersion: kinfold/v1alpha1
kind: Config
mode: enforce
preset: parity
across:
  aliases: { north: ${north}, south: ${south} }
  exports:
    - { cluster: north, kinds: [ConfigMap], namespaces: [team, swept, not-imported], to: [south] }
rules:
  - name: ${RULE}
    match: { kinds: [ConfigMap], namespaces: [team] }
    elsewhere: { cluster: north, kinds: [ConfigMap], namespaces: [team, swept, not-exported] }
`
}

suite('two clusters, and owners in one of them', { skip }, () => {
  const clock = new SettableClock()
  const codec = avroCodec()
  const log = new SeenLog({ partitions: PARTITIONS, clock })
  const stop = new AbortController()
  const running: Promise<unknown>[] = []
  const exchanges: Exchange[] = []
  const ids = new Map<ControlPlane, string>()
  let north: ControlPlane
  let south: ControlPlane
  /** What the address of north leads to. */
  let behindNorth: Exchange
  let stopNorth = new AbortController()
  let bystander: Made

  before(async () => {
    const started = ['north', 'south'].map((context) => startControlPlane({ context }))
    ;[north, south] = (await Promise.all(started)) as [ControlPlane, ControlPlane]
    for (const plane of [north, south]) {
      for (const name of ['team', 'not-imported', 'not-exported']) {
        await make(plane, { kind: NAMESPACE, name })
      }
      const { body } = await plane.request<Stored>('GET', '/api/v1/namespaces/kube-system')
      ids.set(plane, body.metadata.uid)
    }
    behindNorth = exchangeTo(north)
    bystander = await make(south, { kind: CONFIG_MAP, name: 'bystander' })
    await startServices()
    watch(south, stop.signal)
    watch(north, stopNorth.signal)
  })
  after(async () => {
    stopNorth.abort(new Error('The test is done with it.'))
    stop.abort(new Error('The test is done with it.'))
    await Promise.all(running)
    await Promise.all(exchanges.map((each) => each[Symbol.asyncDispose]()))
    await Promise.all([north, south].map((each) => each?.[Symbol.asyncDispose]()))
  })

  function exchangeTo(plane: ControlPlane): Exchange {
    const [context] = loadContexts({ kubeconfig: plane.kubeconfig, contexts: [] })
    const exchange = openUndiciExchange(context!)
    exchanges.push(exchange)
    return exchange
  }

  function clusterOf(plane: ControlPlane): ReturnType<typeof openCluster> {
    const direct = plane === north ? undefined : exchangeTo(plane)
    const exchange: Exchange = {
      request: (request, signal) => (direct ?? behindNorth).request(request, signal),
      [Symbol.asyncDispose]: async () => {},
    }
    return openCluster({ name: plane === north ? 'north' : 'south', exchange })
  }

  function watch(plane: ControlPlane, signal: AbortSignal): Watcher {
    const watcher = createWatcher({
      ...{ log, codec, clock, random: systemRandom(), lease: new MemoryLease() },
      cluster: clusterOf(plane),
      config: { kinds: ['configmaps'], heartbeatMs: 50, elsewhereMs: 20 },
    })
    // It ends by itself once its cluster is another one.
    running.push(watcher.run(signal).catch(() => undefined))
    return watcher
  }

  async function startServices(): Promise<void> {
    const config = join(north.folder, 'kinfold.yaml')
    await writeFile(config, configOf(idOf(north), idOf(south)))
    const { policy, retention } = graphOptionsOf(upConfig({ config }))
    const placement = placeAll(PARTITIONS)
    const openStore = async (): Promise<MemoryStore> => new MemoryStore()
    const graph = new Graph({ log, codec, clock, placement, openStore, retention, policy })
    running.push(graph.run('http://here', stop.signal))
    await eventually('the policy takes effect', async () => {
      return (await events()).filter(({ type }) => type === 'OrderGiven').length === PARTITIONS
    })
    const [rule] = policy.policy.rules
    ok(rule !== undefined)
    await enforce(graph, ruleDigest(rule))
    const connected = [north, south].map((plane) => ({
      id: idOf(plane),
      cluster: clusterOf(plane),
    }))
    const reaper = createReaper({
      ...{ log, codec, clock, random: systemRandom(), config: { mode: 'enforce' } },
      clusters: (id) => connected.find((each) => each.id === id),
    })
    running.push(reaper.run(stop.signal))
  }

  /** As a person orders it. */
  async function enforce(graph: Graph, digest: string): Promise<void> {
    const index = new HistoryIndex(log, codec, clock, new MemoryStore())
    const questions = createQuestions({ log, codec, clock, graph, index })
    const { url, server } = await serveEndpoint(
      {
        add: (routes) => addDirectives(routes, questions),
        ...{ version: 'test', checks: () => [], scrape: async () => '' },
      },
      { address: '127.0.0.1:0' },
    )
    const order = { verb: 'enforce-rule', subject: RULE, digest, claimed: 'ann', why: 'a test' }
    const response = await fetch(`${url}/v1/directives`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(order),
    })
    equal(response.status, 200, await response.text())
    await server.close()
  }

  function idOf(plane: ControlPlane): string {
    return ids.get(plane) ?? ''
  }

  /** An owner in north, and an object in south that names it. */
  async function pair(
    name: string,
    namespace = 'team',
    finalizers: readonly string[] = [],
  ): Promise<readonly [Made, Made]> {
    const owner = await make(north, { kind: CONFIG_MAP, name, namespace, finalizers })
    const dependent = await make(south, { kind: CONFIG_MAP, name, namespace: 'team' })
    const value = `${idOf(north)}//ConfigMap/${namespace}/${name}/${owner.uid}`
    const annotations = { 'kinfold.io/owner': value }
    await mergePatch(south, pathOf(dependent), { metadata: { annotations } })
    return [owner, dependent]
  }

  async function events(from: readonly bigint[] = [0n, 0n]): Promise<readonly Writable[]> {
    const options = { limit: 1_000_000, waitMs: 0 }
    const pages = await Promise.all(
      from.map((offset, partition) => log.read('events', partition, offset, options)),
    )
    return pages.flatMap(({ entries }) => entries.map(({ value }) => codec.decode(value!)))
  }

  async function published(owner: Made, state: OwnerElsewhere['state']): Promise<void> {
    await eventually(`${owner.name} is published as ${state}`, async () => {
      const all = (await events()).filter((event) => {
        return event.type === 'OwnerElsewhere' && event.uid === owner.uid
      })
      const last = all.at(-1)
      return (last?.type === 'OwnerElsewhere' && last.state === state) || JSON.stringify(all.length)
    })
  }

  /** Heartbeats, watches and the bridge go on meanwhile. */
  async function pass(ms: number, isNorthThere = true): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += STEP_MS) {
      clock.pass(STEP_MS)
      const labels = { at: `${log.rounds}` }
      await mergePatch(south, pathOf(bystander), { metadata: { labels } })
      // Of the first heartbeats it is not known that they came after the step.
      for (const _ of ['first', 'second']) await heard(isNorthThere ? [north, south] : [south])
    }
  }

  /** Another heartbeat of each of these, and the bridge has read it. */
  async function heard(planes: readonly ControlPlane[]): Promise<void> {
    const ends = await Promise.all([0, 1].map((each) => log.end('events', each)))
    await eventually(
      'heartbeats go on',
      async () => {
        const beats = (await events(ends)).filter(({ type }) => type === 'Heartbeat')
        return planes.every((plane) =>
          beats.some((event) => 'cluster' in event && event.cluster === idOf(plane)),
        )
      },
      ATTENTIVE,
    )
    // One round may have begun before.
    const rounds = log.rounds + 2
    await eventually('the bridge goes on', async () => log.rounds >= rounds, ATTENTIVE)
  }

  /** It keeps these alone. */
  async function release(made: Made, finalizers: readonly string[]): Promise<void> {
    await mergePatch(north, pathOf(made), { metadata: { finalizers } })
  }

  async function isThere(made: Made): Promise<boolean> {
    return (await south.request('GET', pathOf(made))).status === 200
  }

  async function gone(made: Made): Promise<void> {
    await eventually(`${made.name} is deleted`, async () => {
      await mergePatch(south, pathOf(bystander), { metadata: { labels: { at: 'end' } } })
      return !(await isThere(made))
    })
  }

  test('what follows its owner, after an hour, and what stays', async () => {
    const [deleted, follows] = await pair('deleted')
    const [orphaned, kept] = await pair('orphaned')
    const [there, beside] = await pair('there')
    const refused = [await pair('a', 'not-imported'), await pair('b', 'not-exported')]
    for (const each of [deleted, orphaned, there]) await published(each, 'there')
    await remove(north, deleted)
    await remove(north, orphaned, 'Orphan')
    for (const [owner] of refused) await remove(north, owner)
    await published(deleted, 'deleted')
    await published(orphaned, 'orphaned')
    await pass(HOUR_MS - 5 * STEP_MS)
    ok(await isThere(follows), 'it is held for an hour')
    await pass(6 * STEP_MS)
    await gone(follows)
    for (const each of [kept, beside, ...refused.map(([, dependent]) => dependent)]) {
      ok(await isThere(each), each.name)
    }
    const named = (await events()).filter(({ type }) => type === 'OwnerElsewhere')
    const uids = new Set(named.map((event) => 'uid' in event && event.uid))
    deepEqual(
      refused.map(([owner]) => uids.has(owner.uid)),
      [false, false],
    )
  })

  test('an owner with a finalizer of its own is followed, and not where it was to orphan', async () => {
    const [deleted, follows] = await pair('held', 'team', [OWN])
    const [orphaned, kept] = await pair('held-orphaned', 'team', [OWN])
    for (const each of [deleted, orphaned]) await published(each, 'there')
    await remove(north, deleted)
    await remove(north, orphaned, 'Orphan')
    // As its own controller does, and another client that takes off what is not its own.
    await release(orphaned, [OWN])
    for (const each of [deleted, orphaned]) await release(each, [])
    await published(deleted, 'deleted')
    await published(orphaned, 'orphaned')
    await pass(HOUR_MS + STEP_MS)
    await gone(follows)
    ok(await isThere(kept))
  })

  test('what leaves with its namespace has nothing deleted, be that made again', async () => {
    const namespace = await make(north, { kind: NAMESPACE, name: 'swept' })
    const [owner, dependent] = await pair('swept', 'swept')
    await published(owner, 'there')
    // No controller of namespaces runs there.
    await remove(north, namespace)
    await remove(north, owner)
    await published(owner, 'deleted')
    await pass(HOUR_MS / 2)
    const finalize = `${pathOf(namespace)}/finalize`
    const { body } = await north.request<object>('GET', pathOf(namespace))
    equal((await north.request('PUT', finalize, { ...body, spec: { finalizers: [] } })).status, 200)
    await make(north, { kind: NAMESPACE, name: 'swept' })
    await pass(HOUR_MS / 2)
    await eventually('the reaper asks for the namespace', async () => {
      const all = (await events()).filter(({ type }) => type === 'CommandSettled')
      return all.some((event) => {
        return (
          event.type === 'CommandSettled' && event.reason.includes('Namespace swept of the owner')
        )
      })
    })
    ok(await isThere(dependent))
  })

  test('a cluster that is cut off has nothing deleted until an hour after it is followed again', async () => {
    const [owner, dependent] = await pair('cut-off')
    await published(owner, 'there')
    await remove(north, owner)
    await published(owner, 'deleted')
    stopNorth.abort(new Error('It is cut off.'))
    await pass(HOUR_MS + 5 * STEP_MS, false)
    ok(await isThere(dependent))
    stopNorth = new AbortController()
    watch(north, stopNorth.signal)
    await pass(HOUR_MS - 5 * STEP_MS)
    ok(await isThere(dependent), 'an hour anew')
    await pass(6 * STEP_MS)
    await gone(dependent)
  })

  test('a cluster that was restored from a backup has nothing deleted', async () => {
    const [owner, dependent] = await pair('restored')
    await published(owner, 'there')
    const snapshot = join(north.folder, 'snapshot')
    await north.snapshot(snapshot)
    await eventually('the API server takes writes again', async () => {
      return (await make(north, { kind: CONFIG_MAP, name: 'written' })).uid !== ''
    })
    await remove(north, owner)
    await published(owner, 'deleted')
    const undone = Array.from({ length: UNDONE_WRITES }, (_, i) => `undone-${i}`)
    await makeAll(
      north,
      undone.map((name) => ({ kind: CONFIG_MAP, name })),
    )
    await north.restore(snapshot)
    await north.killApiserver()
    await north.startApiserver()
    await published(owner, 'there')
    await pass(HOUR_MS + 5 * STEP_MS)
    ok(await isThere(dependent))
    equal((await north.request('GET', pathOf(owner))).status, 200)
  })

  test('a cluster in whose place another answers has nothing deleted', async () => {
    const [owner, dependent] = await pair('replaced')
    await published(owner, 'there')
    await remove(north, owner)
    await published(owner, 'deleted')
    behindNorth = exchangeTo(south)
    await pass(HOUR_MS + 5 * STEP_MS, false)
    ok(await isThere(dependent))
  })
})

interface Stored {
  readonly metadata: { readonly uid: string }
}
