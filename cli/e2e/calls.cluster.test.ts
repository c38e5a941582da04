/**
 * Shows what each way of deleting costs a real API server: how many calls for a dependent, and for
 * an owner that waits.
 *
 * What must stay true: counted are all requests about single objects of the kinds concerned, as the
 * server's own metrics report them. Left out is what no object costs: LIST and WATCH are verbs of
 * their own there, discovery names no resource, and GETs of kube-system, by which the cluster is
 * known, come with each list, watch and heartbeat. No other client works on this server, and the
 * test's own requests are subtracted.
 *
 * Not here: the plain cascade in the background (cascade.cluster.test.ts).
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { canary } from '../../testing/conformance/canary.ts'
import { define } from '../../testing/conformance/kinds.ts'
import { eventually } from '../../testing/eventually.ts'
import { KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import {
  atOnce,
  CONFIG_MAP,
  DEPLOYMENT,
  type Draft,
  type Kind,
  kind,
  type Made,
  make,
  makeAll,
  mergePatch,
  ownersOf,
  POD,
  pathOf,
  REPLICA_SET,
  type Reference,
  remove,
  SECRET,
  uidsOf,
} from '../../testing/process/objects.ts'
import { type Chance, seeded } from '../../testing/seeded.ts'

const DEPENDENTS = 300
/** Few: on a slow server a look at each owner that waits may come in between. */
const MIDDLES = 3
const PER_DEPENDENT = 1.01
const PER_UNORDERED = 1.05
const WIDGET: Kind = kind('calls.test/v1', 'Widget', 'widgets')
const VERBS = ['DELETE', 'GET', 'PATCH', 'APPLY', 'PUT', 'POST'] as const

const skip = missingServers('etcd', 'kube-apiserver')

suite('kinfold up, on a real API server,', { skip: skip ?? false }, () => {
  let plane: ControlPlane
  let kinfold: KinfoldProcess

  before(async () => {
    plane = await startControlPlane()
    await define(plane, WIDGET)
    const { kubeconfig, folder } = plane
    kinfold = await KinfoldProcess.start({ kubeconfig, data: join(folder, 'kinfold') })
    await canary(plane, [{ kind: WIDGET, namespace: 'default' }])
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
  })

  test('ends a foreground deletion with one call for each blocking dependent and one for the owner', async () => {
    const family = await makeFamily(plane, { owner: CONFIG_MAP, dependent: SECRET, set: 'wide' })
    await judged(kinfold, family.dependents)
    const calls = await callsOf(plane, kinfold, [CONFIG_MAP, SECRET], async () => {
      await remove(plane, family.owner, 'Foreground')
      await gone(plane, [CONFIG_MAP, SECRET], 'wide')
      return 1
    })
    assertWithin(calls, DEPENDENTS + 1, PER_DEPENDENT * DEPENDENTS + 1)
  })

  test('ends one three levels deep with one call for each dependent and one for each owner that waits', async () => {
    const { root, middles, leaves } = await makeTree(plane, 'deep')
    await judged(kinfold, [...middles, ...leaves])
    const calls = await callsOf(plane, kinfold, TREE_KINDS, async () => {
      await remove(plane, root, 'Foreground')
      await gone(plane, TREE_KINDS, 'deep')
      return 1
    })
    const waiting = middles.length + 1
    assertWithin(calls, DEPENDENTS + waiting, PER_DEPENDENT * DEPENDENTS + waiting)
  })

  for (const dependent of [SECRET, WIDGET]) {
    const set = `orphans-${dependent.resource}`
    test(`orphans ${dependent.resource} with one call for each and one for the owner`, async () => {
      const family = await makeFamily(plane, { owner: CONFIG_MAP, dependent, set })
      await judged(kinfold, family.dependents)
      const kinds = [CONFIG_MAP, dependent]
      const calls = await callsOf(plane, kinfold, kinds, async () => {
        await remove(plane, family.owner, 'Orphan')
        await gone(plane, [CONFIG_MAP], set)
        return 1
      })
      assertWithin(calls, DEPENDENTS + 1, PER_DEPENDENT * DEPENDENTS + 1)
      equal((await uidsOf(plane, dependent, set)).size, DEPENDENTS)
      const left = await atOnce(family.dependents, (one) => ownersOf(plane, one))
      deepEqual(new Set(left.flat()), new Set())
    })
  }
})

suite('kinfold up, started where owners and dependents were written in any order,', {
  skip: skip ?? false,
}, () => {
  let plane: ControlPlane

  before(async () => {
    plane = await startControlPlane()
  })
  after(async () => {
    await plane?.[Symbol.asyncDispose]()
  })

  for (const [when, begin] of [
    ['once it is ready', KinfoldProcess.start],
    ['while it lists', KinfoldProcess.spawn],
  ] as const) {
    test(`collects Deployments that go ${when}`, async () => {
      const set = begin.name
      const deployments = await makeUnordered(plane, set, seeded(41))
      const data = join(plane.folder, set)
      await using kinfold = await begin({ kubeconfig: plane.kubeconfig, data })
      const calls = await callsOf(plane, kinfold, TREE_KINDS, async () => {
        await atOnce(deployments, (one) => remove(plane, one))
        await gone(plane, TREE_KINDS, set)
        return deployments.length
      })
      assertWithin(calls, UNORDERED, PER_UNORDERED * UNORDERED)
    })
  }
})

/** Fewer than one for each object would be a count that misses some. */
function assertWithin({ all, shown }: Calls, objects: number, budget: number): void {
  ok(all >= objects && all <= budget, `${all} calls where ${budget} are enough: ${shown}`)
}

