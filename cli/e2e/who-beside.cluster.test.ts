/**
 * Who, to the root, beside upstream's collector, in mode observe, on a real API server with its
 * audit webhook: every answer that names a user names the one who sent the request, and says so
 * where that is unknown.
 */
import { deepEqual, equal, match, notEqual, ok } from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { PropagationPolicy } from '../../core/model/object.ts'
import { missingServers } from '../../testing/cluster/binaries.ts'
import type { ControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { type Audited, startAudited } from '../../testing/process/audited-plane.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import {
  CONFIG_MAP,
  collectionPath,
  DEPLOYMENT,
  type Kind,
  type Made,
  make,
  mergePatch,
  missingOf,
  NAMESPACE,
  POD,
  pathOf,
  REPLICA_SET,
  untilGone,
} from '../../testing/process/objects.ts'
import { livesOf, type PlannedDelete } from '../../testing/random-lives.ts'
import { seeded } from '../../testing/rig/watcher-rig.ts'
import type { DeletionList, Why } from '../answer.ts'

const USERS = ['alice', 'bob'] as const
const LIVES = 20
const AUDITED_MS = 30_000
const DELETE = { kind: 'DeleteOptions', apiVersion: 'v1' } as const
const COLLECTED = 'by admin \\(kube-controller-manager/\\S+\\)'

const skip = missingServers('etcd', 'kube-apiserver', 'kube-controller-manager') ?? false

