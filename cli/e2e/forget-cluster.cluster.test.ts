/**
 * A real cluster of owners that is gone for good, its API server and its watcher: what people see
 * of it, the order that forgets it, and the way back, by the command as they run it.
 *
 * What must stay true: the services are the real ones (testing/far-clusters.ts). Nothing is
 * deleted while that cluster is cut off, nor by the order.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type FarClusters, HOUR_MS, STEP_MS, startFarClusters } from '../../testing/far-clusters.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { type Made, remove } from '../../testing/process/objects.ts'

const skip = missingServers('etcd', 'kube-apiserver') ?? false

function configOf(north: string, south: string): string {
  return `
apiVersion: kinfold/v1alpha1
kind: Config
mode: enforce
preset: parity
across:
  aliases: { north: ${north}, south: ${south} }
  exports: [{ cluster: north, kinds: [ConfigMap], namespaces: [team], to: [south] }]
rules:
  - name: far
    match: { kinds: [ConfigMap], namespaces: [team] }
    elsewhere: { cluster: north, kinds: [ConfigMap], namespaces: [team] }
  - name: only-reports
    match: { kinds: [ConfigMap], namespaces: [reports] }
    elsewhere: { cluster: north, kinds: [ConfigMap], namespaces: [team] }
`
}

suite('a cluster of owners that is gone for good', { skip }, () => {
  let far: FarClusters

  before(async () => {
    far = await startFarClusters({
      namespaces: ['team', 'reports'],
      config: configOf,
      enforced: ['far'],
    })
  })
  after(async () => await far?.[Symbol.asyncDispose]())

  async function kinfold(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await runKinfold([...args, '--server', far.url])
    equal(code, 0, stdout + stderr)
    return stdout
  }

  async function left(all: readonly Made[]): Promise<readonly string[]> {
    const are = await Promise.all(all.map(async (each) => await far.isThere(each)))
    return all.filter((_, i) => are[i] === true).map(({ name }) => name)
  }

  test('is forgotten by an order of its plan, and what was due by it is due anew once it is remembered', async () => {
    const [deleted, follows] = await far.pair('follows', 'team')
    const [other, reported] = await far.pair('reported', 'team', { within: 'reports' })
    const [there, beside] = await far.pair('beside', 'team')
    const all = [follows, reported, beside]
    const names = all.map(({ name }) => name)
    for (const each of [deleted, other, there]) await far.published(each, 'there')
    for (const each of [deleted, other]) await remove(far.north, each)
    for (const each of [deleted, other]) await far.published(each, 'deleted')

    far.stopNorth()
    await far.north.stopApiserver()
    await far.pass(HOUR_MS + 5 * STEP_MS, false)
    deepEqual(await left(all), names, 'what it had stays while it is cut off')
    const status = await runKinfold(['status', '--server', far.url])
    equal(status.code, 1, 'that somebody has to look after it')
    match(
      status.stdout,
      /^Rules of south wait for owners in cluster north, which is cut off: .+ \(should it be gone for good: kinfold plan forget-cluster north\)$/m,
    )
    const plan = await kinfold('plan', 'forget-cluster', 'north')
    for (const line of [
      /^Cluster south: 3 objects with an owner there$/m,
      /^ {2}their owners are in a cluster which is cut off: /m,
      /^ {2}rule far: 2 objects, 1 of them due$/m,
      /^ {2}rule only-reports: 1 object, 1 of them due$/m,
    ]) {
      match(plan, line)
    }

    const [digest = ''] = /sha256:[0-9a-f]{64}/.exec(plan) ?? []
    await kinfold('forget-cluster', 'north', '--why', 'dismantled', '--digest', digest)
    await far.north.startApiserver()
    far.watchNorth()
    await far.pass(HOUR_MS + 5 * STEP_MS)
    deepEqual(await left(all), names, 'nor is it due by what is heard of it later')
    const asked = ['why', 'configmap/follows', '-n', 'team', '--cluster', 'south']
    match(await kinfold(...asked), /owner in cluster \S+, which local:\S+ had forgotten at /)

    await kinfold('remember-cluster', 'north', '--why', 'it is back')
    await far.pass(HOUR_MS - 5 * STEP_MS)
    deepEqual(await left(all), names, 'an hour anew')
    await far.pass(6 * STEP_MS)
    await far.gone(follows)
    deepEqual(await left(all), ['reported', 'beside'])
    match(await kinfold(...asked), /^Deleted .+ by Kinfold, by rule far: /)
  })
})
