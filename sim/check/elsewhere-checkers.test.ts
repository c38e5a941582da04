/** The law of owners in other clusters objects to each wrong deletion, and to no right one. */
import { equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiObject } from '../../adapters/memory/api-server.ts'
import type { DeleteObject } from '../../core/model/command.ts'
import { policyFor } from '../../core/model/policy.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import { ruleDigest } from '../../core/model/rule/rule.ts'
import { ruleIn } from '../../testing/model/rule-notation.ts'
import { draw } from '../options.ts'
import { OWNER, ownerText } from '../rule/drawn-elsewhere.ts'
import { noteCut, noteReplaced } from '../rule/elsewhere-law.ts'
import type { Site } from '../site.ts'
import { WholeWorld } from '../world.ts'
import { CHECKERS } from './checkers.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const AT = '/api/v1/namespaces/blue'
const RULE = ruleIn(
  'far cm 0 namespace:blue for:3600 elsewhere:cluster-1 import:secret/blue export:secret/blue/cluster-2',
)

/** Owners in the first cluster, what names them in the second one. */
class Rig {
  readonly world: WholeWorld
  readonly rule: Rule
  readonly home: Site
  readonly site: Site

  constructor(rule: Rule = RULE) {
    const policy = { ...policyFor('enforce', 'parity'), rules: [rule] }
    this.world = new WholeWorld({ ...draw(1, []), clusters: 2, policy, archive: 'off' }, CHECKERS)
    this.rule = this.world.policy.rules[0] as Rule
    ;[this.home, this.site] = this.world.sites as [Site, Site]
    for (const site of this.world.sites)
      site.user('POST', '/api/v1/namespaces', { metadata: { name: 'blue' } })
    this.append('orders', {
      ...{ type: 'RuleOrder', name: 'far', digest: ruleDigest(this.rule), who: 'ann', why: '' },
    })
  }

  owner(name = 'owner'): ApiObject {
    this.home.user('POST', `${AT}/secrets`, { metadata: { name } })
    return this.home.server.object('', 'secrets', 'blue', name) as ApiObject
  }

  dependent(text: string): ApiObject {
    const metadata = { name: 'it', annotations: { [OWNER]: text } }
    this.site.user('POST', `${AT}/configmaps`, { metadata })
    return this.site.server.object('', 'configmaps', 'blue', 'it') as ApiObject
  }

  deleteOwner({ metadata }: ApiObject, propagationPolicy = 'Background'): void {
    this.home.user('DELETE', `${AT}/secrets/${metadata.name}`, { propagationPolicy })
  }

  /** The command, and the call by this process; what is objected to. */
  delete({ metadata }: ApiObject, by = 'reaper-1.1', clusterEpoch = 1): string {
    const { uid, name, resourceVersion } = metadata
    const at = { group: '', version: 'v1', kind: 'ConfigMap', resource: 'configmaps' }
    const claim = {
      ...{ group: '', kind: 'Secret', namespace: 'blue', name: 'owner', uid: 'u', version: 'v1' },
      ...{ resource: 'secrets', claim: 'gone-elsewhere', cluster: this.home.id, clusterEpoch },
      createdAt: null,
    }
    this.append('commands', {
      ...{ type: 'DeleteObject', id: '0-1-0', cluster: this.site.id, clusterEpoch: 1 },
      ...{ partition: 0, mode: 'enforce', evidence: 'rule', because: '', basis: [] },
      target: { ...at, aggregated: false, namespace: 'blue', name, uid, resourceVersion },
      ...{ propagationPolicy: 'Background', references: [], listDigest: null, finalizers: [] },
      ...{ owners: [claim], freshness: 'recheck', approvedBy: '', decidedAt: 0 },
      ...{ gracePeriodSeconds: null },
      rule: { name: 'far', digest: ruleDigest(this.rule), policy: null },
    } as unknown as DeleteObject)
    const request = {
      ...({ method: 'DELETE', path: `${AT}/configmaps/${name}`, purpose: 'write' } as const),
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        preconditions: { uid, resourceVersion },
        propagationPolicy: 'Background',
      }),
    }
    const sentMs = this.world.time.monotonicMs()
    const acting = { request, registration: this.site.name, by, sentMs }
    void this.site.carryOut(acting, AbortSignal.abort())
    return this.world.wrongs.splice(0).join()
  }

  append(topic: 'orders' | 'commands' | 'control', record: object): void {
    const value = this.world.codec.encode(record as DeleteObject)
    const told = { topic, partition: 0, by: 'a test', records: [{ key: '', value }] }
    for (const { appended } of CHECKERS) equal(appended?.(this.world, told) ?? '', '')
  }

  /** A minute, an owner that what names it was made for, another minute. */
  async begun(change: (text: string) => string = (text) => text): Promise<[ApiObject, ApiObject]> {
    await this.world.time.advance(MINUTE)
    const owner = this.owner()
    const object = this.dependent(change(ownerText(this.home.id, owner)))
    await this.world.time.advance(MINUTE)
    return [owner, object]
  }
}

