/**
 * Shows which owners count on a real API server: several of them, one in another namespace,
 * cluster-scoped ones, and custom resources.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import {
  CLUSTER_ROLE,
  CONFIG_MAP,
  type Kind,
  kind,
  type Made,
  make,
  makeAll,
  missingOf,
  NAMESPACE,
  ownersOf,
  remove,
  SECRET,
  untilGone,
} from '../../testing/process/objects.ts'

const DEFINITION: Kind = {
  ...kind('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions'),
  namespaced: false,
}
const WIDGET = kind('example.test/v1', 'Widget', 'widgets')
const GADGET = kind('example.test/v1', 'Gadget', 'gadgets')

const skip = missingServers('etcd', 'kube-apiserver')

suite('an owner', { skip: skip ?? false }, () => {
  let plane: ControlPlane
  let kinfold: KinfoldProcess

  before(async () => {
    plane = await startControlPlane()
    await define(plane, WIDGET)
    await makeAll(plane, [
      { kind: NAMESPACE, name: 'north' },
      { kind: NAMESPACE, name: 'south' },
    ])
    const { kubeconfig, folder } = plane
    kinfold = await KinfoldProcess.start({ kubeconfig, data: join(folder, 'kinfold') })
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
  })

  test('that went beside a solid one: its reference is dropped by one patch, and the last one counts', async () => {
    const [first, second, third] = await makeThree('several')
    const owners = [first, second, third]
    const dependent = await make(plane, { kind: SECRET, name: 'several', owners })
    const before = await plane.requestCounts()
    await remove(plane, second)
    await eventually('the reference is dropped', async () => {
      const names = await ownersOf(plane, dependent)
      return names?.join() === 'several-0,several-2' || String(names)
    })
    await kinfold.idle()
    const after = await plane.requestCounts()
    equal((after.get('PATCH secrets') ?? 0) - (before.get('PATCH secrets') ?? 0), 1)

    await remove(plane, first)
    await remove(plane, third)
    await untilGone(plane, [dependent])
  })

  test('that never was, beside a solid one: its reference is dropped, too', async () => {
    const solid = await make(plane, { kind: CONFIG_MAP, name: 'solid' })
    const never = { apiVersion: 'v1', kind: 'ConfigMap', name: 'never', uid: 'made-up' }
    const dependent = await make(plane, { kind: SECRET, name: 'beside', owners: [never, solid] })
    await eventually('the reference is dropped', async () => {
      const names = await ownersOf(plane, dependent)
      return names?.join() === 'solid' || String(names)
    })
  })

  test('in another namespace is none: its dependent goes by not-found', async () => {
    const owner = await make(plane, { kind: CONFIG_MAP, name: 'far', namespace: 'north' })
    const dependent = await make(plane, {
      kind: CONFIG_MAP,
      name: 'astray',
      namespace: 'south',
      owners: [owner],
    })
    const near = await make(plane, {
      kind: CONFIG_MAP,
      name: 'near',
      namespace: 'north',
      owners: [owner],
    })
    await untilGone(plane, [dependent])
    deepEqual(await evidenceOf(kinfold, dependent), ['not-found'])
    deepEqual(await missingOf(plane, [owner, near]), [])
  })

  test('without a namespace has dependents in all of them', async () => {
    const owner = await make(plane, { kind: CLUSTER_ROLE, name: 'wide' })
    const dependents = await makeAll(plane, [
      { kind: CONFIG_MAP, name: 'under', namespace: 'north', owners: [owner] },
      { kind: CONFIG_MAP, name: 'under', namespace: 'south', owners: [owner] },
      { kind: CLUSTER_ROLE, name: 'under', owners: [owner] },
    ])
    await remove(plane, owner)
    await untilGone(plane, dependents)
    for (const dependent of dependents) deepEqual(await evidenceOf(kinfold, dependent), ['deleted'])
  })

  test('may be a custom resource, and so may dependents', async () => {
    const root = await make(plane, { kind: WIDGET, name: 'root' })
    const middle = await make(plane, { kind: WIDGET, name: 'middle', owners: [root] })
    const leaf = await make(plane, { kind: CONFIG_MAP, name: 'custom-leaf', owners: [middle] })
    const solid = await make(plane, { kind: WIDGET, name: 'solid' })
    const shared = await make(plane, { kind: WIDGET, name: 'shared', owners: [root, solid] })
    await remove(plane, root)
    await untilGone(plane, [middle, leaf])
    await eventually('the reference is dropped', async () => {
      const names = await ownersOf(plane, shared)
      return names?.join() === 'solid' || String(names)
    })
  })

  test('may be of a kind that is defined while it runs', async () => {
    await define(plane, GADGET)
    const [gone1, kept] = await makeAll(plane, [
      { kind: GADGET, name: 'gone' },
      { kind: GADGET, name: 'kept' },
    ])
    const [dependent, stays] = await makeAll(plane, [
      { kind: CONFIG_MAP, name: 'of-gone', owners: [gone1!] },
      { kind: CONFIG_MAP, name: 'of-kept', owners: [kept!] },
    ])
    await remove(plane, gone1!)
    await untilGone(plane, [dependent!])
    await eventually('the owner is seen', async () => {
      const [verdict = ''] = await kinfold.verdicts([stays!])
      return verdict === 'keep' || verdict
    })
    deepEqual(await missingOf(plane, [stays!]), [])
  })

  test('is asked for by the short name of its definition, and by none that it lacks', async () => {
    const made = await make(plane, { kind: WIDGET, name: 'named' })
    const asked = { kind: shortOf(WIDGET.resource), name: 'named' }
    await eventually('it is seen', async () => (await kinfold.why(made)) !== undefined)
    equal((await kinfold.why(asked))?.object.uid, made.uid)
    equal(await kinfold.why({ ...asked, kind: 'w' }), undefined)
  })

  async function makeThree(name: string): Promise<[Made, Made, Made]> {
    const drafts = [0, 1, 2].map((i) => ({ kind: CONFIG_MAP, name: `${name}-${i}` }))
    return (await makeAll(plane, drafts)) as [Made, Made, Made]
  }
})

function shortOf(resource: string): string {
  return resource.slice(0, 2)
}

/** Resolves when the server serves it. */
async function define(
  plane: ControlPlane,
  { apiVersion, kind: name, resource }: Kind,
): Promise<void> {
  const [group = '', version = ''] = apiVersion.split('/')
  const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  const spec = {
    group,
    scope: 'Namespaced',
    names: { plural: resource, kind: name, shortNames: [shortOf(resource)] },
    versions: [{ name: version, served: true, storage: true, schema: { openAPIV3Schema } }],
  }
  await make(plane, { kind: { ...DEFINITION, body: { spec } }, name: `${resource}.${group}` })
  await eventually(`${name} is served`, async () => {
    const path = `/apis/${apiVersion}/namespaces/default/${resource}`
    const { status } = await plane.request('GET', path)
    return status === 200 || `${status}`
  })
}

/** Of each DELETE that was asked for. */
async function evidenceOf(kinfold: KinfoldProcess, made: Made): Promise<unknown[]> {
  let found: unknown[] = []
  await eventually('its history is indexed', async () => {
    const history = (await kinfold.why(made))?.history ?? []
    found = history.filter(({ change }) => change === 'command').map(({ evidence }) => evidence)
    return history.some(({ change }) => change === 'gone')
  })
  return found
}
