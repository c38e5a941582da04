/**
 * Shows what a restore sends, and how it reads answers: created, exists already, refused, or
 * unknown.
 */
import { deepEqual, equal, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import type { NamedResource } from '../../ports/cluster.ts'
import { type Exchange, ExchangeError, type ExchangeRequest } from '../../ports/exchange.ts'
import { openRestorer } from './restorer.ts'

const SIGNAL = AbortSignal.timeout(30_000)
const WEB: NamedResource = {
  ...{ group: 'apps', version: 'v1', kind: 'ReplicaSet', resource: 'replicasets' },
  ...{ scope: 'Namespaced', namespace: 'shop', name: 'web' },
}
const ROLE: NamedResource = {
  ...{ group: 'rbac.authorization.k8s.io', version: 'v1', kind: 'ClusterRole' },
  ...{ resource: 'clusterroles', scope: 'Cluster', namespace: '', name: 'web' },
}
/** As a dry run answers: with a uid, without a version. */
const MADE = { kind: 'ReplicaSet', apiVersion: 'apps/v1', metadata: { name: 'web', uid: 'u-1' } }

function scripted(status: number, body: unknown) {
  const sent: ExchangeRequest[] = []
  const exchange: Exchange = {
    request: async (request) => {
      sent.push(request)
      if (body instanceof Error) throw body
      const headers = { 'content-type': 'application/json' }
      return { status, headers, body: bytes(JSON.stringify(body)) }
    },
    [Symbol.asyncDispose]: async () => {},
  }
  return { restorer: openRestorer({ name: 'test', exchange }), sent }
}

async function* bytes(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text)
}

test('a POST to the collection, and a dry run in the address', async () => {
  const { restorer, sent } = scripted(201, MADE)
  await restorer.create(WEB, '{"a":1}', false, SIGNAL)
  await restorer.create(WEB, '{"a":1}', true, SIGNAL)
  await restorer.create(ROLE, '{}', false, SIGNAL)
  deepEqual(
    sent.map(({ method, path, body }) => [method, path, body]),
    [
      ['POST', '/apis/apps/v1/namespaces/shop/replicasets?fieldManager=kinfold-restore', '{"a":1}'],
      [
        'POST',
        '/apis/apps/v1/namespaces/shop/replicasets?fieldManager=kinfold-restore&dryRun=All',
        '{"a":1}',
      ],
      [
        'POST',
        '/apis/rbac.authorization.k8s.io/v1/clusterroles?fieldManager=kinfold-restore',
        '{}',
      ],
    ],
  )
})

test('a guarded PATCH under the name of a restore, and none without a test of the uid', async () => {
  const changed = {
    ...MADE,
    metadata: { ...MADE.metadata, namespace: 'shop', resourceVersion: '8' },
  }
  const { restorer, sent } = scripted(200, changed)
  const target = { ...WEB, uid: 'u-1', resourceVersion: '7', aggregated: false }
  const guard = { op: 'test', path: '/metadata/uid', value: 'u-1' } as const
  const add = { op: 'add', path: '/metadata/ownerReferences', value: [] } as const
  equal((await restorer.patch(target, [guard, add], false, SIGNAL)).type, 'Changed')
  await rejects(restorer.patch(target, [add], false, SIGNAL), /without a guard is never sent/)
  deepEqual(
    sent.map(({ method, path, body }) => [method, path, body]),
    [
      [
        'PATCH',
        '/apis/apps/v1/namespaces/shop/replicasets/web?fieldManager=kinfold-restore',
        JSON.stringify([guard, add]),
      ],
    ],
  )
})

function refusal(code: number, reason: string): object {
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason }
}

const answers: readonly (readonly [string, number, unknown, string])[] = [
  ['what was made', 201, MADE, 'Created'],
  ['an object of that name', 409, refusal(409, 'AlreadyExists'), 'Exists'],
  ['a right that is missing', 403, refusal(403, 'Forbidden'), 'Refused'],
  ['what is not valid', 422, refusal(422, 'Invalid'), 'Refused'],
  ['a namespace that is not there', 404, refusal(404, 'NotFound'), 'Refused'],
  ['a server that is busy', 429, refusal(429, 'TooManyRequests'), 'Unknown'],
  ['a server that failed, and may have made it', 500, refusal(500, 'InternalError'), 'Unknown'],
  ['another object than was sent', 201, { ...MADE, kind: 'Pod' }, 'Unknown'],
  ['a connection that broke', 0, new ExchangeError('CUT', 'it was cut'), 'Unknown'],
]

for (const [what, status, body, expected] of answers) {
  test(`tells ${what} as ${expected}`, async () => {
    const { restorer } = scripted(status, body)
    equal((await restorer.create(WEB, '{}', false, SIGNAL)).type, expected)
  })
}

test('sends nothing to where no object can be', async () => {
  const { restorer, sent } = scripted(201, MADE)
  equal((await restorer.create({ ...WEB, name: 'a/b' }, '{}', false, SIGNAL)).type, 'Refused')
  deepEqual(sent, [])
})
