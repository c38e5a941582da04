/**
 * What is kept of an audit event, and of which: never more than names a deletion, whatever it
 * holds.
 */
import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { type AuditFields, auditEvent, decoded, eventList } from '../../../testing/audit-event.ts'
import { type Asked, eventOf } from './audit-event.ts'

const AT = Date.UTC(2026, 10, 27, 12, 3, 4)

async function askedIn(body: unknown): Promise<readonly Asked[]> {
  const { decoder, asked } = await decoded(JSON.stringify(body))
  equal(decoder.unreadable, 0, 'an item is no audit event')
  equal(decoder.documents, 1)
  return asked
}

async function keptOf(more: AuditFields): Promise<readonly AuditFields[]> {
  return (await askedIn(eventList(auditEvent('a', AT, more)))) as unknown as AuditFields[]
}

test('of a delete its user, client, object and time are kept, and nothing else', async () => {
  deepEqual(await askedIn(eventList(auditEvent('a', AT))), [
    {
      ...{ type: 'Actor', auditId: 'id-a', verb: 'delete', group: '', resource: 'configmaps' },
      ...{ namespace: 'ns', name: 'a', uid: null, user: 'alice', impersonated: null },
      agent: 'kubectl/v1.33.0 (linux/amd64) kubernetes/60a317e',
      ...{ mayBeDryRun: false, isBodyKnown: false, from: AT, at: AT },
    },
  ])
})

const REF = { resource: 'pods', namespace: 'ns', name: 'p', apiVersion: 'v1' }
const none: readonly (readonly [string, AuditFields])[] = [
  ['came and is not answered yet', { stage: 'RequestReceived' }],
  ['is a watch', { verb: 'watch' }],
  ['is an update', { verb: 'update' }],
  ['was refused', { responseStatus: { code: 403 } }],
  ['was answered in no known way', { responseStatus: undefined }],
  ['is a dry run by its body', { requestObject: { kind: 'DeleteOptions', dryRun: ['All'] } }],
  ['deletes nothing of an object', { objectRef: { ...REF, subresource: 'proxy' } }],
  ['is about no object', { objectRef: undefined }],
  ['is of nobody', { user: {} }],
  ['has no name', { objectRef: { ...REF, name: '' } }],
  ['has a name that no object has', { objectRef: { ...REF, name: 'x'.repeat(300) } }],
  ['is of the year 10000', { stageTimestamp: '+010000-01-01T00:00:00Z' }],
]

for (const [what, more] of none) {
  test(`an event that ${what} names nobody`, async () => deepEqual(await keptOf(more), []))
}

const uids: readonly (readonly [string, AuditFields])[] = [
  ['the reference', { objectRef: { ...REF, uid: 'u' } }],
  ['the answer', { responseObject: { kind: 'Status', metadata: {}, details: { uid: 'u' } } }],
  ['the object that is left', { responseObject: { kind: 'Pod', metadata: { uid: 'u' } } }],
  [
    'the summary of the answer, at level Metadata',
    { responseStatus: { code: 200, status: 'Success', details: { name: 'p', uid: 'u' } } },
  ],
  ['the precondition', { requestObject: { kind: 'DeleteOptions', preconditions: { uid: 'u' } } }],
]

for (const [where, more] of uids) {
  test(`the uid is taken from ${where}`, async () => equal((await keptOf(more))[0]?.['uid'], 'u'))
}

test('a namespace is in none, a collection has no name, an eviction is a deletion', async () => {
  const namespace = { resource: 'namespaces', namespace: 'shop', name: 'shop' }
  equal((await keptOf({ objectRef: namespace }))[0]?.['namespace'], '')
  const { name: _, ...collection } = REF
  const [many] = await keptOf({ verb: 'deletecollection', objectRef: collection })
  deepEqual([many?.['verb'], many?.['name']], ['deletecollection', ''])
  const eviction = { ...REF, subresource: 'eviction' }
  equal((await keptOf({ verb: 'create', objectRef: eviction }))[0]?.['verb'], 'evict')
})

test('a query that says dry run is not believed beside a body that does not', async () => {
  const requestURI = '/api/v1/namespaces/ns/configmaps/a?dryRun=All'
  equal((await keptOf({ requestURI }))[0]?.['mayBeDryRun'], true)
  const requestObject = { kind: 'DeleteOptions' }
  equal((await keptOf({ requestURI, requestObject }))[0]?.['mayBeDryRun'], false)
})

test('texts of clients are cut', async () => {
  const long = 'x'.repeat(100_000)
  const [kept] = await keptOf({
    ...{ user: { username: long }, impersonatedUser: { username: long } },
    ...{ userAgent: `\ud800${long}`, auditID: long },
  })
  const lengths = ['user', 'impersonated', 'agent', 'auditId'].map((key) => {
    const text = String(kept?.[key])
    ok(text.isWellFormed())
    return text.length
  })
  deepEqual(lengths, [256, 256, 128, 64])
})

test('what is no list of audit events is refused with what was expected', async () => {
  for (const body of [null, 'x', {}, { kind: 'EventList' }, { ...eventList(), items: {} }]) {
    await rejects(askedIn(body), /expected an EventList or an event of audit\.k8s\.io\/v1/)
  }
  for (const item of [null, 7, 'x', [], {}, { stage: 1 }, auditEvent('a', AT, { verb: [] })]) {
    await rejects(askedIn(eventList(auditEvent('a', AT), item)), /an item is no audit event/)
  }
})

test('what an import sends says the same, and no more', async () => {
  const impersonatedUser = { username: 'bob', groups: ['g'] }
  const all = [
    auditEvent('a', AT, { impersonatedUser, objectRef: { ...REF, uid: 'u' } }),
    auditEvent('b', AT, { verb: 'create', objectRef: { ...REF, subresource: 'eviction' } }),
    auditEvent('c', AT, { requestURI: '/?dryRun=All' }),
  ]
  const asked = await askedIn(eventList(...all))
  equal(asked.length, 3)
  const sent = eventList(...asked.map(eventOf))
  deepEqual(await askedIn(sent), asked)
  ok(!/10\.0\.0\.7|developers/.test(JSON.stringify(sent)))
})
