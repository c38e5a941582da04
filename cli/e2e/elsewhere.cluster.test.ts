/**
 * Owners in a real kube-apiserver, and objects in another one that name them: what is deleted an
 * hour after its owner was, and what never is.
 *
 * What must stay true: the services are the real ones (testing/far-clusters.ts).
 *
 * Not here: a cluster of owners that is gone for good (forget-cluster.cluster.test.ts).
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { eventually } from '../../testing/eventually.ts'
import { type FarClusters, HOUR_MS, STEP_MS, startFarClusters } from '../../testing/far-clusters.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import {
  CONFIG_MAP,
  type Made,
  make,
  makeAll,
  mergePatch,
  NAMESPACE,
  pathOf,
  remove,
} from '../../testing/process/objects.ts'

const skip = missingServers('etcd', 'kube-apiserver') ?? false
const RULE = 'far'
const OWN = 'example.com/own'
/** More revisions than an API server writes of its own when it starts. */
const UNDONE_WRITES = 400

function configOf(north: string, south: string): string {
  return `
apiVersion: kinfold/v1alpha1
kind: Config
mode: enforce
preset: parity
across:
  aliases: { north: ${north}, south: ${south} }
  exports:
    - { cluster: north, kinds: [ConfigMap], namespaces: [team, swept, not-imported], to: [south] }
rules:
  - name: ${RULE}
    match: { kinds: [ConfigMap], namespaces: [team] }
    elsewhere: { cluster: north, kinds: [ConfigMap], namespaces: [team, swept, not-exported] }
`
}

