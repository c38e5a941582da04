/**
 * Every checker of single effects objects to the effects that it checks for, if a simulated server
 * accepts them, and to no right effect.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { avroCodec } from '../adapters/avro/codec.ts'
import type { ApiObject } from '../adapters/memory/api-server.ts'
import { emptyOutcome } from '../core/graph/outcome.ts'
import type { ObjectDeleted } from '../core/model/event.ts'
import { type Policy, policyFor } from '../core/model/policy.ts'
import type { ExchangeRequest } from '../ports/exchange.ts'
import { PROTECT_POLICY_KEY } from '../ports/record/control-key.ts'
import { object } from '../testing/model/notation.ts'
import { CHECKERS } from './check/checkers.ts'
import { draw } from './options.ts'
import type { Site } from './site.ts'
import { CANARY, KEEP } from './workload.ts'
import { WholeWorld } from './world.ts'

const AT = '/api/v1/namespaces/blue'
const NOBODY = AbortSignal.abort()
const GONE = { apiVersion: 'v1', kind: 'ConfigMap', name: 'gone', uid: 'never' }

interface Rig {
  readonly world: WholeWorld
  readonly site: Site
  make(resource: string, name: string, metadata?: object): ApiObject
  /** As Kinfold does it, except for the given options. */
  delete(object: ApiObject, more?: object): void
  patch(object: ApiObject, patch: readonly object[]): void
}

function rigFor(policy: Policy): Rig {
  // Holds and budgets have checkers of their own.
  const world = new WholeWorld({ ...draw(1, []), clusters: 1, policy, archive: 'off' }, CHECKERS)
  const site = world.sites[0] as Site
  site.user('POST', '/api/v1/namespaces', { metadata: { name: 'blue' } })
  const carryOut = (method: 'DELETE' | 'PATCH', { metadata }: ApiObject, body: object): void => {
    const request: ExchangeRequest = {
      method,
      path: `${AT}/secrets/${metadata.name}`,
      headers: {
        'content-type': method === 'PATCH' ? 'application/json-patch+json' : 'application/json',
      },
      body: JSON.stringify(body),
      purpose: 'write',
    }
    const sentMs = world.time.monotonicMs()
    void site.carryOut({ request, registration: site.name, by: 'a test', sentMs }, NOBODY)
  }
  return {
    world,
    site,
    make(resource, name, metadata = {}) {
      site.user('POST', `${AT}/${resource}`, { metadata: { name, ...metadata } })
      return site.server.object('', resource, 'blue', name) as ApiObject
    },
    delete(object, more = {}) {
      const { uid, resourceVersion } = object.metadata
      const preconditions = { uid, resourceVersion }
      carryOut('DELETE', object, { preconditions, propagationPolicy: 'Background', ...more })
    },
    patch: (object, patch) => carryOut('PATCH', object, patch),
  }
}

const orphan = (rig: Rig, more: object = {}): ApiObject =>
  rig.make('secrets', 'it', { ownerReferences: [GONE], ...more })

/** Of the only owner, which is referenced by a version that is not served. */
function dropAfterRestore(rig: Rig, back: number): void {
  const { name, uid } = rig.make('configmaps', 'owner').metadata
  rig.site.user('DELETE', `${AT}/configmaps/owner`, { propagationPolicy: 'Orphan' })
  rig.site.restore(back)
  const ownerReferences = [{ apiVersion: 'v1beta1', kind: 'ConfigMap', name, uid }]
  const it = rig.make('secrets', 'it', { ownerReferences })
  rig.patch(it, [
    { op: 'test', path: '/metadata/uid', value: it.metadata.uid },
    { op: 'remove', path: '/metadata/ownerReferences/0' },
  ])
}

interface Case {
  readonly what: string
  readonly policy?: Policy
  readonly act: (rig: Rig) => void
  /** Of the one objection. */
  readonly objection: RegExp | null
}

