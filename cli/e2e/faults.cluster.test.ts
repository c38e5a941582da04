/**
 * Shows that spoiled answers between `kinfold up` and a real API server lead to no wrong delete,
 * and that everything completes once they stop.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { FAULTS, type Fault, FaultyProxy } from '../../testing/process/faulty-proxy.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { unsettledCommands } from '../../testing/process/kinfold-log.ts'
import { KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import { redirectKubeconfig } from '../../testing/process/kubeconfigs.ts'
import {
  CONFIG_MAP,
  type Draft,
  EVENT,
  type Kind,
  type Made,
  make,
  makeAll,
  missingOf,
  type Reference,
  remove,
  SECRET,
  uidsOf,
} from '../../testing/process/objects.ts'
import { seeded } from '../../testing/seeded.ts'

const SEED = 41
const RATE = 0.25
const GARBAGE = 600
/** So many missing from one list are a mass, of so many. */
const MASS = 100
const BLIND = 400
const BYSTANDERS = 300
const STRAYS = 90
/** In the phase of 404s alone: of looks at owners. */
const NOT_FOUND_RATE = 0.7
const LOOKED_UP = 40
/** Deletes spoiled in each way, and other calls. */
const AT_LEAST = 2
const PATIENCE = { withinMs: 150_000 }

const skip = missingServers('etcd', 'kube-apiserver')

suite('spoiled answers', { skip: skip ?? false }, () => {
  let plane: ControlPlane
  let proxy: FaultyProxy
  let kinfold: KinfoldProcess
  let data: string

  before(async () => {
    plane = await startControlPlane()
    const ca = await readFile(plane.caFile, 'utf8')
    proxy = await FaultyProxy.start({ server: plane.server, ca, chance: seeded(SEED) })
    const kubeconfig = join(plane.folder, 'proxy.kubeconfig')
    data = join(plane.folder, 'kinfold')
    await redirectKubeconfig(plane.kubeconfig, proxy.url, kubeconfig)
    kinfold = await KinfoldProcess.start({ kubeconfig, data })
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await proxy?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
  })

  test('that say 404 and name nothing prove no owner absent', async () => {
    proxy.rate = NOT_FOUND_RATE
    proxy.faults = ['typed-404', 'plain-404']
    // Looks at single objects; not at the identity of the cluster, which would stop it all.
    proxy.only = /\/default\/\w+\//
    const owners = await makeAll(
      plane,
      drafts(LOOKED_UP, EVENT, 'alive', () => []),
    )
    const owned = await makeAll(
      plane,
      drafts(LOOKED_UP, CONFIG_MAP, 'owned-by', (i) => [lookedUp(owners[i]!)]),
    )
    const never = { apiVersion: EVENTS, kind: 'Event', name: 'never', uid: 'made-up' }
    const stray = await make(plane, { kind: CONFIG_MAP, name: 'stray', owners: [never] })
    await met(['GET'], proxy.faults, LOOKED_UP / 2)
    deepEqual(await missingOf(plane, [...owners, ...owned]), [])

    proxy.rate = 0
    await eventually(
      'owners are found, and the stray goes',
      async () => {
        const verdicts = await kinfold.verdicts([...owned, stray])
        return verdicts.join() === [...owned.map(() => 'keep'), 'unseen'].join() || verdicts.join()
      },
      PATIENCE,
    )
    deepEqual(await missingOf(plane, [...owners, ...owned, stray]), ['stray'])
  })

  test('to watches make no mass cause of what it deleted itself meanwhile', async () => {
    const root = await make(plane, { kind: SECRET, name: 'blind' })
    const middles = await makeAll(
      plane,
      drafts(BLIND, CONFIG_MAP, 'blind', () => [root], 'blind'),
    )
    const leaves = await makeAll(
      plane,
      drafts(BLIND, SECRET, 'blind-leaf', (i) => [middles[i]!]),
    )
    const beside = await make(plane, { kind: CONFIG_MAP, name: 'beside' })
    leaves.push(await make(plane, { kind: SECRET, name: 'beside-leaf', owners: [beside] }))
    await eventually('the last ones are seen', async () => {
      return (await kinfold.verdicts(leaves.slice(-20))).every((verdict) => verdict === 'keep')
    })
    proxy.done.clear()
    proxy.rate = 1
    proxy.faults = ['failed']
    // Nor does a GET say that it is removed: only the list that misses all of it does.
    proxy.only = /\/configmaps(\?.*watch=|\/)/
    proxy.methods = /^GET$/
    proxy.breakConnections()
    await met(['GET'], proxy.faults, 1)
    await remove(plane, root)
    await eventually('what it owned goes', async () => {
      return (await uidsOf(plane, CONFIG_MAP, 'blind')).size === 0
    })
    // A person deletes but one, and only the list that misses all of them tells.
    await remove(plane, beside)
    // No version from before can be watched from any more.
    await plane.killApiserver()
    await plane.startApiserver()
    // A GET still proves nothing until the list has: the test cannot choose which of the two comes
    // first.
    proxy.only = /\/configmaps\//
    // The index of history follows the fold.
    await eventually('more than a mass is told to have been missing from a list', async () => {
      const whys = await Promise.all(leaves.map((leaf) => kinfold.why(leaf)))
      const listed = whys.filter((why) =>
        why?.history.some(({ evidence }) => evidence === 'missing'),
      )
      return listed.length > MASS || `only ${listed.length} were`
    })
    proxy.rate = 0
    proxy.methods = /./
    await eventually(
      'what hung on them goes',
      async () => {
        const missing = await missingOf(plane, leaves)
        return missing.length === leaves.length || `${missing.length} are gone`
      },
      PATIENCE,
    )
  })

  test('of all sorts delete nothing wrongly, and all completes when they stop', async (t) => {
    const roots = await makeGarbage(plane)
    proxy.done.clear()
    proxy.rate = RATE
    proxy.faults = FAULTS
    proxy.only = /./
    const bystanders = await makeBystanders(plane, roots)
    await makeStrays(plane)
    for (const root of roots) await remove(plane, root)
    // No version from before can be watched from any more: all kinds are listed anew, through the
    // faults.
    await plane.killApiserver()
    await plane.startApiserver()
    await met(['DELETE', 'GET'], FAULTS, AT_LEAST)
    t.diagnostic(
      [...proxy.done]
        .map(([key, count]) => `${key}: ${count}`)
        .sort()
        .join(', '),
    )
    deepEqual(await missingOf(plane, bystanders), [])

    proxy.rate = 0
    const completed = async (): Promise<boolean | string> => {
      const left = await Promise.all([CONFIG_MAP, SECRET].map((of) => uidsOf(plane, of, 'garbage')))
      const count = left.reduce((sum, { size }) => sum + size, 0)
      return count === 0 || `${count} left`
    }
    await eventually('all garbage goes', completed, PATIENCE)
    await kinfold.ready()
    await kinfold.settled()
    deepEqual(await missingOf(plane, bystanders), [])
    const stays = async (): Promise<boolean | string> => {
      const verdicts = await kinfold.verdicts(bystanders)
      return verdicts.every((it) => it === 'keep' || it === 'none') || verdicts.join()
    }
    await eventually('what is left has its verdict', stays, PATIENCE)
    // To say so it may have looked at owners once more.
    await kinfold.settled()
  })

  test('leave a log that settles every command and folds the same again', async () => {
    // A list that ends now may have owners verified once more.
    const settled = async (): Promise<boolean | string> =>
      (await unsettledCommands(data)).slice(0, 5).join() || true
    await eventually('every command is settled', settled, PATIENCE)
    await kinfold.stop()
    const { code, stdout, stderr } = await runKinfold(['audit', 'verify', '--data', data])
    equal(code, 0, stdout + stderr)
  })

  /** Each of these faults was done to each of these methods so often. */
  async function met(
    methods: readonly string[],
    faults: readonly Fault[],
    count: number,
  ): Promise<void> {
    const keys = methods.flatMap((method) => faults.map((fault) => `${method} ${fault}` as const))
    const look = async (): Promise<boolean | string> => {
      const lacking = keys.filter((key) => (proxy.done.get(key) ?? 0) < count)
      return lacking.length === 0 || `too few of ${lacking}`
    }
    await eventually('every fault was met', look, PATIENCE)
  }
})

