/**
 * Beside upstream's collector and its controllers of Deployments, in mode observe: what a person
 * deletes, and what that collector then deletes, comes back with `kinfold restore`, what
 * controllers made is made by them again, and nothing is collected again.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { type Ran, runKinfold } from '../../testing/process/kinfold-command.ts'
import { KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import {
  CONFIG_MAP,
  collectionPath,
  DEPLOYMENT,
  type Kind,
  type Made,
  make,
  missingOf,
  POD,
  pathOf,
  REPLICA_SET,
  referenceTo,
  remove,
  SECRET,
  untilGone,
} from '../../testing/process/objects.ts'

interface Stored {
  readonly metadata: {
    readonly uid: string
    readonly resourceVersion: string
    readonly finalizers?: readonly string[]
    readonly ownerReferences?: readonly { readonly uid: string }[]
  }
  readonly spec?: unknown
  readonly data?: unknown
}

interface Named {
  readonly metadata: { readonly name: string }
}

interface Result {
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly becomes: string | null
}

const KINDS = 'deployments.apps,configmaps,secrets'
const SETTINGS: Kind = { ...CONFIG_MAP, body: { data: { color: 'blue' } } }
const TOKEN: Kind = { ...SECRET, body: { stringData: { token: 'hidden' } } }

const skip = missingServers('etcd', 'kube-apiserver', 'kube-controller-manager')

suite('kinfold restore beside another collector', { skip: skip ?? false }, () => {
  let plane: ControlPlane
  let kinfold: KinfoldProcess
  let data: string
  let key: string

  before(async () => {
    plane = await startControlPlane()
    const extraArgs = ['--controllers=deployment-controller,replicaset-controller']
    await plane.startControllerManager({ collector: true, clientLimitsLifted: true, extraArgs })
    data = join(plane.folder, 'kinfold')
    key = join(plane.folder, 'key')
    writeFileSync(key, Buffer.alloc(32, 7).toString('base64'), { mode: 0o600 })
    kinfold = await start()
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
  })

  test('a Deployment that a person deleted comes back with its data, and nothing is collected again', async () => {
    const tree = await makeTree('web')
    const then = new Date().toISOString()
    await remove(plane, tree.root)
    await untilGone(plane, [tree.root, ...tree.all])
    const planned = await archived('web', 3)
    match(planned.stdout, /^Deployment\/web \(uid \S+\), into /)
    match(planned.stdout, /^ {2}create {2}Secret\/web-token .*; owner Deployment\/web is created/m)
    const keyless = await restore('web', '--yes')
    deepEqual([keyless.code, (await plane.request('GET', pathOf(tree.root))).status], [2, 404])
    match(keyless.stderr, /is encrypted with the key [0-9a-f]{16}/)

    const [root, settings, token] = await restored('web')
    ok(root !== undefined && settings !== undefined && token !== undefined)
    deepEqual([settings.name, token.name], ['web-settings', 'web-token'])
    ok(root.uid !== tree.root.uid)
    deepEqual((await read(root)).spec, tree.spec)
    deepEqual((await read(settings)).data, { color: 'blue' })
    deepEqual((await read(token)).data, { token: Buffer.from('hidden').toString('base64') })
    const set = await madeFor(root, REPLICA_SET)
    const pod = await madeFor(set, POD)
    ok(tree.all.every(({ uid }) => uid !== set.uid && uid !== pod.uid))
    const all = [root, settings, token, set, pod]
    await collects([referenceTo(tree.root)])
    deepEqual(await missingOf(plane, all), [])
    deepEqual(await Promise.all([settings, token, set].map(ownerUids)), [
      [root.uid],
      [root.uid],
      [root.uid],
    ])

    // Deleted once more: of two objects of that name the one of the moment is meant.
    await remove(plane, root)
    await untilGone(plane, all)
    await eventually('both are in the archive', async () => {
      const { stderr } = await restore('web')
      return (
        /2 objects had that name, .* or when \(--at\).* The newest: kinfold restore .*uid:/.test(
          stderr,
        ) || stderr
      )
    })
    const first = await restore('web', '--at', then)
    match(first.stdout, new RegExp(`^Deployment/web \\(uid ${tree.root.uid}\\)`))
    match(first.stdout, /^3 to create, /m)
    const early = await restore('web', '--at', '2020-01-01T00:00:00Z')
    equal(early.code, 2)
    match(early.stderr, /none that it owned, that existed at 2020-\S+ and was deleted since/)
  })

  test('what was deleted in the foreground comes back without that policy', async () => {
    const tree = await makeTree('cart')
    await remove(plane, tree.root, 'Foreground')
    await untilGone(plane, [tree.root, ...tree.all])
    await archived('cart', 3)
    const [root, ...rest] = await restored('cart')
    ok(root !== undefined)
    equal((await read(root)).metadata.finalizers, undefined)
    await collects([referenceTo(tree.root)])
    deepEqual(await missingOf(plane, [root, ...rest]), [])
  })

  test('what was deleted while Kinfold was down is archived once it is up again', async () => {
    const tree = await makeTree('down')
    await kinfold.stop()
    await remove(plane, tree.root)
    await untilGone(plane, [tree.root, ...tree.all])
    kinfold = await start()
    await archived('down', 3)
    equal((await restored('down')).length, 3)
  })

  async function start(): Promise<KinfoldProcess> {
    const flags = ['--mode', 'observe', '--archive', '--archive-kinds', KINDS]
    const secrets = ['--archive-secrets', '--archive-key-file', key]
    const { kubeconfig } = plane
    return await KinfoldProcess.start({ kubeconfig, data, flags: [...flags, ...secrets] })
  }

  /** A Deployment with what controllers make for it, and with what a person made for it. */
  async function makeTree(name: string) {
    const labels = { app: name }
    const template = { metadata: { labels }, spec: { containers: [{ name: 'a', image: 'b' }] } }
    const spec = { selector: { matchLabels: labels }, template }
    const root = await make(plane, { kind: { ...DEPLOYMENT, body: { spec } }, name })
    const owners = [{ ...referenceTo(root), blockOwnerDeletion: true }]
    const set = await madeFor(root, REPLICA_SET)
    const pod = await madeFor(set, POD)
    const settings = await make(plane, { kind: SETTINGS, name: `${name}-settings`, owners })
    const token = await make(plane, { kind: TOKEN, name: `${name}-token`, owners })
    const all = [set, pod, settings, token]
    await eventually('all are observed', async () => {
      const verdicts = await kinfold.verdicts(all)
      return verdicts.every((verdict) => verdict === 'keep') || verdicts.join()
    })
    return { root, all, spec: (await read(root)).spec }
  }

  /** By a controller. */
  async function madeFor(owner: Made, of: Kind): Promise<Made> {
    let made: Made | undefined
    await eventually(`a ${of.kind} of ${owner.name} is made`, async () => {
      const path = collectionPath(of, 'default')
      const { body } = await plane.request<{ items: (Stored & Named)[] }>('GET', path)
      const found = body.items.find(({ metadata }) => {
        return metadata.ownerReferences?.some(({ uid }) => uid === owner.uid)
      })
      if (found === undefined) return `none of ${body.items.length}`
      const { name, uid, resourceVersion } = found.metadata
      made = { kind: of, namespace: 'default', name, uid, resourceVersion }
      return true
    })
    return made!
  }

  async function restore(name: string, ...more: readonly string[]): Promise<Ran> {
    const from = ['--data', data, '--kubeconfig', plane.kubeconfig, '--include', 'secrets']
    return await runKinfold(['restore', `deploy/${name}`, ...from, ...more])
  }

  async function archived(name: string, count: number): Promise<Ran> {
    let last: Ran | undefined
    await eventually(`all of ${name} are in the archive`, async () => {
      last = await restore(name, '--archive-key-file', key)
      const is = new RegExp(`^${count} to create, 0 there already, 0 refused`, 'm')
      return is.test(last.stdout) || last.stdout + last.stderr
    })
    return last!
  }

  /** In the order in which they were created. */
  async function restored(name: string): Promise<readonly Made[]> {
    const { code, stdout, stderr } = await restore(
      ...([name, '--yes', '--archive-key-file', key, '-o', 'json'] as const),
    )
    equal(code, 0, stdout + stderr)
    const { results } = JSON.parse(stdout) as { readonly results: readonly Result[] }
    return results.map(({ kind: of, name: its, becomes }) => {
      const found = [DEPLOYMENT, SETTINGS, TOKEN].find((each) => each.kind === of)
      ok(found !== undefined && becomes !== null, stdout)
      return { kind: found, namespace: 'default', name: its, uid: becomes, resourceVersion: '' }
    })
  }

  /**
   * What names the former owner is collected: the other collector acts on all that came before,
   * too.
   */
  async function collects(owners: Parameters<typeof make>[1]['owners']): Promise<void> {
    const kinds = [CONFIG_MAP, SECRET, REPLICA_SET, POD]
    const name = `stale-${crypto.randomUUID().slice(0, 8)}`
    const stale: Made[] = []
    for (const each of kinds)
      stale.push(await make(plane, { kind: each, name, owners: owners ?? [] }))
    await untilGone(plane, stale)
  }

  async function read(made: Made): Promise<Stored> {
    return (await plane.request<Stored>('GET', pathOf(made))).body
  }

  async function ownerUids(made: Made): Promise<readonly string[]> {
    return ((await read(made)).metadata.ownerReferences ?? []).map(({ uid }) => uid)
  }
})