test('what names an owner that was deleted an hour ago is deleted without an objection', async () => {
  const rig = new Rig()
  const [owner, object] = await rig.begun()
  rig.deleteOwner(owner)
  await rig.world.time.advance(HOUR)
  equal(rig.delete(object), '')
})

test('within the hour it is objected to, and while the owner is there', async () => {
  const rig = new Rig()
  const [, object] = await rig.begun()
  await rig.world.time.advance(2 * HOUR)
  match(rig.delete(object), /its owner is there/)
  const other = new Rig()
  const [owner, due] = await other.begun()
  other.deleteOwner(owner)
  await other.world.time.advance(HOUR - 1_000)
  match(other.delete(due), /its owner was deleted 3599000 ms ago/)
})

test('an owner that was deleted with orphan, or left with a restore, is objected to', async () => {
  const rig = new Rig()
  const [owner, object] = await rig.begun()
  rig.deleteOwner(owner, 'Orphan')
  const path = `${AT}/secrets/owner`
  const body = JSON.stringify([{ op: 'remove', path: '/metadata/finalizers' }])
  const headers = { 'content-type': 'application/json-patch+json' }
  const request = { method: 'PATCH', path, headers, body, purpose: 'write' } as const
  const acting = { request, registration: rig.home.name, by: 'reaper-1.1', sentMs: 0 }
  void rig.home.carryOut(acting, AbortSignal.abort())
  rig.world.wrongs.splice(0)
  equal(rig.home.server.object('', 'secrets', 'blue', 'owner'), undefined)
  await rig.world.time.advance(2 * HOUR)
  match(rig.delete(object), /its owner is orphaned/)
  const other = new Rig()
  const [, left] = await other.begun()
  other.home.restore(1)
  other.home.user('POST', `${AT}/secrets`, { metadata: { name: 'another' } })
  await other.world.time.advance(2 * HOUR)
  match(other.delete(left), /its owner is restored/)
})

test('an owner that orphaned once is objected to, whatever a user wants afterwards', async () => {
  const rig = new Rig()
  const [owner, object] = await rig.begun()
  const held = (finalizers: readonly string[]): void => {
    const path = `${AT}/secrets/owner`
    rig.home.user('PATCH', path, { metadata: { finalizers } }, 'application/merge-patch+json')
  }
  held(['example.com/hold'])
  rig.deleteOwner(owner, 'Orphan')
  held(['example.com/hold'])
  held([])
  equal(rig.home.server.object('', 'secrets', 'blue', 'owner'), undefined)
  await rig.world.time.advance(2 * HOUR)
  match(rig.delete(object), /its owner is orphaned/)
})

