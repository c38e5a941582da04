/**
 * What tools mark as managed is seen over two real API servers: as soon as it is asked for, in the
 * tree, beside a plan and in why; and nothing is deleted by it.
 */
import { doesNotMatch, equal, match } from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { type Ran, runKinfold } from '../../testing/process/kinfold-command.ts'
import { ACTING, KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import { mergeKubeconfigs } from '../../testing/process/kubeconfigs.ts'
import {
  CONFIG_MAP,
  kind,
  make,
  mergePatch,
  missingOf,
  pathOf,
  remove,
} from '../../testing/process/objects.ts'

const APPLICATION = kind('argoproj.io/v1alpha1', 'Application', 'applications')
const DEFINITION = {
  ...kind('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions'),
  namespaced: false,
  body: {
    spec: {
      ...{ group: 'argoproj.io', scope: 'Namespaced' },
      names: {
        ...{ plural: 'applications', singular: 'application', kind: 'Application' },
        shortNames: ['app', 'apps'],
      },
      versions: [
        {
          ...{ name: 'v1alpha1', served: true, storage: true },
          schema: {
            openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          },
        },
      ],
    },
  },
}
const FINALIZER = 'resources-finalizer.argocd.argoproj.io'
const CONFIG = 'apiVersion: kinfold/v1alpha1\nkind: Config\nacross: { marks: [argo] }\n'

const skip = missingServers('etcd', 'kube-apiserver')

suite('marks over two clusters', { skip: skip ?? false }, () => {
  let planes: readonly ControlPlane[] = []
  let kinfold: KinfoldProcess

  before(async () => {
    planes = await Promise.all(['red', 'blue'].map((context) => startControlPlane({ context })))
    const [red, blue] = planes as readonly [ControlPlane, ControlPlane]
    const kubeconfig = join(red.folder, 'both.kubeconfig')
    await mergeKubeconfigs([red.kubeconfig, blue.kubeconfig], kubeconfig)
    const config = join(red.folder, 'config.yaml')
    await writeFile(config, CONFIG)
    const kinds = ['--kinds', 'configmaps,applications.argoproj.io']
    await make(red, { kind: DEFINITION, name: 'applications.argoproj.io' })
    const flags = [...ACTING, '--config', config, '--context', 'red', '--context', 'blue', ...kinds]
    kinfold = await KinfoldProcess.spawn({ kubeconfig, data: join(red.folder, 'data'), flags })
    await kinfold.ready()
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await Promise.all(planes.map(async (plane) => await plane[Symbol.asyncDispose]()))
  })

  async function asked(...words: readonly string[]): Promise<Ran> {
    return await runKinfold(words, { KINFOLD_DATA: kinfold.data })
  }

  test('an Application has its objects in both, and takes none of them along by itself', async () => {
    const [red, blue] = planes as readonly [ControlPlane, ControlPlane]
    const app = await make(red, { kind: APPLICATION, name: 'shop', finalizers: [FINALIZER] })
    const made = []
    for (const [at, plane] of [red, blue].entries()) {
      const name = `of-shop-${at}`
      const annotations = { 'argocd.argoproj.io/tracking-id': `shop:/ConfigMap:default/${name}` }
      const owner = await make(plane, { kind: CONFIG_MAP, name })
      await mergePatch(plane, pathOf(owner), { metadata: { annotations } })
      const owned = await make(plane, { kind: CONFIG_MAP, name: `${name}-owned`, owners: [owner] })
      made.push([plane, [owner, owned]] as const)
    }
    await eventually('all is seen', async () => {
      const { stdout } = await asked('tree', '--across', 'app/shop')
      return /^2 objects in 2 clusters bear marks of Argo CD, and 2 dep/m.test(stdout) || stdout
    })
    const tree = await asked('tree', '--across', 'app/shop')
    equal(tree.code, 0, tree.stderr)
    match(tree.stdout, /^Application\/shop -n default {2}\(cluster red; it has the finalizer/)
    for (const name of ['blue', 'red']) match(tree.stdout, new RegExp(`─ cluster ${name} `))
    const plan = await asked('plan', 'delete', 'app/shop')
    match(plan.stdout, /^1 object:$/m)
    match(plan.stdout, /^Beside that, seen by marks and not by owner references: 2 objects in 2/m)
    const why = await asked('why', 'cm/of-shop-1')
    match(why.stdout, /managed by Argo CD: Application\/shop, as the annotation/)

    // Its tool is not there: the Application waits, and what is marked stays.
    await remove(red, app)
    await eventually('its deletion is seen', async () => {
      const { stdout } = await asked('tree', 'app/shop')
      return stdout.includes('being deleted') || stdout
    })
    for (const [plane, objects] of made) equal((await missingOf(plane, objects)).join(), '')
    await mergePatch(red, pathOf(app), { metadata: { finalizers: null } })
    await eventually('it is seen as a name', async () => {
      const { stdout } = await asked('tree', '--across', 'app/shop')
      return (
        stdout.startsWith('app/shop  (no manager of that kind and name is seen here)') || stdout
      )
    })
    for (const [plane, objects] of made) equal((await missingOf(plane, objects)).join(), '')
    const after = await asked('tree', '--across', 'app/shop')
    match(after.stdout, /not known/)
    doesNotMatch(after.stdout, /finalizer/)
  })
})
