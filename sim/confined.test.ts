/**
 * A fault in one cluster, kind or namespace affects no other: elsewhere a dependent is deleted as
 * soon after its owner as ever (I21), and also beside a record that cannot be read (I22).
 */
import { deepEqual, ok } from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import type { ApiObject } from '../adapters/memory/api-server.ts'
import { policyFor } from '../core/model/policy.ts'
import { ExchangeError } from '../ports/exchange.ts'
import { CHECKERS } from './check/checkers.ts'
import { refusal } from './fault/answer.ts'
import type { Passage } from './network.ts'
import { draw } from './options.ts'
import type { Site } from './site.ts'
import { WholeWorld } from './world.ts'

const SECOND = 1_000
const NAMESPACES = '/api/v1/namespaces'
const REPLICA_SETS = '/apis/apps/v1/namespaces/default/replicasets'
const FAMILIES = 120
/** Objects that are stuck at the fault. */
const STUCK = 100

interface Fault {
  readonly what: string
  /** Where garbage is to be stuck; by index of the cluster. */
  readonly stuckIn: readonly [cluster: 0 | 1, path: string]
  readonly hinder?: (
    world: WholeWorld,
    passage: Passage,
  ) => ReturnType<typeof refusal> | Promise<never> | undefined
  readonly begin?: (world: WholeWorld) => void
}

const faults: readonly Fault[] = [
  {
    what: 'a cluster that refuses connections',
    stuckIn: [0, `${NAMESPACES}/default/secrets`],
    hinder(world, { site }) {
      if (site !== world.sites[0]) return undefined
      throw new ExchangeError('UNREACHABLE', 'refused')
    },
  },
  {
    what: 'a cluster that answers nothing for half a minute',
    stuckIn: [0, `${NAMESPACES}/default/secrets`],
    hinder(world, { site, until }) {
      if (site !== world.sites[0]) return undefined
      return hang(world, until)
    },
  },
  {
    what: 'a kind whose conversion fails',
    stuckIn: [1, REPLICA_SETS],
    hinder: (_, { request }) =>
      request.path.includes('/replicasets') ? refusal(500, 'InternalError') : undefined,
  },
  {
    what: 'a kind behind a webhook that hangs',
    stuckIn: [1, REPLICA_SETS],
    hinder(world, { request, until }) {
      if (request.method !== 'DELETE' || !request.path.includes('/replicasets')) return undefined
      return hang(world, until)
    },
  },
  {
    what: 'a namespace in which nothing may be deleted',
    stuckIn: [1, `${NAMESPACES}/red/secrets`],
    hinder: (_, { request }) =>
      request.method === 'DELETE' && request.path.includes('/red/')
        ? refusal(403, 'Forbidden')
        : undefined,
  },
  {
    what: 'records that nobody can read',
    stuckIn: [0, `${NAMESPACES}/red/secrets`],
    begin(world) {
      const key = `${world.sites[0]?.id}/red`
      const value = Buffer.from('this is no event')
      for (let partition = 0; partition < world.broker.partitions; partition++) {
        const records = Array.from({ length: 20 }, () => ({ key, value }))
        void world.broker.log.append('events', partition, records)
      }
    },
  },
]

async function hang(world: WholeWorld, until: AbortSignal): Promise<never> {
  await world.time.sleep(30 * SECOND, until)
  until.throwIfAborted()
  throw new ExchangeError('TIMEOUT', 'no answer within 30 s')
}

suite('a dependent elsewhere goes as soon after its owner beside', () => {
  let alone: readonly number[] = []
  before(async () => {
    alone = await waits(undefined)
  })
  for (const fault of faults) {
    test(fault.what, async () => {
      const beside = await waits(fault)
      deepEqual(beside.length, alone.length)
      const [usual, now] = [p99(alone), p99(beside)]
      ok(now <= 2 * usual, `${now} ms beside it, ${usual} ms alone`)
    })
  }
})

function p99(sorted: readonly number[]): number {
  return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? Number.POSITIVE_INFINITY
}

/**
 * From the owner's departure to its dependent's in the second cluster, in milliseconds of virtual
 * time, sorted.
 */
async function waits(fault: Fault | undefined): Promise<readonly number[]> {
  const drawn = draw(1, [])
  const world = new WholeWorld(
    {
      ...drawn,
      ...{ clusters: 2, partitions: 2, shape: 'embedded', bursts: [], archive: 'off' },
      policy: policyFor('enforce', 'parity'),
    },
    CHECKERS,
  )
  const site = world.sites[1] as Site
  const garbage = fault && makeStuck(world, fault)
  world.start()
  await world.time.advance(120 * SECOND)
  fault?.begin?.(world)
  if (fault?.hinder !== undefined) {
    const { hinder } = fault
    world.network.hinder((passage) => hinder(world, passage))
  }
  garbage?.()
  await world.time.advance(5 * SECOND)
  const left = new Map<string, number>()
  const took: number[] = []
  world.afterEffects.add((at, { before: gone, after }) => {
    const since = left.get(gone?.metadata.name ?? '')
    if (at === site && after === null && since !== undefined) {
      took.push(world.time.monotonicMs() - since)
    }
  })
  for (let index = 0; index < FAMILIES; index++) {
    const owner = make(site, `${NAMESPACES}/default/configmaps`, `o${index}`)
    make(site, `${NAMESPACES}/default/secrets`, `d${index}`, owner)
    await world.time.advance(SECOND)
    left.set(`d${index}`, world.time.monotonicMs())
    site.user('DELETE', `${NAMESPACES}/default/configmaps/o${index}`, {})
    await world.time.advance(1.5 * SECOND)
  }
  await world.time.advance(60 * SECOND)
  deepEqual(world.wrongs, [])
  await world.stop()
  return took.sort((a, b) => a - b)
}

/** Returns the function that makes it garbage. */
function makeStuck(world: WholeWorld, { stuckIn: [cluster, path] }: Fault): () => void {
  const site = world.sites[cluster] as Site
  const namespace = path.split('/').at(-2) ?? ''
  site.user('POST', NAMESPACES, { metadata: { name: 'red' } })
  const owner = make(site, `${NAMESPACES}/${namespace}/configmaps`, 'stuck')
  for (let index = 0; index < STUCK; index++) make(site, path, `s${index}`, owner)
  return () => site.user('DELETE', `${NAMESPACES}/${namespace}/configmaps/stuck`, {})
}

function make(site: Site, path: string, name: string, owner?: ApiObject): ApiObject {
  const ownerReferences = owner === undefined ? [] : [referenceTo(owner)]
  site.user('POST', path, { metadata: { name, ownerReferences } })
  const [namespace = '', resource = ''] = path.split('/').slice(-2)
  const group = path.startsWith('/apis/') ? (path.split('/')[2] ?? '') : ''
  const made = site.server.object(group, resource, namespace, name)
  ok(made, `${path}/${name} was made`)
  return made
}

function referenceTo({ metadata: { name, uid } }: ApiObject): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', name, uid }
}
