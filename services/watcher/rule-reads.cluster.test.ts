/**
 * Shows that what rules read of Jobs arrives on the log, from a real kube-apiserver, and as what
 * objects are asked for.
 *
 * What must stay true: the watcher, its adapter and the codec are the real ones; the log and the
 * lease are in memory.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { avroCodec } from '../../adapters/avro/codec.ts'
import { openCluster } from '../../adapters/kubernetes/cluster.ts'
import { openUndiciExchange } from '../../adapters/kubernetes/connection/exchange.ts'
import { loadContexts } from '../../adapters/kubernetes/connection/kubeconfig.ts'
import { MemoryLease } from '../../adapters/memory/lease.ts'
import { MemoryLog } from '../../adapters/memory/log.ts'
import type { Event } from '../../core/model/event.ts'
import type { ObjectMeta } from '../../core/model/object.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import type { Exchange } from '../../ports/exchange.ts'
import { RULE_BOOK_KEY } from '../../ports/record/control-key.ts'
import { systemClock } from '../../runtime/clock.ts'
import { systemRandom } from '../../runtime/random.ts'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { ruleIn } from '../../testing/model/rule-notation.ts'
import { mergePatch } from '../../testing/process/objects.ts'
import { createWatcher, type Watcher } from './watcher.ts'

const KINDS = ['jobs.batch', 'configmaps', 'secrets']
const JOBS = '/apis/batch/v1/namespaces/default/jobs'
const COMPLETED = 'status.conditions[type=Complete].lastTransitionTime'
const TTL = 'spec.ttlSecondsAfterFinished'
const AT = '2026-01-01T00:00:00Z'

const skip = missingServers('etcd', 'kube-apiserver')

suite('a watcher of a kube-apiserver', { skip: skip ?? false }, () => {
  const codec = avroCodec()
  const clock = systemClock()
  const log = new MemoryLog({ partitions: 1, clock })
  const stop = new AbortController()
  const accepts = new Map<string, Set<string>>()
  let plane: ControlPlane
  let watcher: Watcher
  let running: Promise<void>

  before(async () => {
    plane = await startControlPlane()
    const [context] = loadContexts({ kubeconfig: plane.kubeconfig, contexts: [] })
    const exchange = seen(openUndiciExchange(context!), accepts)
    watcher = createWatcher({
      ...{ log, codec, clock, random: systemRandom(), lease: new MemoryLease() },
      cluster: openCluster({ name: 'test', exchange }),
      config: { kinds: KINDS },
    })
    running = watcher.run(stop.signal)
    await synced()
  })
  after(async () => {
    stop.abort(new Error('The test is done with it.'))
    await running
    await plane?.[Symbol.asyncDispose]()
  })

  const synced = () =>
    eventually('all kinds are watched', async () => {
      const { connected, kinds, reason } = watcher.status()
      // It is connected before discovery has answered, so before there are any.
      const isAll = kinds.length === KINDS.length
      return (connected && isAll && kinds.every(({ state }) => state === 'watching')) || reason
    })
  const published = async (name: string): Promise<ObjectMeta | undefined> => {
    const page = await log.read('events', 0, 0n, { limit: 100_000, waitMs: 0 })
    const last = page.entries
      .map(({ value }) => codec.decode(value!) as Event)
      .findLast((event) => 'object' in event && event.object?.name === name)
    return last !== undefined && 'object' in last ? (last.object ?? undefined) : undefined
  }
  const rules = async (...all: readonly Rule[]): Promise<void> => {
    const value = codec.encode({ type: 'RuleBook', rules: all, who: 'ann' })
    await log.append('orders', 0, [{ key: RULE_BOOK_KEY, value }])
  }

  test('publishes what a rule that is added reads of Jobs, and what then becomes of that', async () => {
    const containers = [{ name: 'a', image: 'b' }]
    const template = { spec: { containers, restartPolicy: 'Never' } }
    const spec = { ttlSecondsAfterFinished: 100, template }
    const made = await plane.request('POST', JOBS, { metadata: { name: 'one' }, spec })
    equal(made.status, 201)
    await plane.request('POST', '/api/v1/namespaces/default/configmaps', {
      metadata: { name: 'map' },
    })
    await eventually('they are published', async () => {
      const [job, map] = [await published('one'), await published('map')]
      return job?.projected === null && map?.projected === null
    })
    deepEqual(accepts.get('LIST jobs'), new Set(['metadata']))
    accepts.clear()

    await rules(rule('Job', TTL, COMPLETED))
    const ttl = { key: TTL, value: '100' }
    await eventually('the Job is published with its fields', async () => {
      const { projected } = (await published('one')) ?? {}
      return projected != null && projected.fields[0]?.value === '100'
    })
    deepEqual((await published('one'))?.projected?.fields, [ttl])
    await synced()
    // Neither was listed again.
    deepEqual(
      [...accepts.keys()].filter((key) => /^LIST (configmaps|secrets)/.test(key)),
      [],
    )
    deepEqual(accepts.get('LIST jobs'), new Set(['whole']))
    deepEqual(accepts.get('WATCH jobs'), new Set(['whole']))
    deepEqual(accepts.get('WATCH configmaps'), new Set(['metadata']))
    deepEqual(accepts.get('WATCH secrets'), new Set(['metadata']))

    const condition = { status: 'True', lastTransitionTime: AT, lastProbeTime: AT }
    const conditions = ['SuccessCriteriaMet', 'Complete'].map((type) => ({ type, ...condition }))
    const status = { startTime: AT, completionTime: AT, succeeded: 1, conditions }
    await mergePatch(plane, `${JOBS}/one/status`, { status })
    await eventually('its end is published', async () => {
      const { projected } = (await published('one')) ?? {}
      return projected?.fields.length === 2 || JSON.stringify(projected)
    })
    deepEqual((await published('one'))?.projected?.fields, [ttl, { key: COMPLETED, value: AT }])
    equal((await published('map'))?.projected, null)
  })

  test('publishes of bootstrap tokens when they expire, and nothing else of a Secret', async () => {
    const canary = 'do-not-publish'
    const stringData = { expiration: AT, password: canary }
    for (const [name, type] of [
      ['token', 'bootstrap.kubernetes.io/token'],
      ['opaque', 'Opaque'],
    ]) {
      const body = { metadata: { name }, type, stringData }
      const path = '/api/v1/namespaces/default/secrets'
      equal((await plane.request('POST', path, body)).status, 201)
    }
    await rules(rule('Secret', 'data.expiration:base64', 'type'))
    const fieldsOf = async (name: string) =>
      (await published(name))?.projected?.fields.map(({ value }) => value)
    await eventually('they are published with what may be read', async () => {
      return (await fieldsOf('token')) !== undefined && (await fieldsOf('opaque')) !== undefined
    })
    deepEqual(await fieldsOf('token'), [AT, 'bootstrap.kubernetes.io/token'])
    deepEqual(await fieldsOf('opaque'), ['Opaque'])
    const { entries } = await log.read('events', 0, 0n, { limit: 100_000, waitMs: 0 })
    const encoded = Buffer.from(canary).toString('base64')
    ok(entries.length > 0)
    for (const { value } of entries) {
      for (const text of [canary, encoded]) equal(Buffer.from(value!).includes(text), false)
    }
  })
})

function rule(kind: 'Job' | 'Secret', ...fields: readonly string[]): Rule {
  const group = kind === 'Job' ? 'batch' : ''
  return {
    ...ruleIn('one cm 0'),
    match: {
      kinds: [{ group, kind }],
      ...{ namespaces: [], exceptNamespaces: [], labels: [], annotations: [] },
      ...{ expression: null, owner: null, terminating: false },
    },
    cases: fields.map((key) => ({
      fields: [{ key, operator: 'exists', values: [] }],
      since: { type: 'created' },
      after: { type: 'fixed', ms: 0 },
    })),
  }
}

/** Notes as what objects were asked for, by request. */
function seen(exchange: Exchange, accepts: Map<string, Set<string>>): Exchange {
  return {
    async request(request, signal) {
      const url = new URL(request.path, 'http://test')
      const verb = url.searchParams.has('watch') ? 'WATCH' : 'LIST'
      // A check of the version lists one.
      const key = `${url.searchParams.get('limit') === '1' ? 'CHECK' : verb} ${url.pathname.split('/').at(-1)}`
      const isBare = request.headers['accept']?.includes('PartialObjectMetadata') === true
      const all = accepts.get(key) ?? new Set()
      accepts.set(key, all.add(isBare ? 'metadata' : 'whole'))
      return await exchange.request(request, signal)
    },
    [Symbol.asyncDispose]: () => exchange[Symbol.asyncDispose](),
  }
}