suite('two clusters, and owners in one of them', { skip }, () => {
  let far: FarClusters

  before(async () => {
    far = await startFarClusters({
      namespaces: ['team', 'not-imported', 'not-exported'],
      config: configOf,
      enforced: [RULE],
    })
  })
  after(async () => await far?.[Symbol.asyncDispose]())

  /** It keeps these alone. */
  async function release(made: Made, finalizers: readonly string[]): Promise<void> {
    await mergePatch(far.north, pathOf(made), { metadata: { finalizers } })
  }

  test('what follows its owner, after an hour, and what stays', async () => {
    const [deleted, follows] = await far.pair('deleted', 'team')
    const [orphaned, kept] = await far.pair('orphaned', 'team')
    const [there, beside] = await far.pair('there', 'team')
    const refused = [await far.pair('a', 'not-imported'), await far.pair('b', 'not-exported')]
    for (const each of [deleted, orphaned, there]) await far.published(each, 'there')
    await remove(far.north, deleted)
    await remove(far.north, orphaned, 'Orphan')
    for (const [owner] of refused) await remove(far.north, owner)
    await far.published(deleted, 'deleted')
    await far.published(orphaned, 'orphaned')
    await far.pass(HOUR_MS - 5 * STEP_MS)
    ok(await far.isThere(follows), 'it is held for an hour')
    await far.pass(6 * STEP_MS)
    await far.gone(follows)
    const cascade = ['cascade', 'configmap/deleted', '-n', 'team', '--cluster', 'north']
    await eventually('the cascade of the owner has it', async () => {
      const { stdout, stderr } = await runKinfold([...cascade, '--server', far.url])
      const told =
        /^ {2}south: 1 object deleted \(configmap\/deleted\) by rule far, as their owner was deleted$/m
      return told.test(stdout) || `${stdout}${stderr}`
    })
    for (const each of [kept, beside, ...refused.map(([, dependent]) => dependent)]) {
      ok(await far.isThere(each), each.name)
    }
    const named = (await far.events()).filter(({ type }) => type === 'OwnerElsewhere')
    const uids = new Set(named.map((event) => 'uid' in event && event.uid))
    deepEqual(
      refused.map(([owner]) => uids.has(owner.uid)),
      [false, false],
    )
  })

  test('an owner with a finalizer of its own is followed, and not where it was to orphan', async () => {
    const finalizers = [OWN]
    const [deleted, follows] = await far.pair('held', 'team', { finalizers })
    const [orphaned, kept] = await far.pair('held-orphaned', 'team', { finalizers })
    for (const each of [deleted, orphaned]) await far.published(each, 'there')
    await remove(far.north, deleted)
    await remove(far.north, orphaned, 'Orphan')
    // As its own controller does, and another client that takes off what is not its own.
    await release(orphaned, [OWN])
    for (const each of [deleted, orphaned]) await release(each, [])
    await far.published(deleted, 'deleted')
    await far.published(orphaned, 'orphaned')
    await far.pass(HOUR_MS + STEP_MS)
    await far.gone(follows)
    ok(await far.isThere(kept))
  })

  test('what leaves with its namespace has nothing deleted, be that made again', async () => {
    const { north } = far
    const namespace = await make(north, { kind: NAMESPACE, name: 'swept' })
    const [owner, dependent] = await far.pair('swept', 'swept')
    await far.published(owner, 'there')
    // No controller of namespaces runs there.
    await remove(north, namespace)
    await remove(north, owner)
    await far.published(owner, 'deleted')
    await far.pass(HOUR_MS / 2)
    const finalize = `${pathOf(namespace)}/finalize`
    const { body } = await north.request<object>('GET', pathOf(namespace))
    equal((await north.request('PUT', finalize, { ...body, spec: { finalizers: [] } })).status, 200)
    await make(north, { kind: NAMESPACE, name: 'swept' })
    await far.pass(HOUR_MS / 2)
    await eventually('the reaper asks for the namespace', async () => {
      const all = (await far.events()).filter(({ type }) => type === 'CommandSettled')
      return all.some((event) => {
        return (
          event.type === 'CommandSettled' && event.reason.includes('Namespace swept of the owner')
        )
      })
    })
    ok(await far.isThere(dependent))
  })

  test('a cluster that is cut off has nothing deleted until an hour after it is followed again', async () => {
    const [owner, dependent] = await far.pair('cut-off', 'team')
    await far.published(owner, 'there')
    await remove(far.north, owner)
    await far.published(owner, 'deleted')
    far.stopNorth()
    await far.pass(HOUR_MS + 5 * STEP_MS, false)
    ok(await far.isThere(dependent))
    far.watchNorth()
    await far.pass(HOUR_MS - 5 * STEP_MS)
    ok(await far.isThere(dependent), 'an hour anew')
    await far.pass(6 * STEP_MS)
    await far.gone(dependent)
  })

  test('a cluster that was restored from a backup has nothing deleted', async () => {
    const [owner, dependent] = await far.pair('restored', 'team')
    await far.published(owner, 'there')
    const snapshot = join(far.north.folder, 'snapshot')
    await far.north.snapshot(snapshot)
    await eventually('the API server takes writes again', async () => {
      return (await make(far.north, { kind: CONFIG_MAP, name: 'written' })).uid !== ''
    })
    await remove(far.north, owner)
    await far.published(owner, 'deleted')
    const undone = Array.from({ length: UNDONE_WRITES }, (_, i) => `undone-${i}`)
    await makeAll(
      far.north,
      undone.map((name) => ({ kind: CONFIG_MAP, name })),
    )
    await far.north.restore(snapshot)
    await far.north.killApiserver()
    await far.north.startApiserver()
    await far.published(owner, 'there')
    await far.pass(HOUR_MS + 5 * STEP_MS)
    ok(await far.isThere(dependent))
    equal((await far.north.request('GET', pathOf(owner))).status, 200)
  })

  test('a cluster in whose place another answers has nothing deleted', async () => {
    const [owner, dependent] = await far.pair('replaced', 'team')
    await far.published(owner, 'there')
    await remove(far.north, owner)
    await far.published(owner, 'deleted')
    far.answerAsNorth(far.south)
    await far.pass(HOUR_MS + 5 * STEP_MS, false)
    ok(await far.isThere(dependent))
  })
})