/** The core group's Events may own nothing; the same ones by another name may. */
const EVENTS = 'events.k8s.io/v1'

function lookedUp({ name, uid }: Made): Reference {
  return { apiVersion: EVENTS, kind: 'Event', name, uid }
}

/** Two deep; answers its roots. */
async function makeGarbage(plane: ControlPlane): Promise<Made[]> {
  const count = 10
  const roots = await makeAll(
    plane,
    drafts(count, CONFIG_MAP, 'root', () => []),
  )
  const middles = await makeAll(
    plane,
    drafts(count, SECRET, 'middle', (i) => [roots[i]!], 'garbage'),
  )
  const ownersOf = (i: number): Made[] => {
    const owners = [middles[i % count]!, roots[(i + 1) % count]!]
    return i % 2 === 0 ? owners : owners.slice(1)
  }
  await makeAll(plane, drafts(GARBAGE / 2, CONFIG_MAP, 'leaf', ownersOf, 'garbage'))
  await makeAll(plane, drafts(GARBAGE / 2, SECRET, 'leaf', ownersOf, 'garbage'))
  return roots
}

function drafts(
  count: number,
  kind: Kind,
  name: string,
  ownersOf: (i: number) => Draft['owners'] & object,
  set = 'other',
): Draft[] {
  return Array.from({ length: count }, (_, i) => ({
    kind,
    name: `${name}-${i}`,
    owners: ownersOf(i),
    set,
  }))
}

/**
 * Each has an owner of its own that never was: a look before the verdict, and one more before the
 * delete.
 */
async function makeStrays(plane: ControlPlane): Promise<void> {
  const never = (i: number) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    name: `never-${i}`,
    uid: `never-${i}`,
  })
  await makeAll(
    plane,
    drafts(STRAYS, CONFIG_MAP, 'stray', (i) => [never(i)], 'garbage'),
  )
}

/**
 * Each has a live owner of another kind, which may be seen after it; some have one that goes beside
 * it.
 */
async function makeBystanders(plane: ControlPlane, roots: readonly Made[]): Promise<Made[]> {
  const pairs = await Promise.all(
    Array.from({ length: BYSTANDERS / 2 }, async (_, i) => {
      const [of, other] = i % 2 === 0 ? [CONFIG_MAP, SECRET] : [SECRET, CONFIG_MAP]
      const owner = await make(plane, { kind: of!, name: `owner-${i}` })
      const owners = i % 3 === 0 ? [roots[i % roots.length]!, owner] : [owner]
      return [owner, await make(plane, { kind: other!, name: `owned-${i}`, owners })]
    }),
  )
  return pairs.flat()
}