const cases: readonly Case[] = [
  { what: 'a delete of what nobody owns', act: (rig) => rig.delete(orphan(rig)), objection: null },
  {
    what: 'a delete of what has a living owner',
    act(rig) {
      const { name, uid } = rig.make('configmaps', 'owner').metadata
      const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid }]
      rig.delete(rig.make('secrets', 'it', { ownerReferences }))
    },
    objection: /owner lives \(I1\)/,
  },
  {
    what: 'a delete of what names no owner',
    act: (rig) => rig.delete(rig.make('secrets', 'it')),
    objection: /no owner references \(I2\)/,
  },
  {
    what: 'a delete without the uid',
    act(rig) {
      const it = orphan(rig)
      rig.delete(it, { preconditions: { resourceVersion: it.metadata.resourceVersion } })
    },
    objection: /uid undefined was commanded \(I3\)/,
  },
  {
    what: 'a delete without the version',
    act(rig) {
      const it = orphan(rig)
      rig.delete(it, { preconditions: { uid: it.metadata.uid } })
    },
    objection: /no such version \(I4\)/,
  },
  {
    what: 'a delete without a propagation policy',
    act: (rig) => rig.delete(orphan(rig), { propagationPolicy: undefined }),
    objection: /no policy \(I4\)/,
  },
  {
    what: 'a patch without a test of the uid',
    act: (rig) => rig.patch(orphan(rig), [{ op: 'remove', path: '/metadata/ownerReferences/0' }]),
    objection: /no test of the uid \(I4\)/,
  },
  {
    what: 'a delete for want of what nobody serves',
    act: (rig) =>
      rig.delete(orphan(rig, { ownerReferences: [{ ...GONE, apiVersion: 'no.such.io/v1' }] })),
    objection: /gone cannot be resolved \(I6\)/,
  },
  {
    what: 'a delete in a namespace that is protected',
    act(rig) {
      rig.world.protectedMs.set(`${rig.site.name}/blue`, -10_000)
      rig.delete(orphan(rig))
    },
    objection: /protected since .* \(I9\)/,
  },
  {
    what: 'a delete of what Helm is to keep',
    policy: policyFor('enforce', 'guarded'),
    act(rig) {
      rig.delete(orphan(rig, { annotations: { [KEEP]: 'keep' } }))
    },
    objection: /helm.sh\/resource-policy \(I9\)/,
  },
  {
    what: 'a change while only a dry run is asked for',
    policy: policyFor('dry-run', 'parity'),
    act: (rig) => rig.delete(orphan(rig)),
    objection: /mode is dry-run \(I12\)/,
  },
  {
    what: 'a change two seconds after a pause',
    act(rig) {
      rig.world.pausedMs.set(rig.site.id, -2_001)
      rig.delete(orphan(rig))
    },
    objection: /paused since .* and sent at .* \(I13\)/,
  },
  {
    what: 'forty changes of one object',
    act(rig) {
      const ownerReferences = Array.from({ length: 40 }, (_, n) => ({ ...GONE, uid: `never-${n}` }))
      const it = orphan(rig, { ownerReferences })
      for (let count = 0; count < 40; count++) {
        rig.patch(it, [
          { op: 'test', path: '/metadata/uid', value: it.metadata.uid },
          { op: 'remove', path: '/metadata/ownerReferences/0' },
        ])
      }
    },
    objection: /40 effects on one object \(I18\)/,
  },
  {
    what: 'a drop of what was deleted with its dependents orphaned, and then set back to before it was made',
    act: (rig) => dropAfterRestore(rig, 2),
    objection: null,
  },
  {
    what: 'a drop of what was deleted with its dependents orphaned, and then set back to life',
    act: (rig) => dropAfterRestore(rig, 1),
    objection: /owner, which cannot be resolved/,
  },
  {
    what: 'a second delete of one uid',
    act(rig) {
      const it = orphan(rig, { finalizers: ['example.com/hold'] })
      rig.world.truthOf(rig.site).deleted.set(it.metadata.uid, 1)
      rig.delete(it)
    },
    objection: /delete number 2 of that uid took effect \(I27\)/,
  },
]