suite('who, beside another collector', { skip }, () => {
  let audited: Audited
  let plane: ControlPlane

  before(async () => {
    audited = await startAudited({
      users: USERS.map((name) => ({ name, groups: ['system:masters'] })),
      flags: ['--mode', 'observe'],
      prepare: async (started) => {
        const extraArgs = [
          '--controllers=deployment-controller,replicaset-controller,namespace-controller',
        ]
        const lifted = { collector: true, clientLimitsLifted: true, extraArgs }
        await started.startControllerManager(lifted)
      },
    })
    plane = audited.plane
  })
  after(async () => await audited?.[Symbol.asyncDispose]())

  for (const policy of ['Background', 'Foreground'] as const) {
    test(`${policy}: the user who deleted a Deployment is named with its Pod (C2, C3, C4)`, async () => {
      const name = `web-${policy.toLowerCase()}`
      const { root, set, pods } = await makeDeployment(name, 1)
      const [pod] = pods
      ok(pod !== undefined)
      const seen = (await ask<Why>(`/v1/why?uid=${pod.uid}`)).history.at(-1)
      const then = `pos:${seen?.partition}-${(seen?.position ?? 0) + 1}`
      await deleted('alice', root, policy)
      await untilGone(plane, [root, set, pod])
      const why = await attributed(pod.uid)
      const { deletion } = why
      equal(deletion?.root?.uid, root.uid)
      deepEqual(
        [deletion?.deletedBy?.isCollector, deletion?.rootDeletedBy?.user, deletion?.isInferred],
        [true, 'alice', true],
      )
      const because = `because alice \\(kubectl/v1\\.33\\.0\\) deleted Deployment/${name} \\(inferred\\)`
      const sentence = `${COLLECTED}, ${because}`
      const said = await kinfold('why', `uid:${pod.uid}`)
      match(said, new RegExp(`^Deleted \\d+ (s|min) ago ${sentence}\\.\\nPod/`))
      const listed = await kinfold('deletions', '--cascade', `deploy/${name}`)
      const rows = listed.trim().split('\n').slice(1)
      equal(rows.length, 3, listed)
      for (const row of rows) {
        const isRoot = row.includes(' deployment.apps/')
        match(row, new RegExp(isRoot ? 'by alice \\(kubectl/v1\\.33\\.0\\)$' : `${sentence}$`))
      }
      const before = `Deployment/${name} -n default .*\\n└─ ReplicaSet/.*\\n {3}└─ Pod/${pod.name} `
      match(
        await kinfold('tree', `deploy/${name}`),
        new RegExp(
          `^Deleted .* ago by alice \\(kubectl/v1\\.33\\.0\\)\\. Before that:\\n${before}`,
        ),
      )
      match(
        await kinfold('cascade', `deploy/${name}`),
        /^Deleted .* ago by alice \(kubectl\/v1\.33\.0\)\.\n.* Dependents: 2 done, 0 remaining\n/,
      )
      const diff = await runKinfold(['diff', '--from', then, '--data', audited.kinfold.data])
      equal(diff.code, 1, diff.stderr)
      match(diff.stdout, new RegExp(`^deleted .* pod/${pod.name} +${sentence}$`, 'm'))
      match(diff.stdout, new RegExp(`^deleted .* deployment\\.apps/${name} +by alice .*\\)$`, 'm'))
    })
  }

  test('Orphan: the user who deleted a Deployment is named first of the ReplicaSet that stays', async () => {
    const { root, set } = await makeDeployment('web-orphan', 1)
    await deleted('alice', root, 'Orphan')
    await untilGone(plane, [root])
    let why: Why | undefined
    await eventually(
      'it is known who deleted its owner',
      async () => {
        why = await ask<Why>(`/v1/why?uid=${set.uid}`)
        return why.orphaned?.deletion?.deletedBy != null || JSON.stringify(why.orphaned)
      },
      { withinMs: AUDITED_MS },
    )
    deepEqual(
      [why?.phase, why?.deletion, why?.references, why?.orphaned?.owner.uid],
      ['observed', null, [], root.uid],
    )
    equal(why?.orphaned?.deletion?.deletedBy?.user, 'alice')
    const by = 'by alice \\(kubectl/v1\\.33\\.0\\); it stays\\.'
    const first = `Orphaned: Deployment/web-orphan was deleted with orphan \\d+ s ago ${by}`
    match(
      await kinfold('why', `uid:${set.uid}`),
      new RegExp(`^${first}\\nReplicaSet/${set.name} -n default, .*\\nExists\\.\\n`),
    )
  })

  test('what the namespace controller deleted leads to who deleted the namespace, and what a user deleted in it to that user (C2)', async () => {
    const shop = await make(plane, { kind: NAMESPACE, name: 'shop' })
    const [held, one, two] = await Promise.all(
      ['held', 'one', 'two'].map(async (name) => {
        const finalizers = name === 'held' ? ['example.com/hold'] : []
        return await make(plane, { kind: CONFIG_MAP, name, namespace: 'shop', finalizers })
      }),
    )
    ok(held !== undefined && one !== undefined && two !== undefined)
    await eventually('all are observed', async () => {
      const verdicts = await audited.kinfold.verdicts([held, one, two])
      return verdicts.every((each) => each === 'keep' || each === 'none') || verdicts.join()
    })
    await deleted('alice', two, 'Background')
    await untilGone(plane, [two])
    await deleted('bob', shop, 'Background')
    await untilGone(plane, [one])
    await mergePatch(plane, pathOf(held), { metadata: { finalizers: null } })
    await untilGone(plane, [held, shop])
    for (const each of [one, held]) {
      const { deletion } = await attributed(each.uid)
      equal(deletion?.root?.uid, shop.uid, JSON.stringify(deletion))
      deepEqual([deletion?.rootDeletedBy?.user, deletion?.isInferred], ['bob', true])
    }
    const { deletion } = await attributed(two.uid)
    deepEqual(
      [deletion?.deletedBy?.user, deletion?.root, deletion?.isRootKnown],
      ['alice', null, true],
    )
    const said = await kinfold('why', `uid:${one.uid}`)
    const because = 'because bob \\(kubectl/v1\\.33\\.0\\) deleted Namespace/shop \\(inferred\\)'
    match(
      said,
      new RegExp(
        `^Deleted \\d+ (s|min) ago.* by admin \\(kube-controller-manager/\\S+\\), ${because}\\.\n`,
      ),
    )
    match(
      said,
      /^Namespace\/shop deleted by bob .*; inferred: the namespace controller followed it\.$/m,
    )
    match(await kinfold('cascade', 'ns/shop'), / Dependents: [2-9] done, 0 remaining\n/)
    const listed = await kinfold('deletions', '--cascade', `uid:${shop.uid}`, '-A', '-o', 'name')
    for (const name of ['configmap/one', 'configmap/held', 'namespace/shop'])
      ok(listed.includes(name), listed)
    ok(!listed.includes('configmap/two'), listed)
  })

  test('what a controller deleted is of nobody else, whoever deletes its owner later', async () => {
    const { root, set, pods } = await makeDeployment('scaled', 2)
    await mergePatch(plane, pathOf(root), { spec: { replicas: 1 } })
    const left = await eventuallyPods(set, 1)
    const scaled = pods.filter(({ uid }) => left.every((each) => each.uid !== uid))
    equal(scaled.length, 1)
    await deleted('bob', root, 'Background')
    await untilGone(plane, [root, set, ...pods])
    const [byController, byCollector] = [scaled[0]?.uid ?? '', left[0]?.uid ?? '']
    const { deletion } = await attributed(byController)
    match(deletion?.deletedBy?.agent ?? '', /replicaset-controller$/)
    deepEqual([deletion?.root, deletion?.rootDeletedBy, deletion?.isRootKnown], [null, null, true])
    equal((await attributed(byCollector)).deletion?.rootDeletedBy?.user, 'bob')
    const cascade = await ask<DeletionList>(`/v1/deletions?root=uid:${root.uid}`)
    ok(cascade.deletions.every(({ uid }) => uid !== byController))
    ok(cascade.deletions.some(({ uid }) => uid === byCollector))
  })

  test('two users at once, over twenty random lives: never a wrong name', async (t) => {
    const seed = Number(process.env['KINFOLD_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
    t.diagnostic(`KINFOLD_SEED=${seed}`)
    const { objects, deletes } = livesOf(LIVES, USERS, seeded(seed))
    const made = new Map<string, Made>()
    for (const { kind, name, owners } of objects) {
      const refs = owners.map((owner) => made.get(owner) as Made)
      made.set(name, await make(plane, { kind, name, owners: refs }))
    }
    const all = [...made.values()]
    await eventually('all are observed', async () => {
      const verdicts = await audited.kinfold.verdicts(all)
      return verdicts.every((each) => each === 'keep' || each === 'none') || verdicts.join()
    })
    const senders = new Map<string, PlannedDelete>()
    const sent = [...deletes.values()].map(async (own) => {
      for (const each of own) {
        const object = made.get(each.name) as Made
        const body = { ...DELETE, propagationPolicy: each.policy }
        const status = await audited.remove(each.user, pathOf(object), body)
        // The collector may have been faster.
        if (status !== 404) senders.set(object.uid, each)
      }
    })
    await Promise.all(sent)
    const gone = await untilCollected(all)
    const marker = await make(plane, { kind: POD, name: 'marker' })
    await deleted('alice', marker, 'Background')
    await attributed(marker.uid)
    const owners = new Map(
      objects.map(({ name, owners: its }) => [name, its.map((each) => made.get(each) as Made)]),
    )
    const truth: Truth = { senders, ownersOf: (object) => owners.get(object.name) ?? [] }
    const listed = await ask<DeletionList>('/v1/deletions?limit=2000')
    let named = 0
    let unknown = 0
    for (const object of all) {
      const { phase, deletion } = await ask<Why>(`/v1/why?uid=${object.uid}`)
      if (!gone.has(object.uid)) {
        deepEqual([phase, deletion], ['observed', null], object.name)
        continue
      }
      ok(deletion, `${object.name} was deleted`)
      const row = listed.deletions.find(({ uid }) => uid === object.uid)
      for (const field of ['deletedBy', 'root', 'rootDeletedBy', 'isInferred', 'isRootKnown']) {
        deepEqual(row?.[field as 'root'], deletion[field as 'root'], `${object.name}: ${field}`)
      }
      isTrue(object, deletion, truth)
      if (deletion.rootDeletedBy !== null) named += 1
      if (!deletion.isRootKnown) unknown += 1
    }
    t.diagnostic(`${gone.size} deleted, root user named of ${named}, unknown of ${unknown}`)
    ok(named > 0, 'somebody is named')
  })

  interface Truth {
    /** By uid. */
    readonly senders: ReadonlyMap<string, PlannedDelete>
    ownersOf(object: Made): readonly Made[]
  }

  function isTrue(object: Made, deletion: NonNullable<Why['deletion']>, truth: Truth): void {
    const { deletedBy, root, rootDeletedBy, isInferred, isRootKnown } = deletion
    const own = truth.senders.get(object.uid)
    const what = `${object.name}: ${JSON.stringify({ own, deletion })}`
    notEqual(deletion.by, 'kinfold', what)
    if (deletedBy !== null && !deletedBy.isCollector) equal(deletedBy.user, own?.user, what)
    if (own === undefined) ok(deletedBy === null || deletedBy.isCollector, what)
    if (root === null) {
      equal(rootDeletedBy, null, what)
      // Only the collector deleted it, and its reason is not recorded: then the answer says so.
      if (own === undefined) equal(isRootKnown, false, what)
      return
    }
    ok(isInferred && isRootKnown, what)
    ok(above(object, truth).has(root.uid), `it is an owner: ${what}`)
    const asked = truth.senders.get(root.uid)
    ok(asked !== undefined && asked.policy !== 'Orphan', `somebody deleted the root: ${what}`)
    if (rootDeletedBy !== null) equal(rootDeletedBy.user, asked.user, what)
  }

  function above(object: Made, truth: Truth): ReadonlySet<string> {
    const found = new Set<string>()
    const queue = [...truth.ownersOf(object)]
    for (const each of queue) {
      found.add(each.uid)
      queue.push(...truth.ownersOf(each))
    }
    return found
  }

  /** What is left has owners that exist, or none. */
  async function untilCollected(all: readonly Made[]): Promise<ReadonlySet<string>> {
    let gone = new Set<string>()
    await eventually('nothing is left to collect', async () => {
      const missing = new Set(await missingOf(plane, all))
      gone = new Set(all.filter(({ name }) => missing.has(name)).map(({ uid }) => uid))
      const left = all.filter(({ name }) => !missing.has(name))
      const dangling = await Promise.all(
        left.map(async (each) => {
          const { status, body } = await plane.request<Stored>('GET', pathOf(each))
          const { deletionTimestamp, ownerReferences = [] } = body.metadata
          // It went meanwhile.
          if (status !== 200 || deletionTimestamp !== undefined) return [each.name]
          return ownerReferences.flatMap(({ name }) => (missing.has(name) ? [name] : []))
        }),
      )
      return dangling.every((names) => names.length === 0) || `${left.length} are left`
    })
    return gone
  }

  async function kinfold(...words: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await runKinfold([...words, '--data', audited.kinfold.data])
    equal(code, 0, stderr)
    return stdout
  }

  async function ask<T>(path: string): Promise<T> {
    const response = await fetch(audited.url + path)
    equal(response.status, 200, path)
    return (await response.json()) as T
  }

  /** Once the audit log has come. */
  async function attributed(uid: string): Promise<Why> {
    let why: Why | undefined
    await eventually(
      `it is known who deleted ${uid}`,
      async () => {
        why = await ask<Why>(`/v1/why?uid=${uid}`)
        const { deletion } = why
        const isNamed = deletion?.root == null || deletion.rootDeletedBy !== null
        return (deletion?.deletedBy != null && isNamed) || JSON.stringify(deletion)
      },
      { withinMs: AUDITED_MS },
    )
    return why as Why
  }

  async function deleted(user: string, made: Made, policy: PropagationPolicy): Promise<void> {
    const status = await audited.remove(user, pathOf(made), {
      ...DELETE,
      propagationPolicy: policy,
    })
    ok(status === 200 || status === 202, `${status}`)
  }

  async function makeDeployment(name: string, replicas: number) {
    const labels = { app: name }
    const template = { metadata: { labels }, spec: { containers: [{ name: 'a', image: 'b' }] } }
    const spec = { replicas, selector: { matchLabels: labels }, template }
    const root = await make(plane, { kind: { ...DEPLOYMENT, body: { spec } }, name })
    const [set] = await madeFor(root, REPLICA_SET, 1)
    ok(set !== undefined)
    const pods = await madeFor(set, POD, replicas)
    await eventually('all are observed', async () => {
      const verdicts = await audited.kinfold.verdicts([set, ...pods])
      return verdicts.every((verdict) => verdict === 'keep') || verdicts.join()
    })
    return { root, set, pods }
  }

  async function eventuallyPods(set: Made, count: number): Promise<readonly Made[]> {
    return await madeFor(set, POD, count)
  }

  /** By a controller: so many, and no more. */
  async function madeFor(owner: Made, of: Kind, count: number): Promise<readonly Made[]> {
    let found: readonly Made[] = []
    await eventually(`${count} ${of.kind} of ${owner.name}`, async () => {
      const path = collectionPath(of, 'default')
      const { body } = await plane.request<{ items: readonly Stored[] }>('GET', path)
      const own = body.items.filter(({ metadata }) => {
        return metadata.ownerReferences?.some(({ uid }) => uid === owner.uid)
      })
      found = own.map(({ metadata: { name, uid, resourceVersion } }) => {
        return { kind: of, namespace: 'default', name, uid, resourceVersion }
      })
      return found.length === count || `${found.length} of ${count}`
    })
    return found
  }
})

interface Stored {
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly resourceVersion: string
    readonly deletionTimestamp?: string
    readonly ownerReferences?: readonly { readonly uid: string; readonly name: string }[]
  }
}