interface Calls {
  readonly all: number
  readonly shown: string
}

/**
 * What others ask for while `work` goes on, which answers how many calls of the kind it made
 * itself.
 */
async function callsOf(
  plane: ControlPlane,
  kinfold: KinfoldProcess,
  kinds: readonly Kind[],
  work: () => Promise<number>,
): Promise<Calls> {
  const keys = kinds.flatMap(({ resource }) => VERBS.map((verb) => `${verb} ${resource}`))
  const before = await plane.requestCounts()
  const ours = await work()
  await kinfold.idle()
  const after = await plane.requestCounts()
  const made = keys.map((key) => [key, (after.get(key) ?? 0) - (before.get(key) ?? 0)] as const)
  return {
    all: made.reduce((sum, [, count]) => sum + count, 0) - ours,
    shown: made.flatMap(([key, count]) => (count === 0 ? [] : `${count} ${key}`)).join(', '),
  }
}

/** Nothing of a set is left. */
async function gone(plane: ControlPlane, kinds: readonly Kind[], set: string): Promise<void> {
  await eventually(`everything of ${set} goes`, async () => {
    const left = await Promise.all(kinds.map((of) => uidsOf(plane, of, set)))
    const count = left.reduce((sum, { size }) => sum + size, 0)
    return count === 0 || `${count} left`
  })
}

/** It has seen the owners of all. */
async function judged(kinfold: KinfoldProcess, dependents: readonly Made[]): Promise<void> {
  await eventually('all dependents are seen', async () => {
    const unseen = (await kinfold.verdicts(dependents)).filter((verdict) => verdict !== 'keep')
    return unseen.length === 0 || `${unseen.length} are ${unseen[0]}`
  })
}

interface Family {
  readonly owner: Made
  readonly dependents: readonly Made[]
}

async function makeFamily(
  plane: ControlPlane,
  { owner: of, dependent, set }: { owner: Kind; dependent: Kind; set: string },
): Promise<Family> {
  const owner = await make(plane, { kind: of, name: set, set })
  const owners = [controllerOf(owner)]
  const drafts = Array.from({ length: DEPENDENTS }, (_, index): Draft => {
    return { kind: dependent, name: `${set}-${index}`, set, owners }
  })
  return { owner, dependents: await makeAll(plane, drafts) }
}

const TREE_KINDS = [DEPLOYMENT, REPLICA_SET, POD] as const

interface Tree {
  readonly root: Made
  readonly middles: readonly Made[]
  readonly leaves: readonly Made[]
}

async function makeTree(plane: ControlPlane, set: string): Promise<Tree> {
  const root = await make(plane, { kind: DEPLOYMENT, name: set, set })
  const draft = (of: Kind, owner: Made, index: number): Draft => {
    return { kind: of, name: `${set}-${index}`, set, owners: [controllerOf(owner)] }
  }
  const middles = await makeAll(
    plane,
    Array.from({ length: MIDDLES }, (_, index) => draft(REPLICA_SET, root, index)),
  )
  const leaves = await makeAll(
    plane,
    Array.from({ length: DEPENDENTS - MIDDLES }, (_, index) =>
      draft(POD, middles[index % MIDDLES] as Made, index),
    ),
  )
  return { root, middles, leaves }
}

/** As controllers write it. */
function controllerOf({ kind: { apiVersion, kind: name }, ...owner }: Made): Reference {
  const { name: ownerName, uid } = owner
  return {
    apiVersion,
    kind: name,
    name: ownerName,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  }
}

const DEPLOYMENTS = 5
const SETS_EACH = 4
const PODS_EACH = 29
const UNORDERED = DEPLOYMENTS * SETS_EACH * (1 + PODS_EACH)

/**
 * Deployments with ReplicaSets and pods, all made without owners and in any order, then given them
 * in any other: neither names nor versions tell who came first. Answers the Deployments.
 */
async function makeUnordered(plane: ControlPlane, set: string, chance: Chance): Promise<Made[]> {
  const counts = [
    [DEPLOYMENT, DEPLOYMENTS],
    [REPLICA_SET, DEPLOYMENTS * SETS_EACH],
    [POD, DEPLOYMENTS * SETS_EACH * PODS_EACH],
  ] as const
  const drafts = counts.flatMap(([of, count]) =>
    Array.from({ length: count }, (): Draft => ({ kind: of, name: anyName(set, chance), set })),
  )
  const made = await makeAll(plane, shuffled(drafts, chance))
  const [deployments = [], sets = [], pods = []] = TREE_KINDS.map((of) =>
    made.filter((one) => one.kind === of),
  )
  const owned = [
    ...sets.map((one, index) => [one, deployments[index % DEPLOYMENTS] as Made] as const),
    ...pods.map((one, index) => [one, sets[index % sets.length] as Made] as const),
  ]
  await atOnce(shuffled(owned, chance), ([one, owner]) => adopt(plane, one, owner))
  return deployments
}

function anyName(set: string, chance: Chance): string {
  return `${set}-${chance.below(2 ** 32).toString(36)}`
}

function shuffled<T>(items: readonly T[], chance: Chance): T[] {
  return items
    .map((item) => [chance.next(), item] as const)
    .sort(([one], [other]) => one - other)
    .map(([, item]) => item)
}

async function adopt(plane: ControlPlane, dependent: Made, owner: Made): Promise<void> {
  const patch = { metadata: { ownerReferences: [controllerOf(owner)] } }
  await mergePatch(plane, pathOf(dependent), patch)
}
