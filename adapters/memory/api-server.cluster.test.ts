/**
 * Sends the same requests to a real kube-apiserver and to the one in memory, and demands the same
 * answers: status, reason, details, and those fields of an object that a collector reads.
 *
 * Not here: wording of messages, fields of bodies, managedFields.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { after, before, suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { type Schema, schemaText } from '../../testing/cluster/schema-text.ts'
import { BUILT_IN } from './api/kind.ts'
import { isSchemaOf, SCHEMA_FILE } from './api/read/schema.ts'
import { type Answer, ApiFixture, METADATA, METADATA_LIST } from './api-server.fixture.ts'

type Ask = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<Answer>

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const CONTROLLERS = '/api/v1/namespaces/default/replicationcontrollers'
const SERVICE_ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts'
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases'
const JSON_PATCH = { 'content-type': 'application/json-patch+json' }
const MERGE_PATCH = { 'content-type': 'application/merge-patch+json' }
const TEMPLATE = {
  metadata: { labels: { a: 'b' } },
  spec: { containers: [{ name: 'c', image: 'i' }] },
}
const CONTROLLER_SPEC = { replicas: 0, selector: { a: 'b' }, template: TEMPLATE }

const FINALIZERS = [[], ['orphan'], ['foregroundDeletion'], ['a/b'], ['a/b', 'orphan']]
const POLICIES = [undefined, 'Foreground', 'Background', 'Orphan']

const absences = [
  `${CONFIG_MAPS}/zz`,
  '/apis/apps/v1/namespaces/default/deployments/zz',
  '/apis/apps/v1beta1/namespaces/default/deployments/zz',
  '/apis/apps/v1/namespaces/default/foos/zz',
  '/api/v1/namespaces/default/foos/zz',
  '/api/v2/namespaces/default/foos/zz',
  '/api/v1/configmaps/zz',
  '/api/v1/namespaces/default/nodes/zz',
  `${CONFIG_MAPS}/zz/status`,
  '/apis/no.such/v1/namespaces/default/foos/zz',
  '/apis/no.such',
  '/apis/apps/v1beta1',
  '/nothing',
]

const skip = missingServers('etcd', 'kube-apiserver')

suite('the API server in memory answers as kube-apiserver does', { skip: skip ?? false }, () => {
  let plane: ControlPlane
  const api = new ApiFixture()
  before(async () => {
    plane = await startControlPlane()
  })
  after(() => plane?.[Symbol.asyncDispose]())
  const real: Ask = (...asked) => plane.request(...asked) as Promise<Answer>
  const ours: Ask = (...asked) => api.request(...asked)

  /** Sends the same requests to both, and compares the essential part of every answer. */
  async function alike(story: (ask: Ask) => Promise<void>): Promise<void> {
    const told = async (ask: Ask) => {
      const answers: unknown[] = []
      await story(async (method, path, body, headers) => {
        const answer = await ask(method, path, body, headers)
        answers.push([method, path, essence(answer)])
        return answer
      })
      return answers
    }
    deepEqual(await told(ours), await told(real))
  }

  for (const path of absences) {
    test(`to GET ${path}`, () => alike(async (ask) => void (await ask('GET', path))))
  }

  for (const [kind, path, spec] of [
    ['ConfigMap', CONFIG_MAPS, undefined],
    ['ReplicationController', CONTROLLERS, CONTROLLER_SPEC],
  ] as const) {
    for (const [index, finalizers] of FINALIZERS.entries()) {
      for (const propagationPolicy of POLICIES) {
        const name = `m-${index}-${String(propagationPolicy).toLowerCase()}`
        const what = `[${finalizers}] by ${propagationPolicy ?? 'default'}, twice`
        test(`to DELETE of a ${kind} with ${what}`, () =>
          alike(async (ask) => {
            await ask('POST', path, { metadata: { name, finalizers }, spec })
            const options = { propagationPolicy }
            await ask('DELETE', `${path}/${name}`, options, { accept: METADATA })
            await ask('DELETE', `${path}/${name}`, undefined, { accept: METADATA })
            await ask('PATCH', `${path}/${name}`, { metadata: { finalizers: null } }, MERGE_PATCH)
            await ask('GET', `${path}/${name}`)
          }))
      }
    }
  }

  test('to guards, dry runs and bad options of a DELETE', () =>
    alike(async (ask) => {
      const it = `${CONFIG_MAPS}/guarded`
      await ask('POST', CONFIG_MAPS, { metadata: { name: 'guarded' } })
      await ask('DELETE', it, { preconditions: { uid: 'nope' } })
      await ask('DELETE', it, { preconditions: { resourceVersion: '1' } })
      await ask('DELETE', it, { propagationPolicy: 'Bogus' })
      await ask('DELETE', it, { propagationPolicy: 'Orphan', orphanDependents: true })
      await ask('DELETE', it, { dryRun: ['Some'] })
      await ask('DELETE', it, { dryRun: ['All'] })
      await ask('DELETE', `${it}?dryRun=All`)
      await ask('GET', it)
      await ask('DELETE', `${it}?dryRun=All`, { propagationPolicy: 'Background' })
      await ask('GET', it)
    }))

  test('to the DELETE of a kind that answers with the object', () =>
    alike(async (ask) => {
      await ask('POST', SERVICE_ACCOUNTS, { metadata: { name: 'shown' } })
      await ask('DELETE', `${SERVICE_ACCOUNTS}/shown`)
      await ask('GET', `${SERVICE_ACCOUNTS}/shown`)
    }))

  test('to patches', () =>
    alike(async (ask) => {
      const it = `${CONFIG_MAPS}/patched`
      const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u' }
      const ownerReferences = [reference, { ...reference, uid: 'v', controller: false }]
      await ask('POST', CONFIG_MAPS, { metadata: { name: 'patched', ownerReferences } })
      const path = '/metadata/ownerReferences/1'
      const patch = (value: unknown, at = path) => {
        const operations = [
          { op: 'test', path: at, value },
          { op: 'remove', path: at },
        ]
        return ask('PATCH', it, operations, JSON_PATCH)
      }
      await patch({ ...reference, uid: 'v' })
      await patch({ ...reference, uid: 'v', controller: true })
      await patch(ownerReferences[1])
      await patch(ownerReferences[1])
      await ask('PATCH', it, [{ op: 'bogus', path }], JSON_PATCH)
      await ask('PATCH', it, {}, JSON_PATCH)
      await ask('PATCH', it, { metadata: { uid: 'x' } }, MERGE_PATCH)
      await ask('PATCH', it, { metadata: { resourceVersion: '1' } }, MERGE_PATCH)
      await ask('PATCH', it, { metadata: { finalizers: ['foo'] } }, MERGE_PATCH)
      await ask('PATCH', `${CONFIG_MAPS}/zz`, [], JSON_PATCH)
      const strategic = { 'content-type': 'application/strategic-merge-patch+json' }
      const drop = { metadata: { ownerReferences: [{ $patch: 'delete', uid: 'u' }] } }
      await ask('PATCH', it, drop, strategic)
    }))

  test('to creations that are refused', () =>
    alike(async (ask) => {
      const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u' }
      const wrong = [
        {},
        { name: 'Bad_Name' },
        { name: 'x', namespace: 'other' },
        { name: 'x', finalizers: ['foo'] },
        { name: 'x', finalizers: ['orphan', 'foregroundDeletion'] },
        { name: 'x', ownerReferences: [{ ...reference, uid: '' }] },
        { name: 'x', ownerReferences: [{ ...reference, kind: 'Event' }] },
        {
          name: 'x',
          ownerReferences: [
            { ...reference, controller: true },
            { ...reference, uid: 'v', controller: true },
          ],
        },
      ]
      for (const metadata of wrong) await ask('POST', CONFIG_MAPS, { metadata })
      await ask('POST', '/api/v1/namespaces/nope/configmaps', { metadata: { name: 'x' } })
      const ownerReferences = [reference, reference]
      await ask('POST', CONFIG_MAPS, { metadata: { name: 'twice', ownerReferences } })
      await ask('POST', CONFIG_MAPS, { metadata: { name: 'twice' } })
      await ask('POST', `${CONFIG_MAPS}/twice`, {})
      await ask('DELETE', '/api/v1/namespaces/kube-system')
      await ask('DELETE', '/api/v1/namespaces')
    }))

  test('to PUTs of a Lease, which make it where it is missing and need a version where it is not', () =>
    alike(async (ask) => {
      const it = `${LEASES}/put`
      const metadata = { name: 'put', namespace: 'default' }
      const put = (more: object, spec: object = {}) =>
        ask('PUT', it, { metadata: { ...metadata, ...more }, spec })
      await put({ uid: 'gone', resourceVersion: '1' })
      await put({ name: 'other' })
      const made = await put({}, { leaseTransitions: 1 })
      await put({}, { leaseTransitions: 2 })
      const { uid, resourceVersion } = made.body.metadata
      await put({ uid, resourceVersion }, { leaseTransitions: 2 })
      await put({ uid, resourceVersion }, { leaseTransitions: 3 })
      await put({ uid: 'other' }, { leaseTransitions: 3 })
      await ask('DELETE', it)
      await put({ uid, resourceVersion }, { leaseTransitions: 3 })
      await ask('GET', it)
      await ask('PUT', `${CONFIG_MAPS}/zz`, { metadata: { name: 'zz' } })
    }))

  test('to lists that are refused', () =>
    alike(async (ask) => {
      for (const query of [
        'resourceVersion=99999999',
        'resourceVersion=abc',
        'resourceVersionMatch=NotOlderThan',
        'resourceVersion=0&resourceVersionMatch=Exact',
        'continue=abc',
        'labelSelector=x%3D%3D%3D',
        'fieldSelector=spec.foo%3Dx',
        'watch=1&sendInitialEvents=true',
      ]) {
        await ask('GET', `${CONFIG_MAPS}?${query}`)
      }
      await ask('GET', CONFIG_MAPS, undefined, { accept: METADATA })
      await ask('GET', `${CONFIG_MAPS}/zz`, undefined, { accept: METADATA_LIST })
      await ask('GET', CONFIG_MAPS, undefined, { accept: 'application/xml' })
    }))

  test('describes the fields of its kinds as kube-apiserver does', async () => {
    const schemas: Record<string, Schema> = {}
    for (const group of new Set(BUILT_IN.map((kind) => kind.group))) {
      const path = group === '' ? 'api/v1' : `apis/${group}/v1`
      const { body } = await real('GET', `/openapi/v3/${path}`)
      Object.assign(schemas, body.components.schemas)
    }
    const isKind = (name: string) => BUILT_IN.some((kind) => isSchemaOf(name, kind, 'v1'))
    const text = schemaText(schemas, isKind)
    if (process.env['UPDATE'] === '1') writeFileSync(SCHEMA_FILE, text)
    ok(readFileSync(SCHEMA_FILE, 'utf8') === text, 'UPDATE=1 writes what the server says now')
  })
})

/** The part that must be the same: identities, versions and times cannot be. */
function essence({ status, body }: Answer): unknown {
  if (typeof body !== 'object' || body.kind === undefined) return [status, body]
  if (body.kind === 'Status') {
    const { uid, causes, ...details } = body.details ?? {}
    const fields = causes?.map((cause: { reason: string; field?: string }) => {
      return [cause.reason, cause.field]
    })
    // The real server reports some causes twice.
    const distinct = [...new Set(fields?.map((it: unknown) => JSON.stringify(it)))]
    return [status, body.reason, details, distinct, uid !== undefined]
  }
  const { finalizers, ownerReferences, deletionGracePeriodSeconds, generation } = body.metadata
  const isMarked = body.metadata.deletionTimestamp !== undefined
  return [
    ...[status, body.kind, finalizers, ownerReferences],
    ...[deletionGracePeriodSeconds, generation, isMarked],
  ]
}
