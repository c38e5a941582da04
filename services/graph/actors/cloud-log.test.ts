/** Audit logs as EKS, GKE and AKS export them: records of our own, after the clouds' documentation. */
import { deepEqual, equal, match, throws } from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { auditEvent } from '../../../testing/audit-event.ts'
import type { Asked } from './audit-event.ts'
import { CloudLog, type Format } from './cloud-log.ts'

const AT = Date.UTC(2026, 10, 27, 12, 3, 4)
const TIME = '2026-11-27T12:03:04.123456Z'

interface Read {
  readonly log: CloudLog
  readonly asked: readonly Asked[]
}

/** Of parts of so many bytes. */
function readOf(text: string | Buffer, size = 65_536, only?: Format): Read {
  const asked: Asked[] = []
  const log = new CloudLog((each) => asked.push(each), only)
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) log.push(bytes.subarray(at, at + size))
  log.end()
  return { log, asked }
}

const event = (name: string, more: object = {}): object => ({
  ...{ kind: 'Event', apiVersion: 'audit.k8s.io/v1' },
  ...auditEvent(name, AT, { ...more }),
})
const written = (name: string, more: object = {}): string => JSON.stringify(event(name, more))
const names = ({ asked }: Read): readonly string[] => asked.map(({ name }) => name)
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
  ['events', 'events', lines(event('a'), event('b'))],
]

for (const [name, format, text] of whole) {
  test(`${name}: read as ${format}, in parts of any size`, () => {
    for (const size of [1, 7, 65_536]) {
      const read = readOf(text, size)
      deepEqual(names(read), ['a', 'b'])
      deepEqual([...read.log.formats], [format])
      deepEqual([read.log.received, read.log.unreadable, read.log.others], [2, 0, 0])
    }
  })
}

test('of a text within a text characters and escapes are as they were', () => {
  const user = { username: 'zoë "q" \\ \u{1f600} \u0001\n' }
  const text = JSON.stringify(eks(written('a', { user }))).replace('ë', '\\u00eb')
  for (const size of [1, 3, 65_536]) equal(readOf(text, size).asked[0]?.user, user.username)
})

test('a message that is cut costs itself alone, and is counted with its line', () => {
  const text = `\n${JSON.stringify(eks(written('a'), written('x').slice(0, 99), 'no JSON', written('b')))}`
  const read = readOf(text)
  deepEqual(names(read), ['a', 'b'])
  deepEqual([read.log.received, read.log.unreadable, read.log.firstUnreadable], [4, 2, 2])
})

test('a piece that is no gzip is counted, as is one that is too large', () => {
  const large = gzipSync(Buffer.alloc(65 * 1024 * 1024, 0x20)).toString('base64')
  for (const data of ['AAAA', large, 'A'.repeat(8 * 1024 * 1024 + 1)]) {
    const read = readOf(lines({ awslogs: { data } }, subscription(written('a'))))
    deepEqual([names(read), read.log.unreadable], [['a'], 1])
  }
})

test('what is of another log is counted as that', () => {
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
  const read = readOf(lines(control, other, container, guard, text))
  deepEqual([read.log.others, read.log.unreadable, read.asked.length], [5, 0, 0])
  const tail = readOf(
    `2026-11-27T12:03:04.1+00:00 authenticator-1 {"a":\n2026-11-27T12:03:04 ${written('a')}\n`,
  )
  deepEqual([names(tail), tail.log.others, tail.log.line], [['a'], 1, 3])
})

test('an entry of GKE says verb, object, user and client; times are one', () => {
  const uid = { response: { details: { uid: 'u' } }, request: { kind: 'DeleteOptions' } }
  const path = 'apps/v1/namespaces/shop/deployments/web'
  const [asked] = readOf(lines(gke('io.k8s.apps.v1.deployments.delete', path, uid))).asked
  const at = Date.parse(TIME)
  deepEqual(asked, {
    ...{ type: 'Actor', auditId: `id-${path}`, verb: 'delete', group: 'apps' },
    ...{ resource: 'deployments', namespace: 'shop', name: 'web', uid: 'u' },
    ...{ user: 'alice@example.com', impersonated: null, agent: 'kubectl/v1.33.0' },
    ...{ mayBeDryRun: false, from: at, at },
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
  test(`GKE: ${method}`, () => {
    const [asked] = readOf(lines(gke(method, path))).asked
    deepEqual([asked?.verb, asked?.group, asked?.resource, asked?.namespace, asked?.name], expected)
    equal(asked?.mayBeDryRun, true)
  })
}

test('GKE: refused requests, dry runs, starts of operations and other verbs attribute nothing', () => {
  const of = (more: object, entry = {}): object =>
    gke('io.k8s.core.v1.pods.delete', 'core/v1/namespaces/ns/pods/a', more, entry)
  const read = readOf(
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
  deepEqual([read.asked, read.log.received, read.log.unreadable], [[], 7, 0])
})

test('a field of any size takes no memory and costs nothing beside it', () => {
  const requestURI = `/?${'x'.repeat(3_000_000)}`
  const read = readOf(JSON.stringify(eks(written('a', { requestURI }), written('b'))))
  deepEqual([names(read), read.log.unreadable], [['a', 'b'], 0])
})

test('another format than the one that was named is refused, and so is what is none', () => {
  throws(
    () => readOf(JSON.stringify(eks(written('a'))), 99, 'aks'),
    /this is eks, and --format says aks/,
  )
  throws(() => readOf(lines({ a: 1 })), /what EKS, GKE or AKS export/)
  throws(() => readOf('[1]'), /what EKS, GKE or AKS export/)
  throws(() => readOf('[{}'), /what EKS/)
  match(String(readOf('[]').log.received), /^0$/)
})
