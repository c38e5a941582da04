/**
 * Owners in another cluster by the services apart, over a real Kafka: what a watcher publishes into
 * the partition of the objects that name them, and what the graph says then.
 *
 * Not here: what is deleted after an hour (elsewhere.cluster.test.ts).
 */
import { equal } from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { startKafka } from '../../testing/kafka/broker.ts'
import { missingKafka } from '../../testing/kafka/jars.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { KinfoldServices } from '../../testing/process/kinfold-services.ts'
import { mergeKubeconfigs } from '../../testing/process/kubeconfigs.ts'
import {
  CONFIG_MAP,
  make,
  mergePatch,
  NAMESPACE,
  pathOf,
  remove,
} from '../../testing/process/objects.ts'

const skip = missingKafka() ?? missingServers('etcd', 'kube-apiserver') ?? false

suite('owners in another cluster, over Kafka', { skip }, () => {
  test('are there, and deleted, for the graph of the objects that name them', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'kinfold-elsewhere-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    await using north = await startControlPlane({ context: 'north' })
    await using south = await startControlPlane({ context: 'south' })
    await using kafka = await startKafka()
    const kubeconfig = join(folder, 'kubeconfig')
    await mergeKubeconfigs([north.kubeconfig, south.kubeconfig], kubeconfig)
    const ids: string[] = []
    for (const plane of [north, south]) {
      await make(plane, { kind: NAMESPACE, name: 'team' })
      const { body } = await plane.request<Stored>('GET', '/api/v1/namespaces/kube-system')
      ids.push(body.metadata.uid)
    }
    const config = join(folder, 'kinfold.yaml')
    writeFileSync(config, configOf(ids))
    const owner = await make(north, { kind: CONFIG_MAP, name: 'owner', namespace: 'team' })
    const named = await make(south, { kind: CONFIG_MAP, name: 'named', namespace: 'team' })
    const value = `${ids[0]}//ConfigMap/team/owner/${owner.uid}`
    await mergePatch(south, pathOf(named), {
      metadata: { annotations: { 'kinfold.io/owner': value } },
    })

    await using services = new KinfoldServices({
      ...{ kubeconfig, brokers: kafka.bootstrap, application: kafka.application, folder },
      ...{ partitions: 2, each: 1 },
      flags: (service) =>
        service === 'graph' ? ['--config', config] : ['--context', 'north', '--context', 'south'],
    })
    await services.start()
    await services.ready()
    const [graph] = services.of('graph')
    const explained = async (): Promise<string> => {
      const asked = ['rules', 'explain', 'far', 'configmap/named', '-n', 'team']
      const { code, stdout, stderr } = await runKinfold([
        ...asked,
        ...['--cluster', 'south', '--server', (await graph?.url()) ?? ''],
      ])
      equal(code, 0, stdout + stderr)
      return stdout
    }
    await eventually('the owner is there', async () => {
      const text = await explained()
      return text.includes('that owner is there') || text
    })
    await remove(north, owner)
    await eventually('the owner was deleted, and that is held', async () => {
      const text = await explained()
      return /that owner was deleted.*held until/s.test(text) || text
    })
    equal((await south.request('GET', pathOf(named))).status, 200)
  })
})

function configOf([north = '', south = '']: readonly string[]): string {
  return `
apiVersion: kinfold/v1alpha1
kind: Config
across:
  aliases: { north: ${north}, south: ${south} }
  exports: [{ cluster: north, kinds: [ConfigMap], namespaces: [team], to: [south] }]
rules:
  - name: far
    match: { kinds: [ConfigMap], namespaces: [team] }
    elsewhere: { cluster: north, kinds: [ConfigMap], namespaces: [team] }
`
}

interface Stored {
  readonly metadata: { readonly uid: string }
}