test('an owner that left with its namespace is objected to, be that made again', async () => {
  const rig = new Rig()
  const [, object] = await rig.begun()
  rig.home.user('DELETE', AT, {})
  await rig.world.time.advance(MINUTE)
  rig.home.user('POST', '/api/v1/namespaces', { metadata: { name: 'blue' } })
  await rig.world.time.advance(2 * HOUR)
  match(rig.delete(object), /its owner is swept/)
})

test('an owner that a restore brought back is objected to, and one that it did not is not', async () => {
  const rig = new Rig()
  const [owner, object] = await rig.begun()
  rig.deleteOwner(owner)
  await rig.world.time.advance(HOUR)
  rig.home.restore(1)
  await rig.world.time.advance(MINUTE)
  match(rig.delete(object), /its owner is there/)
  const other = new Rig()
  const [gone, due] = await other.begun()
  other.deleteOwner(gone)
  other.owner('more')
  await other.world.time.advance(HOUR)
  other.home.restore(1)
  await other.world.time.advance(MINUTE)
  equal(other.delete(due), '')
})

test('a name that is not right, and an owner that is not shared, are objected to', async () => {
  const wrong: readonly [(text: string) => string, RegExp][] = [
    [(text) => text.replace('/owner/', '/other/'), /its owner is \/Secret\/blue\/owner/],
    [(text) => text.replace(/[^/]+$/, 'never'), /no such owner/],
    [(text) => text.replace('Secret', 'ConfigMap'), /not shared/],
    [(text) => text.replace('/blue/', '/red/'), /not shared/],
    [(text) => text.replace(/^[^/]+/, 'cluster-1'), /not shared/],
    [(text) => `${text}/more`, /names no owner/],
    [() => '', /names no owner/],
  ]
  for (const [change, objection] of wrong) {
    const rig = new Rig()
    const [owner, object] = await rig.begun(change)
    rig.deleteOwner(owner)
    await rig.world.time.advance(HOUR)
    match(rig.delete(object), objection)
  }
  const unshared = new Rig({ ...RULE, elsewhere: { ...RULE.elsewhere!, exports: [] } })
  const [owner, object] = await unshared.begun()
  unshared.deleteOwner(owner)
  await unshared.world.time.advance(HOUR)
  match(unshared.delete(object), /not shared/)
})

test('while its cluster is cut off it is objected to, and within an hour after a long cut', async () => {
  const rig = new Rig()
  const [owner, object] = await rig.begun()
  rig.deleteOwner(owner)
  await rig.world.time.advance(HOUR)
  const cut = noteCut(rig.world, rig.home, 'reaper-1')
  await rig.world.time.advance(MINUTE)
  match(rig.delete(object, 'reaper-1.2'), /could not be asked for/)
  cut.until = rig.world.time.monotonicMs()
  const long = new Rig()
  const [other, due] = await long.begun()
  const whole = noteCut(long.world, long.home)
  long.deleteOwner(other)
  await long.world.time.advance(10 * MINUTE)
  whole.until = long.world.time.monotonicMs()
  await long.world.time.advance(55 * MINUTE)
  match(long.delete(due), /not followed for an hour/)
})

test('by an epoch that is over, and of a cluster that was replaced, it is objected to', async () => {
  const rig = new Rig()
  const [owner, object] = await rig.begun()
  rig.deleteOwner(owner)
  await rig.world.time.advance(HOUR)
  rig.append('control', {
    ...{ type: 'Control', verb: 'epoch', cluster: rig.home.id, kind: null, number: 2, why: '' },
    ...{ connected: false, protection: null, mode: null, who: 'a test' },
  })
  await rig.world.time.advance(MINUTE)
  match(rig.delete(object), /gone in epoch 1, and 2 began/)
  const other = new Rig()
  const [gone, due] = await other.begun()
  other.deleteOwner(gone)
  await other.world.time.advance(HOUR)
  noteReplaced(other.world, other.home.id)
  await other.world.time.advance(MINUTE)
  match(other.delete(due), /was replaced/)
})
