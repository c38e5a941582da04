/**
 * Shows that `kinfold up` collects whole trees on a real API server, with one call for each object,
 * and leaves alone what is not garbage.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { touchedUids } from '../../testing/process/kinfold-log.ts'
import { KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import {
  atOnce,
  CLUSTER_ROLE,
  CONFIG_MAP,
  DEPLOYMENT,
  type Kind,
  type Made,
  make,
  makeAll,
  mergePatch,
  missingOf,
  POD,
  pathOf,
  REPLICA_SET,
  type Reference,
  remove,
  uidsOf,
} from '../../testing/process/objects.ts'

const MIDDLES = 10
const LEAVES = 990
const KINDS = [DEPLOYMENT, REPLICA_SET, POD] as const

const skip = missingServers('etcd', 'kube-apiserver')

suite('kinfold up, on a real API server,', { skip: skip ?? false }, () => {
  let plane: ControlPlane
  let kinfold: KinfoldProcess
  let bystanders: readonly Made[]

  before(async () => {
    plane = await startControlPlane()
    const { kubeconfig, folder } = plane
    kinfold = await KinfoldProcess.start({ kubeconfig, data: join(folder, 'kinfold') })
    bystanders = await makeBystanders(plane)
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
  })

  test('collects a tree of 1,000 dependents, three deep, with one call for each', async () => {
    const tree = await makeTree(plane, 'plain')
    await allJudged(kinfold, tree)
    const calls = await callsToCollect(plane, tree)
    ok(calls <= 1.01, `${calls} calls for each object`)
  })

  test('needs hardly more where statuses and annotations were written since', async () => {
    const tree = await makeTree(plane, 'written')
    await atOnce(tree.leaves, (pod) => writeStatus(plane, pod))
    await atOnce(tree.middles, (set) => annotate(plane, set))
    // They are published in batches: from here on each version that Kinfold holds is the server's.
    const look = async (): Promise<boolean | string> => {
      const told = await touchedUids(kinfold.data)
      const left = [...tree.leaves, ...tree.middles].filter(({ uid }) => !told.has(uid))
      return left.length === 0 || `${left.length} left`
    }
    await eventually('all writes are on the log', look, { everyMs: 500 })
    const calls = await callsToCollect(plane, tree)
    ok(calls <= 1.05, `${calls} calls for each object`)
  })

  test('keeps what has a live owner, no owner, or one that cannot be resolved', async () => {
    const expected = bystanders.map(({ name }) => EXPECTED_VERDICTS[name])
    const owner = await make(plane, { kind: CONFIG_MAP, name: 'marked' })
    const marker = await make(plane, { kind: CONFIG_MAP, name: 'marker', owners: [owner] })
    await remove(plane, owner)
    // Whatever was to go because of what happened before has gone by now.
    await eventually('the marker goes', async () => (await missingOf(plane, [marker])).length === 1)
    await kinfold.idle()
    deepEqual(await missingOf(plane, bystanders), [])
    deepEqual(await kinfold.verdicts(bystanders), expected)
  })
})

interface Tree {
  readonly root: Made
  readonly middles: readonly Made[]
  readonly leaves: readonly Made[]
}

async function makeTree(plane: ControlPlane, set: string): Promise<Tree> {
  const root = await make(plane, { kind: DEPLOYMENT, name: set, set })
  const middles = await makeAll(
    plane,
    Array.from({ length: MIDDLES }, (_, i) => {
      return { kind: REPLICA_SET, name: `${set}-${i}`, set, owners: [controllerOf(root)] }
    }),
  )
  const leaves = await makeAll(
    plane,
    Array.from({ length: LEAVES }, (_, i) => {
      const owner = controllerOf(middles[i % MIDDLES]!)
      return { kind: POD, name: `${set}-${i}`, set, owners: [owner] }
    }),
  )
  return { root, middles, leaves }
}

/** As controllers write it. */
function controllerOf({ kind: { apiVersion, kind }, name, uid }: Made): Reference {
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }
}

async function allJudged(kinfold: KinfoldProcess, { leaves }: Tree): Promise<void> {
  const last = leaves.slice(-MIDDLES)
  await eventually('the last leaves are seen', async () => {
    return (await kinfold.verdicts(last)).every((verdict) => verdict === 'keep')
  })
}

/**
 * Deletes the root, waits until nothing is left, and counts calls that change or read one object.
 */
async function callsToCollect(plane: ControlPlane, tree: Tree): Promise<number> {
  const set = tree.root.name
  const before = await objectCalls(plane)
  await remove(plane, tree.root)
  await eventually(`everything of ${set} goes`, async () => {
    const left = await Promise.all(KINDS.map((of) => uidsOf(plane, of, set)))
    const count = left.reduce((sum, { size }) => sum + size, 0)
    return count === 0 || `${count} left`
  })
  const ours = 1
  const made = (await objectCalls(plane)) - before - ours
  return made / (tree.middles.length + tree.leaves.length)
}

async function objectCalls(plane: ControlPlane): Promise<number> {
  const counts = await plane.requestCounts()
  const keys = KINDS.flatMap(({ resource }) => VERBS.map((verb) => `${verb} ${resource}`))
  return keys.reduce((sum, key) => sum + (counts.get(key) ?? 0), 0)
}

const VERBS = ['DELETE', 'GET', 'PATCH', 'PUT'] as const

async function writeStatus(plane: ControlPlane, pod: Made): Promise<void> {
  await mergePatch(plane, `${pathOf(pod)}/status`, { status: { message: 'written' } })
}

async function annotate(plane: ControlPlane, made: Made): Promise<void> {
  await mergePatch(plane, pathOf(made), { metadata: { annotations: { written: 'yes' } } })
}

const EXPECTED_VERDICTS: Readonly<Record<string, string>> = {
  alive: 'none',
  owned: 'keep',
  alone: 'none',
  'of-an-unserved-kind': 'blocked',
  'of-an-unserved-version': 'blocked',
  'of-a-namespaced-owner': 'blocked',
}

async function makeBystanders(plane: ControlPlane): Promise<Made[]> {
  const alive = await make(plane, { kind: CONFIG_MAP, name: 'alive' })
  const nobody = { name: 'nobody', uid: '1b2f3a52-55d4-4d4c-8f7e-000000000000' }
  const one = (name: string, of: Kind, owners: readonly (Made | Reference)[]): Promise<Made> =>
    make(plane, { kind: of, name, owners })
  return [
    alive,
    await one('owned', CONFIG_MAP, [alive]),
    await one('alone', CONFIG_MAP, []),
    await one('of-an-unserved-kind', CONFIG_MAP, [
      { apiVersion: 'example.test/v1', kind: 'Nothing', ...nobody },
    ]),
    await one('of-an-unserved-version', CONFIG_MAP, [
      { apiVersion: 'apps/v1beta9', kind: 'Deployment', ...nobody },
    ]),
    await one('of-a-namespaced-owner', CLUSTER_ROLE, [
      { apiVersion: 'v1', kind: 'ConfigMap', ...nobody },
    ]),
  ]
}
