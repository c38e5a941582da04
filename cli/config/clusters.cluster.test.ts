/**
 * Shows that one `kinfold up` looks after two clusters that have the same names in them, and mixes
 * nothing up.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { ACTING, KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import { mergeKubeconfigs } from '../../testing/process/kubeconfigs.ts'
import {
  CONFIG_MAP,
  type Made,
  make,
  makeAll,
  missingOf,
  type Requests,
  remove,
} from '../../testing/process/objects.ts'

const DEPENDENTS = 200

const skip = missingServers('etcd', 'kube-apiserver')

test('a cascade in one of two clusters leaves the other untouched', {
  skip: skip ?? false,
}, async () => {
  const [red, blue] = await Promise.all([
    startControlPlane({ context: 'red' }),
    startControlPlane({ context: 'blue' }),
  ])
  await using _red = red
  await using _blue = blue
  const kubeconfig = join(red.folder, 'both.kubeconfig')
  await mergeKubeconfigs([red.kubeconfig, blue.kubeconfig], kubeconfig)
  const flags = [...ACTING, '--context', 'red', '--context', 'blue']
  await using kinfold = await KinfoldProcess.start({
    kubeconfig,
    data: join(red.folder, 'kinfold'),
    flags,
  })
  const [inRed, inBlue] = await Promise.all([makeTree(red), makeTree(blue)])
  // An owner of the other cluster is none here.
  const foreign = await make(red, { kind: CONFIG_MAP, name: 'foreign', owners: [inBlue.owner] })
  await eventually('all are judged', async () => {
    const trees = [...inRed.dependents, ...inBlue.dependents]
    return (await kinfold.verdicts(trees.slice(-1))).every((it) => it === 'keep')
  })
  const before = await blue.requestCounts()
  await remove(red, inRed.owner)
  await eventually('red goes', async () => {
    const missing = await missingOf(red, [...inRed.dependents, foreign])
    return missing.length === DEPENDENTS + 1 || `${missing.length} are gone`
  })
  await kinfold.idle()
  deepEqual(await missingOf(blue, [inBlue.owner, ...inBlue.dependents]), [])
  const after = await blue.requestCounts()
  equal(after.get('DELETE configmaps') ?? 0, before.get('DELETE configmaps') ?? 0)

  await remove(blue, inBlue.owner)
  await eventually('blue goes', async () => {
    const missing = await missingOf(blue, inBlue.dependents)
    return missing.length === DEPENDENTS || `${missing.length} are gone`
  })
})

interface Tree {
  readonly owner: Made
  readonly dependents: readonly Made[]
}

async function makeTree(plane: Requests): Promise<Tree> {
  const owner = await make(plane, { kind: CONFIG_MAP, name: 'owner' })
  const dependents = await makeAll(
    plane,
    Array.from({ length: DEPENDENTS }, (_, i) => {
      return { kind: CONFIG_MAP, name: `dependent-${i}`, owners: [owner] }
    }),
  )
  return { owner, dependents }
}