for (const { what, policy = policyFor('enforce', 'parity'), act, objection } of cases) {
  test(`${what} is ${objection === null ? 'right' : 'objected to'}`, () => {
    const rig = rigFor(policy)
    act(rig)
    const wrongs = rig.world.wrongs.filter((each) => each.startsWith(rig.site.name))
    // A guarded world has further objections to an effect that was not held.
    const [first = ''] = objection === null ? wrongs : wrongs.filter((each) => objection.test(each))
    if (objection === null) deepEqual(wrongs, [])
    else match(first, objection)
  })
}

test('I11: a delete of what was created after its owner’s deletion was observed is objected to for an hour', async () => {
  const rig = rigFor(policyFor('enforce', 'guarded'))
  const { world, site } = rig
  const owner = rig.make('configmaps', 'owner')
  const { name, uid } = owner.metadata
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid }]
  const before = rig.make('secrets', 'before', { ownerReferences })
  site.user('DELETE', `${AT}/configmaps/owner`, {})
  const at = { partition: 0, partitions: 1, position: 1n, timestamp: world.time.now() }
  const event = { type: 'ObjectDeleted', cluster: site.id, object: { uid } } as ObjectDeleted
  world.folded({ event, at, outcome: emptyOutcome() })
  await world.time.advance(60_000)
  const restored = rig.make('secrets', 'restored', { ownerReferences })
  await world.time.advance(1_800_000)
  rig.delete(before)
  const objections = (): string => world.wrongs.filter((each) => each.includes('I11')).join()
  equal(objections(), '')
  rig.delete(restored)
  match(objections(), /without an owner for 1800000 ms of 3600000 \(I11\)/)
})

test('I11: an owner that waited for its dependents begins no hold when it is removed', async () => {
  const rig = rigFor(policyFor('enforce', 'guarded'))
  const { world, site } = rig
  const [late, owner] = ['late', 'owner'].map((each) => rig.make('configmaps', each))
  site.user('DELETE', `${AT}/configmaps/late`, {})
  const at = { partition: 0, partitions: 1, position: 1n, timestamp: world.time.now() }
  const object = { uid: late!.metadata.uid }
  const event = { type: 'ObjectDeleted', cluster: site.id, object } as ObjectDeleted
  world.folded({ event, at, outcome: emptyOutcome() })
  site.user('DELETE', `${AT}/configmaps/owner`, { propagationPolicy: 'Foreground' })
  await world.time.advance(60_000)
  const ownerReferences = [late, owner].map((each) => {
    const { name, uid } = each!.metadata
    return { apiVersion: 'v1', kind: 'ConfigMap', name, uid, blockOwnerDeletion: true }
  })
  const [soon, it] = ['soon', 'it'].map((each) => rig.make('secrets', each, { ownerReferences }))
  await world.time.advance(3_000_000)
  const body = { metadata: { finalizers: null } }
  site.user('PATCH', `${AT}/configmaps/owner`, body, 'application/merge-patch+json')
  const objections = (): string => world.wrongs.filter((each) => each.includes('I11')).join()
  rig.delete(soon!)
  match(objections(), /without an owner for 3000000 ms of 3600000 \(I11\)/)
  world.wrongs.length = 0
  await world.time.advance(601_000)
  rig.delete(it!)
  equal(objections(), '')
})

test('I11: what named an owner that we deleted has waited with it, also after etcd is restored from later', async () => {
  const rig = rigFor(policyFor('enforce', 'guarded'))
  const { world, site } = rig
  const named = ({ metadata }: ApiObject): object => {
    const { name, uid } = metadata
    return { ownerReferences: [{ apiVersion: 'v1', kind: 'Secret', name, uid }] }
  }
  const { name, uid } = rig.make('configmaps', 'root').metadata
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid }]
  const [one, other] = ['one', 'other'].map((each) =>
    rig.make('secrets', each, { ownerReferences }),
  )
  const [ofOne, ofOther] = [one, other].map((each) =>
    rig.make('secrets', `of-${each?.metadata.name}`, named(each!)),
  )
  site.user('DELETE', `${AT}/configmaps/root`, {})
  await world.time.advance(30_000)
  const objections = (): string => world.wrongs.filter((each) => each.includes('I11')).join()
  rig.delete(one!)
  site.user('DELETE', `${AT}/secrets/other`, {})
  rig.make('configmaps', 'last')
  site.restore(1)
  rig.delete(ofOne!)
  equal(objections(), '')
  rig.delete(ofOther!)
  match(objections(), /without an owner for 0 ms of 30000 \(I11\)/)
})

