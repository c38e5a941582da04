/**
 * One of two clusters takes rights away and gives them back, or is another cluster under the same
 * name: nothing is deleted wrongly, it shows, it is over by itself or by a restart, and the other
 * cluster is collected meanwhile.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import type { ControlPlane } from '../../testing/cluster/control-plane.ts'
import { ALL_VERBS, type Rule } from '../../testing/cluster/role.ts'
import { eventually } from '../../testing/eventually.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import {
  CONFIG_MAP,
  type Made,
  make,
  makeAll,
  missingOf,
  remove,
  SECRET,
} from '../../testing/process/objects.ts'
import { RIGHTS, startRed, TwoClusters } from '../../testing/process/two-clusters.ts'

/** Waits of refused commands double. */
const PATIENCE = { withinMs: 180_000 }

const skip = missingServers('etcd', 'kube-apiserver')

suite('one of two clusters', { skip: skip ?? false }, () => {
  let both: TwoClusters

  before(async () => {
    both = await TwoClusters.start()
  })
  after(async () => {
    await both?.[Symbol.asyncDispose]()
  })

  test('that takes the right to see a kind away, and gives it back, loses nothing (F16)', async () => {
    const { red, blue, kinfold } = both
    const tree = await both.tree(red, 'unseen')
    const kept = await both.tree(red, 'kept', SECRET)
    both.stays(red, kept.owner, ...kept.dependents)
    await both.grant(red, without('configmaps', 'list', 'watch'), {
      verb: 'list',
      resource: 'configmaps',
      allowed: false,
    })
    // A watch that is open is not asked again.
    await red.killApiserver()
    await red.startApiserver()
    await both.says('synced/red/configmaps', /^\[-\].*FORBIDDEN/)
    equal(await kinfold.isReady(), false)
    await remove(red, tree.owner)
    const late = await dependents(red, [kept.owner])
    both.stays(red, ...late)
    await both.goesOn(blue)
    await both.assertStays()

    await both.grant(red, RIGHTS, { verb: 'list', resource: 'configmaps', allowed: true })
    await kinfold.ready()
    await both.gone(red, tree.dependents)
    await both.goesOn(red)
    await both.judged(late, 'keep')
    await both.assertStays()
  })

  test('that takes the right to delete away says what is blocked, and all goes once it is back (F89)', async () => {
    const { red, blue, kinfold } = both
    const tree = await both.tree(red, 'undeletable')
    await both.grant(red, without('configmaps', 'delete'), {
      verb: 'delete',
      resource: 'configmaps',
      allowed: false,
    })
    await remove(red, tree.owner)
    await eventually('it is told why', async () => {
      const line = await both.readiness('blocked/red/refused')
      return /cannot delete resource/.test(line) || line
    })
    const [one] = tree.dependents
    const { stdout } = await runKinfold(['why', `uid:${one?.uid}`, '--data', both.data])
    match(stdout, /cannot delete resource/)
    ok((await kinfold.metric('kinfold_blocked_deletions', { cluster: 'red' })) > 0)
    await both.goesOn(blue)
    // What needs no such right goes on in red as well.
    const other = await make(red, { kind: CONFIG_MAP, name: 'of-secrets' })
    const secrets = await both.dependentsOf(red, [other], SECRET)
    await remove(red, other)
    await both.gone(red, secrets)
    deepEqual(await missingOf(red, tree.dependents), [])

    await both.grant(red, RIGHTS, { verb: 'delete', resource: 'configmaps', allowed: true })
    await eventually(
      'they go',
      async () => (await missingOf(red, tree.dependents)).length === tree.dependents.length,
      PATIENCE,
    )
    await both.assertStays()
  })

  test('that takes the right to look at owners away keeps what hangs on those it never saw', async () => {
    const { red, blue } = both
    await both.grant(red, without('widgets', ...ALL_VERBS), {
      verb: 'get',
      resource: 'configmaps',
      allowed: true,
    })
    await both.grant(red, without('configmaps', 'get'), {
      verb: 'get',
      resource: 'configmaps',
      allowed: false,
    })
    const never = { apiVersion: 'v1', kind: 'ConfigMap', name: 'never', uid: 'never' }
    const [stray] = await makeAll(red, [{ kind: SECRET, name: 'stray', owners: [never] }])
    await both.goesOn(blue)
    const looks = { cluster: 'red', verb: 'GET', code: '403' }
    await eventually('its owner was looked at, in vain', async () => {
      return (await both.kinfold.metric('kinfold_delete_requests_total', looks)) > 0
    })
    await both.judged([stray as Made], 'verify')
    deepEqual(await missingOf(red, [stray as Made]), [])
    await both.grant(red, RIGHTS, { verb: 'get', resource: 'configmaps', allowed: true })
    await eventually(
      'it goes',
      async () => (await missingOf(red, [stray as Made])).length === 1,
      PATIENCE,
    )
    await both.assertStays()
  })

  test('that takes away the right to know who it is freezes, and the other does not', async () => {
    const { red, blue, kinfold } = both
    const tree = await both.tree(red, 'nameless')
    const role = '/apis/rbac.authorization.k8s.io/v1/clusterroles/kinfold'
    const put = { metadata: { name: 'kinfold' }, rules: [...RIGHTS] }
    equal((await red.request('PUT', role, put)).status, 200)
    await red.killApiserver()
    await red.startApiserver()
    await both.says('cluster/red', /^\[-\].*kube-system/)
    await remove(red, tree.owner)
    await both.goesOn(blue)
    deepEqual(await missingOf(red, tree.dependents), [])
    equal(await kinfold.metric('kinfold_cluster_connected', { cluster: 'red' }), 0)
    equal(await kinfold.metric('kinfold_cluster_connected', { cluster: 'blue' }), 1)

    await both.grant(red, RIGHTS, { verb: 'get', resource: 'namespaces', allowed: true })
    await both.gone(red, tree.dependents)
    await kinfold.ready()
    await both.assertStays()
  })

  test('that is away when Kinfold starts is waited for, and the other is not kept waiting', async () => {
    const { red, blue } = both
    const tree = await both.tree(red, 'away')
    await both.kinfold.stop()
    await remove(red, tree.owner)
    await red.stopApiserver()
    await both.begin()
    await both.goesOn(blue)
    await both.says('cluster/red', /^\[-\]/)
    await red.startApiserver()
    await both.gone(red, tree.dependents)
    await both.kinfold.ready()
    await both.goesOn(red)
    await both.assertStays()
  })

  suite('that is another one under the same name', () => {
    let green: ControlPlane
    /** Of the same names as in red. */
    let namesakes: readonly Made[]

    before(async () => {
      green = await startRed()
    })
    after(async () => {
      await green?.[Symbol.asyncDispose]()
    })

    test('is let alone from one moment to the next, and its place is kept (F30)', async () => {
      const { red, blue, kinfold } = both
      const tree = await both.tree(red, 'left-behind')
      const owner = await make(green, { kind: CONFIG_MAP, name: tree.owner.name })
      const owned = tree.dependents.map(({ kind, name }) => ({ kind, name, owners: [owner] }))
      const strays = tree.dependents.map(({ kind, name }) => {
        return { kind, name: `stray-${name}`, owners: [tree.owner] }
      })
      namesakes = [owner, ...(await makeAll(green, owned))]
      const foreign = await makeAll(green, strays)
      both.proxy.lead({ server: green.server, ca: await readFile(green.caFile, 'utf8') })
      await both.says('cluster/red', /^\[-\].*now answers as cluster .* start again/)
      await remove(red, tree.owner)
      await both.goesOn(blue)
      ok(kinfold.isRunning)
      equal(await kinfold.metric('kinfold_cluster_connected', { cluster: 'red' }), 0)
      deepEqual(await missingOf(green, [...namesakes, ...foreign]), [])
      deepEqual(await missingOf(red, tree.dependents), [])

      // Back, and started again: what happened meanwhile is caught up with.
      both.proxy.lead({ server: red.server, ca: await readFile(red.caFile, 'utf8') })
      await kinfold.stop()
      await both.up()
      await both.gone(red, tree.dependents)
      await both.goesOn(red)
      await both.assertStays()
      deepEqual(await missingOf(green, [...namesakes, ...foreign]), [])
      await Promise.all(foreign.map((each) => remove(green, each)))
    })

    test('in its kubeconfig counts from the next start, and nothing of the former is taken for its own', async () => {
      const { red, blue } = both
      const tree = await both.tree(red, 'of-the-former')
      await both.writeKubeconfig(await both.proxyTo(green))
      await both.goesOn(red)
      await both.kinfold.stop()
      await remove(red, tree.owner)
      await both.up()
      await both.goesOn(blue)
      await both.goesOn(green)
      deepEqual(await missingOf(green, namesakes), [])
      deepEqual(await missingOf(red, tree.dependents), [])

      await both.writeKubeconfig(both.proxy.url)
      await both.kinfold.stop()
      await both.up()
      await both.gone(red, tree.dependents)
      await both.goesOn(red)
      await both.assertStays()
      deepEqual(await missingOf(green, namesakes), [])
    })
  })

  test('leaves a log that folds the same again', async () => {
    await both.kinfold.stop()
    const { code, stdout, stderr } = await runKinfold(['audit', 'verify', '--data', both.data])
    equal(code, 0, stdout + stderr)
  })

  async function dependents(plane: ControlPlane, owners: readonly Made[]): Promise<Made[]> {
    return await makeAll(
      plane,
      Array.from({ length: 5 }, (_, i) => ({ kind: CONFIG_MAP, name: `late-${i}`, owners })),
    )
  }
})

/** All rights but these verbs on this resource. */
function without(resource: string, ...verbs: readonly string[]): readonly Rule[] {
  return RIGHTS.flatMap((rule): Rule[] => {
    if (!rule.resources.includes(resource)) return [rule]
    const left = rule.verbs.filter((verb) => !verbs.includes(verb))
    const others = rule.resources.filter((each) => each !== resource)
    return [
      ...(left.length === 0 ? [] : [{ ...rule, resources: [resource], verbs: left }]),
      ...(others.length === 0 ? [] : [{ ...rule, resources: others }]),
    ]
  })
}
