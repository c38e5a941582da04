/**
 * Audit logs as EKS, GKE and AKS export and deliver them: records of our own, after the clouds'
 * documentation.
 */
import { deepEqual, equal, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { auditEvent, type Decoded, decoded } from '../../../testing/audit-event.ts'
import type { Format } from './audit-decoder.ts'
import { LONGEST_PIECE } from './delivery.ts'

const AT = Date.UTC(2026, 10, 27, 12, 3, 4)
const TIME = '2026-11-27T12:03:04.123456Z'

const event = (name: string, more: object = {}): object => ({
  ...{ kind: 'Event', apiVersion: 'audit.k8s.io/v1' },
  ...auditEvent(name, AT, { ...more }),
})
const written = (name: string, more: object = {}): string => JSON.stringify(event(name, more))
const names = ({ asked }: Decoded): readonly string[] => asked.map(({ name }) => name)
const lines = (...all: readonly unknown[]): string =>
  all.map((each) => `${JSON.stringify(each)}\n`).join('')

const stream = 'kube-apiserver-audit-0a1b'
const eks = (...messages: readonly string[]): object => ({
  events: messages.map((message) => ({ logStreamName: stream, timestamp: AT, message })),
  searchedLogStreams: [],
})
const subscription = (...messages: readonly string[]): object => ({
  ...{ messageType: 'DATA_MESSAGE', owner: '123456789012', logGroup: '/aws/eks/a/cluster' },
  ...{ logStream: stream, subscriptionFilters: ['kinfold'] },
  logEvents: messages.map((message, id) => ({ id: `${id}`, timestamp: AT, message })),
})

function gke(method: string, resourceName: string, more: object = {}, entry: object = {}): object {
  return {
    ...{ insertId: 'i', logName: 'projects/p/logs/cloudaudit.googleapis.com%2Factivity' },
    resource: { type: 'k8s_cluster', labels: { cluster_name: 'a' } },
    operation: { id: `id-${resourceName}`, producer: 'k8s.io', first: true, last: true },
    timestamp: TIME,
    protoPayload: {
      '@type': 'type.googleapis.com/google.cloud.audit.AuditLog',
      ...{ serviceName: 'k8s.io', methodName: method, resourceName, status: {} },
      authenticationInfo: { principalEmail: 'alice@example.com' },
      requestMetadata: { callerIp: '10.0.0.7', callerSuppliedUserAgent: 'kubectl/v1.33.0' },
      ...more,
    },
    ...entry,
  }
}

const aks = (log: string, category = 'kube-audit'): object => ({
  ...{ time: TIME, resourceId: '/SUBSCRIPTIONS/S', category },
  ...{ operationName: 'Microsoft.ContainerService/managedClusters/diagnosticLogs/Read' },
  properties: { log, stream: 'stdout', pod: 'kube-apiserver-0' },
})

const packed = (value: object): object => ({
  awslogs: { data: gzipSync(JSON.stringify(value)).toString('base64') },
})

const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64')
const zipped = (value: unknown): string => gzipSync(JSON.stringify(value)).toString('base64')
const deletion = (name: string): object =>
  gke('io.k8s.core.v1.configmaps.delete', `core/v1/namespaces/ns/configmaps/${name}`)
const message = (name: string): object => ({
  message: { data: base64(deletion(name)), messageId: name, publishTime: TIME },
})

const whole: readonly (readonly [string, Format, string])[] = [
  ['filter-log-events', 'eks', JSON.stringify(eks(written('a'), written('b')), null, 4)],
  ['a subscription', 'eks', JSON.stringify(subscription(written('a'), written('b')))],
  [
    'subscriptions without a line end between them',
    'eks',
    [written('a'), written('b')].map((each) => JSON.stringify(subscription(each))).join(''),
  ],
  ['what a function gets', 'eks', JSON.stringify(packed(subscription(written('a'), written('b'))))],
  [
    'aws logs tail, short',
    'eks',
    `2026-11-27T12:03:04 ${written('a')}\n2026-11-27T12:03:05 ${written('b')}\n`,
  ],
  [
    'aws logs tail',
    'eks',
    ['a', 'b']
      .map((name) => `2026-11-27T12:03:04.123000+00:00 ${stream} ${written(name)}\n`)
      .join(''),
  ],
  [
    'gcloud, an array',
    'gke',
    JSON.stringify(
      [
        gke('io.k8s.core.v1.configmaps.delete', 'core/v1/namespaces/ns/configmaps/a'),
        gke('io.k8s.core.v1.configmaps.delete', 'core/v1/namespaces/ns/configmaps/b'),
      ],
      null,
      2,
    ),
  ],
  [
    'GKE, a line each',
    'gke',
    lines(
      gke('io.k8s.core.v1.configmaps.delete', 'core/v1/namespaces/ns/configmaps/a'),
      gke('io.k8s.core.v1.configmaps.delete', 'core/v1/namespaces/ns/configmaps/b'),
    ),
  ],
  [
    'Event Hubs',
    'aks',
    JSON.stringify({ records: [aks(`${written('a')}\n`), aks(written('b'), 'kube-audit-admin')] }),
  ],
  ['a storage account', 'aks', lines(aks(written('a')), aks(written('b')))],
  [
    'Log Analytics',
    'aks',
    JSON.stringify([
      { Category: 'kube-audit', log_s: written('a') },
      { Category: 'kube-audit', log_s: written('b') },
    ]),
  ],
  [
    'Data Firehose',
    'eks',
    JSON.stringify({
      ...{ requestId: 'r', timestamp: AT },
      records: ['a', 'b'].map((name) => ({ data: zipped(subscription(written(name))) })),
    }),
  ],
  [
    'Data Firehose, which unpacked the messages',
    'eks',
    JSON.stringify({ records: [{ data: base64(event('a')) }, { data: base64(event('b')) }] }),
  ],
  [
    'a function of Kinesis',
    'eks',
    JSON.stringify({
      Records: ['a', 'b'].map((name) => ({
        kinesis: { partitionKey: 'k', data: zipped(subscription(written(name))) },
      })),
    }),
  ],
  [
    'Pub/Sub, pushed',
    'gke',
    lines(...['a', 'b'].map((name) => ({ ...message(name), subscription: 's' }))),
  ],
  ['Pub/Sub, pulled', 'gke', JSON.stringify({ receivedMessages: [message('a'), message('b')] })],
  [
    'gcloud pubsub subscriptions pull',
    'gke',
    JSON.stringify(
      ['a', 'b'].map((name) => ({ ackId: 'x', ...message(name) })),
      null,
      2,
    ),
  ],
  ['events', 'events', lines(event('a'), event('b'))],
]

for (const [name, format, text] of whole) {
  test(`${name}: read as ${format}, in parts of any size`, async () => {
    for (const size of [1, 7, 65_536]) {
      const read = await decoded(text, size)
      deepEqual(names(read), ['a', 'b'])
      deepEqual([...read.decoder.formats], [format])
      deepEqual([read.decoder.received, read.decoder.unreadable, read.decoder.others], [2, 0, 0])
    }
  })
}

test('of a text within a text characters and escapes are as they were', async () => {
  const user = { username: 'zoë "q" \\ \u{1f600} \u0001\n' }
  const text = JSON.stringify(eks(written('a', { user }))).replace('ë', '\\u00eb')
  for (const size of [1, 3, 65_536])
    equal((await decoded(text, size)).asked[0]?.user, user.username)
})

test('a message that is cut costs itself alone, and is counted with its line', async () => {
  const text = `\n${JSON.stringify(eks(written('a'), written('x').slice(0, 99), 'no JSON', written('b')))}`
  const read = await decoded(text)
  deepEqual(names(read), ['a', 'b'])
  deepEqual(
    [read.decoder.received, read.decoder.unreadable, read.decoder.firstUnreadable],
    [4, 2, 2],
  )
})

test('a piece that is damaged, nested or too long costs itself alone', async () => {
  const nested = gzipSync(JSON.stringify(packed(subscription(written('x'))))).toString('base64')
  const half = gzipSync(JSON.stringify(subscription(written('x')))).subarray(0, 60)
  const all = ['AAAA', half.toString('base64'), nested, 'A'.repeat(LONGEST_PIECE + 1)]
  for (const data of all) {
    const read = await decoded(lines({ awslogs: { data } }, subscription(written('a'))))
    deepEqual([names(read), read.decoder.unreadable], [['a'], 1])
  }
})

test('what is of another log is counted as that', async () => {
  const control = {
    ...subscription('CWL CONTROL MESSAGE: Checking health'),
    messageType: 'CONTROL_MESSAGE',
  }
  const other = { events: [{ logStreamName: 'authenticator-1', message: 'time=x' }] }
  const container = gke('google.container.v1.ClusterManager.GetCluster', 'projects/p', {
    serviceName: 'container.googleapis.com',
  })
  const guard = { records: [aks('I1127 no JSON', 'guard')] }
  const text = { logName: 'projects/p/logs/stdout', textPayload: 'hello' }
  const read = await decoded(lines(control, other, container, guard, text))
  deepEqual([read.decoder.others, read.decoder.unreadable, read.asked.length], [5, 0, 0])
  const tail = await decoded(
    `2026-11-27T12:03:04.1+00:00 authenticator-1 {"a":\n2026-11-27T12:03:04 ${written('a')}\n`,
  )
  deepEqual([names(tail), tail.decoder.others, tail.decoder.line], [['a'], 1, 3])
})

test('an entry of GKE says verb, object, user and client; times are one', async () => {
  const uid = { response: { details: { uid: 'u' } }, request: { kind: 'DeleteOptions' } }
  const path = 'apps/v1/namespaces/shop/deployments/web'
  const [asked] = (await decoded(lines(gke('io.k8s.apps.v1.deployments.delete', path, uid)))).asked
  const at = Date.parse(TIME)
  deepEqual(asked, {
    ...{ type: 'Actor', auditId: `id-${path}`, verb: 'delete', group: 'apps' },
    ...{ resource: 'deployments', namespace: 'shop', name: 'web', uid: 'u' },
    ...{ user: 'alice@example.com', impersonated: null, agent: 'kubectl/v1.33.0' },
    ...{ mayBeDryRun: false, isBodyKnown: true, from: at, at },
  })
})

const places: readonly (readonly [string, string, readonly string[]])[] = [
  [
    'io.k8s.core.v1.pods.deletecollection',
    'core/v1/namespaces/ns/pods',
    ['deletecollection', '', 'pods', 'ns', ''],
  ],
  [
    'io.k8s.core.v1.pods.eviction.create',
    'core/v1/namespaces/ns/pods/a/eviction',
    ['evict', '', 'pods', 'ns', 'a'],
  ],
  ['io.k8s.core.v1.nodes.delete', 'core/v1/nodes/n', ['delete', '', 'nodes', '', 'n']],
  [
    'io.k8s.core.v1.namespaces.delete',
    'core/v1/namespaces/ns',
    ['delete', '', 'namespaces', '', 'ns'],
  ],
  [
    'io.k8s.authorization.rbac.v1.clusterroles.delete',
    'rbac.authorization.k8s.io/v1/clusterroles/c',
    ['delete', 'rbac.authorization.k8s.io', 'clusterroles', '', 'c'],
  ],
]

for (const [method, path, expected] of places) {
  test(`GKE: ${method}`, async () => {
    const [asked] = (await decoded(lines(gke(method, path)))).asked
    deepEqual([asked?.verb, asked?.group, asked?.resource, asked?.namespace, asked?.name], expected)
    equal(asked?.mayBeDryRun, true)
  })
}

test('GKE: refused requests, dry runs, starts of operations and other verbs attribute nothing', async () => {
  const of = (more: object, entry = {}): object =>
    gke('io.k8s.core.v1.pods.delete', 'core/v1/namespaces/ns/pods/a', more, entry)
  const read = await decoded(
    lines(
      of({ status: { code: 7, message: 'Forbidden' } }),
      of({ response: { code: 429 } }),
      of({ request: { kind: 'DeleteOptions', dryRun: ['All'] } }),
      of({}, { operation: { id: 'o', first: true } }),
      gke('io.k8s.core.v1.pods.patch', 'core/v1/namespaces/ns/pods/a'),
      gke('io.k8s.core.v1.pods.status.delete', 'core/v1/namespaces/ns/pods/a/status'),
      gke('io.k8s.core.v1.pods.proxy.delete', 'core/v1/namespaces/ns/pods/a/proxy/b/c'),
    ),
  )
  deepEqual([read.asked, read.decoder.received, read.decoder.unreadable], [[], 7, 0])
})

test('a field of any size takes no memory and costs nothing beside it', async () => {
  const requestURI = `/?${'x'.repeat(3_000_000)}`
  const read = await decoded(JSON.stringify(eks(written('a', { requestURI }), written('b'))))
  deepEqual([names(read), read.decoder.unreadable], [['a', 'b'], 0])
})

test('another format than the one that was named is refused, and so is what is none', async () => {
  await rejects(
    decoded(JSON.stringify(eks(written('a'))), 99, { only: 'aks' }),
    /this is eks, and --format says aks/,
  )
  await rejects(decoded(lines({ a: 1 })), /what EKS, GKE or AKS export/)
  await rejects(decoded('[1]'), /what EKS, GKE or AKS export/)
  await rejects(decoded('[{}'), /what EKS/)
  equal((await decoded('[]')).decoder.received, 0)
})

test('a piece is read as it is unpacked, however large that is', async () => {
  const requestURI = `/?${'x'.repeat(70_000_000)}`
  const delivered = packed(subscription(written('a', { requestURI }), written('b')))
  const read = await decoded(JSON.stringify(delivered))
  deepEqual([names(read), read.decoder.unreadable], [['a', 'b'], 0])
})

test('what could not be read has the time of what wraps it', async () => {
  const time = Date.parse(TIME)
  const cases: readonly (readonly [object, number | undefined])[] = [
    [subscription('no JSON'), AT],
    [{ records: [aks('no JSON')] }, time],
    [{ Category: 'kube-audit', log_s: '', TimeGenerated: TIME }, time],
    [{ awslogs: { data: 'AAAA' } }, undefined],
  ]
  for (const [document, at] of cases) {
    const { unreadable } = await decoded(JSON.stringify(document))
    deepEqual(unreadable, [{ type: 'Unreadable', at, isWrapped: true }])
  }
})

const ofClusters: readonly (readonly [string, string, string])[] = [
  [
    'AKS',
    '/subscriptions/s/a',
    JSON.stringify({
      records: ['a', 'b'].map((name) => ({
        ...aks(written(name)),
        resourceId: `/SUBSCRIPTIONS/S/${name.toUpperCase()}`,
      })),
    }),
  ],
  [
    'GKE',
    'p/l/a',
    lines(
      ...['a', 'b'].map((name) => ({
        ...deletion(name),
        resource: { labels: { project_id: 'p', location: 'l', cluster_name: name } },
      })),
    ),
  ],
  [
    'EKS',
    '/aws/eks/a/cluster',
    JSON.stringify({
      records: ['a', 'b'].map((name) => ({
        data: zipped({ ...subscription(written(name)), logGroup: `/aws/eks/${name}/cluster` }),
      })),
    }),
  ],
]

for (const [cloud, source, text] of ofClusters) {
  test(`${cloud}: of two clusters one is read where it is named, else none is guessed`, async () => {
    const read = await decoded(text, 99, { source })
    deepEqual([names(read), read.decoder.others], [['a'], 1])
    await rejects(decoded(text), /events of several clusters, of \S+ and of \S+: name the one/)
  })
}
