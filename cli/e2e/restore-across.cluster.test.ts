/**
 * `kinfold restore` over two real kube-apiservers, beside upstream's collector: an owner in north
 * and what names it in south by `kinfold.io/owner` come back, and stay.
 *
 * Not here: what the plan says (cli/offline/restore-across.test.ts).
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { type Ran, runKinfold } from '../../testing/process/kinfold-command.ts'
import { KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import { mergeKubeconfigs } from '../../testing/process/kubeconfigs.ts'
import {
  CONFIG_MAP,
  type Made,
  make,
  mergePatch,
  NAMESPACE,
  pathOf,
  remove,
  untilGone,
} from '../../testing/process/objects.ts'

const CONTEXTS = ['--context', 'north', '--context', 'south']
const ARCHIVE = ['--archive', '--archive-kinds', 'configmaps']
const OBSERVING = ['--mode', 'observe', '--kinds', 'configmaps', ...ARCHIVE, ...CONTEXTS]
const HUB = 'hub'

interface Stored {
  readonly data?: Readonly<Record<string, string>>
  readonly metadata: {
    readonly uid: string
    readonly annotations?: Readonly<Record<string, string>>
    readonly ownerReferences?: readonly { readonly uid: string }[]
  }
}

const skip = missingServers('etcd', 'kube-apiserver', 'kube-controller-manager') ?? false

suite('a restore over two clusters with their own collector', { skip }, () => {
  let [north, south]: (ControlPlane | undefined)[] = []
  let kinfold: KinfoldProcess
  let [kubeconfig, data, northId] = ['', '', '']

  before(async () => {
    const started = ['north', 'south'].map((context) => startControlPlane({ context }))
    ;[north, south] = await Promise.all(started)
    for (const plane of [north!, south!]) {
      await make(plane, { kind: NAMESPACE, name: HUB })
      await plane.startControllerManager({ collector: true })
    }
    northId = (await read(north!, '/api/v1/namespaces/kube-system')).metadata.uid
    kubeconfig = join(north!.folder, 'both.kubeconfig')
    data = join(north!.folder, 'kinfold')
    await mergeKubeconfigs([north!.kubeconfig, south!.kubeconfig], kubeconfig)
    kinfold = await KinfoldProcess.start({ kubeconfig, data, flags: OBSERVING })
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await Promise.all([north, south].map((plane) => plane?.[Symbol.asyncDispose]()))
  })

  test('brings back the owner, what names it elsewhere, and what that owned, and they stay', async () => {
    const owner = await makeIn(north!, 'region')
    const settings = await makeIn(south!, 'region-settings')
    await mergePatch(north!, pathOf(owner), { data: { tier: 'gold' } })
    const named = `${northId}//ConfigMap/${HUB}/region/${owner.uid}`
    const annotations = { 'kinfold.io/owner': named }
    await mergePatch(south!, pathOf(settings), { metadata: { annotations }, data: { size: '3' } })
    const owned = await makeIn(south!, 'region-owned', [settings])
    await remove(north!, owner)
    await remove(south!, settings)
    await untilGone(south!, [owned])
    await eventually('all of them are archived', async () => {
      const { stdout, stderr } = await restore()
      return stdout.includes('region-owned') || stdout + stderr
    })

    const checked = await restore('--dry-run')
    equal(checked.code, 0, checked.stdout + checked.stderr)
    match(checked.stdout, /^ConfigMap\/region-settings -n hub in cluster \S+: would be created$/m)
    equal((await south!.request('GET', pathOf(settings))).status, 404)
    const done = await restore('--yes')
    equal(done.code, 0, done.stdout + done.stderr)

    const owners = await read(north!, pathOf(owner))
    const follows = await read(south!, pathOf(settings))
    deepEqual([owners.data, follows.data], [{ tier: 'gold' }, { size: '3' }])
    equal(
      follows.metadata.annotations?.['kinfold.io/owner'],
      `${northId}//ConfigMap/${HUB}/region/${owners.metadata.uid}`,
    )
    await collectorGoesOn()
    const { metadata } = await read(south!, pathOf(owned))
    deepEqual(
      metadata.ownerReferences?.map(({ uid }) => uid),
      [follows.metadata.uid],
    )
    const again = await restore()
    match(again.stdout, /^ {2}keep {4}ConfigMap\/region -n hub/m)
  })

  async function makeIn(
    plane: ControlPlane,
    name: string,
    owners: readonly Made[] = [],
  ): Promise<Made> {
    return await make(plane, { kind: CONFIG_MAP, name, namespace: HUB, owners })
  }

  /** What was restored before this has been judged by upstream's collector, too. */
  async function collectorGoesOn(): Promise<void> {
    const owner = await makeIn(south!, 'bystander')
    const dependent = await makeIn(south!, 'bystander-owned', [owner])
    await remove(south!, owner)
    await untilGone(south!, [dependent])
  }

  async function restore(...flags: readonly string[]): Promise<Ran> {
    const of = ['restore', 'cm/region', '-n', HUB, '--data', data, '--kubeconfig', kubeconfig]
    return await runKinfold([...of, ...CONTEXTS, ...flags])
  }
})

async function read(plane: ControlPlane, path: string): Promise<Stored> {
  const { status, body } = await plane.request<Stored>('GET', path)
  equal(status, 200, path)
  return body
}