test('I9: a delete in a namespace that the config protects is objected to, once everybody knows', async () => {
  const rig = rigFor(policyFor('enforce', 'parity'))
  const { world, site } = rig
  const protection = { ...world.policy.protection, namespaces: ['blue'] }
  const value = world.codec.encode({
    ...{ type: 'Control', verb: 'protect', cluster: '', kind: null, number: 0, connected: false },
    ...{ protection, mode: 'enforce', who: 'a test', why: 'it has to object' },
  })
  const it = orphan(rig)
  await world.broker.log.append('orders', 0, [{ key: PROTECT_POLICY_KEY, value }])
  const told = { topic: 'orders', partition: 0, by: 'a test' } as const
  for (const { appended } of CHECKERS)
    equal(appended?.(world, { ...told, records: [{ key: PROTECT_POLICY_KEY, value }] }) ?? '', '')
  await world.time.advance(2_001)
  rig.delete(it)
  const wrongs = world.wrongs.filter((each) => each.startsWith(site.name))
  match(wrongs.join(), /the policy protects it since .* \(I9\)/)
})

test('a DELETE of a collection, and one that is about another cluster, are objected to', async () => {
  const world = new WholeWorld(
    {
      ...draw(1, []),
      clusters: 2,
      policy: policyFor('enforce', 'parity'),
    },
    CHECKERS,
  )
  const [one, other] = world.sites as [Site, Site]
  one.user('POST', '/api/v1/namespaces', { metadata: { name: 'blue' } })
  one.user('POST', `${AT}/secrets`, { metadata: { name: 'it' } })
  const uid = one.server.object('', 'secrets', 'blue', 'it')?.metadata.uid
  await world.time.advance(31_000)
  const objections = (site: Site, path: string): string => {
    const body = JSON.stringify({ preconditions: { uid } })
    const request = { method: 'DELETE', path, headers: {}, body, purpose: 'write' } as const
    const passage = { request, site } as Parameters<NonNullable<(typeof CHECKERS)[0]['request']>>[1]
    return CHECKERS.map((each) => each.request?.(world, passage) ?? '').join('')
  }
  equal(objections(one, `${AT}/secrets/it`), '')
  match(objections(one, `${AT}/secrets`), /a DELETE of the collection .* \(I4\)/)
  match(
    objections(other, `${AT}/secrets/it`),
    /is about cluster-1 and was sent to cluster-2 \(I7\)/,
  )
  await world.stop()
})

test('a secret in a record is objected to, but for the archive', () => {
  const world = new WholeWorld(draw(1, []), CHECKERS)
  const checker = CHECKERS.find(({ invariant }) => invariant.startsWith('I31'))
  const told = (topic: 'events' | 'archive', value: Buffer = Buffer.from(`so ${CANARY} it is`)) => {
    return (
      checker?.appended?.(world, {
        topic,
        partition: 0,
        records: [{ key: '', value }],
        by: 'a test',
      }) ?? ''
    )
  }
  match(told('events'), /a canary is in events \(I31\)/)
  match(told('events', projected('data.key', CANARY)), /a canary is in events \(I31\)/)
  equal(told('events', projected('type', 'Opaque')), '')
  equal(told('archive'), '')
  ok(checker)
})

/** A Secret with a field that a rule read. */
function projected(key: string, value: string): Buffer {
  const fields = [{ key, value }]
  const read = { ...object('secret/s', '7'), projected: { reads: 'digest', fields, policy: null } }
  const event = { type: 'ObjectAdded', cluster: 'c', epoch: 1, sync: null, object: read } as const
  return Buffer.from(avroCodec().encode(event))
}
