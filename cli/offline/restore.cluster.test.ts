/**
 * Shows on a real API server that a cascade comes back out of an encrypted archive, below a new
 * root, and that nothing of it is collected again; and that what came back without its owner gets
 * it back.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { type Ran, runKinfold } from '../../testing/process/kinfold-command.ts'
import { ACTING, KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import {
  CONFIG_MAP,
  DEPLOYMENT,
  type Kind,
  kind,
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

const SERVICE: Kind = {
  ...kind('v1', 'Service', 'services'),
  body: { spec: { ports: [{ port: 80 }] } },
}
const JOB: Kind = {
  ...kind('batch/v1', 'Job', 'jobs'),
  body: {
    spec: {
      template: { spec: { restartPolicy: 'Never', ...(POD.body as { spec: object }).spec } },
    },
  },
}
/** More than one record takes. */
const LARGE: Kind = { ...CONFIG_MAP, body: { data: { text: 'ä'.repeat(300_000) } } }

/** The end of each line of a plan whose DELETE went through. */
const ARCHIVED = /; archived \d{4}-\d\d-\d\dT[\d:.]+Z$/gm

/** Of one object, with `-o json`. */
interface Told {
  readonly step: string
  readonly uid: string
  readonly becomes: string | null
}

const skip = missingServers('etcd', 'kube-apiserver')

suite('kinfold restore, on a real API server,', { skip: skip ?? false }, () => {
  let plane: ControlPlane
  let kinfold: KinfoldProcess
  let data: string
  let keyFile: string
  let otherKey: string

  const flags = (): readonly string[] => [
    ...ACTING,
    ...['--archive', '--archive-secrets', '--archive-key-file', keyFile],
  ]
  const restore = async (...more: readonly string[]): Promise<Ran> =>
    await restoreOf('web', ...more)
  const restoreOf = async (name: string, ...more: readonly string[]): Promise<Ran> =>
    await runKinfold([
      ...['restore', `deploy/${name}`, '--data', data, '--kubeconfig', plane.kubeconfig],
      ...['--include', 'secrets'],
      ...more,
    ])

  before(async () => {
    plane = await startControlPlane()
    data = join(plane.folder, 'kinfold')
    keyFile = join(plane.folder, 'key')
    otherKey = join(plane.folder, 'other-key')
    writeFileSync(keyFile, Buffer.alloc(32, 5).toString('base64'), { mode: 0o600 })
    writeFileSync(otherKey, Buffer.alloc(32, 6).toString('hex'), { mode: 0o600 })
    kinfold = await KinfoldProcess.start({ kubeconfig: plane.kubeconfig, data, flags: flags() })
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
  })

  test('gives what came back without its owner its reference, and leaves to the controller what is its own', async () => {
    const root = await make(plane, { kind: DEPLOYMENT, name: 'cart' })
    const controller = { ...referenceTo(root), controller: true }
    const settings = await make(plane, { kind: CONFIG_MAP, name: 'cart-settings', owners: [root] })
    const set = await make(plane, { kind: REPLICA_SET, name: 'cart-1', owners: [controller] })
    await seen([settings, set])
    await remove(plane, root)
    await untilGone(plane, [settings, set])
    await kinfold.settled()
    const key = ['--archive-key-file', keyFile] as const
    const dropped = await restoreOf('cart', ...key, '--lost-owners', 'drop', '--yes')
    equal(dropped.code, 1, dropped.stdout + dropped.stderr)
    match(dropped.stdout, /^warning: unmanaged .*: ReplicaSet\/cart-1 -n default$/m)
    const restored = await restoredOf([settings, set])
    deepEqual(await Promise.all(restored.map(ownerUids)), [[], []])

    const again = await make(plane, { kind: DEPLOYMENT, name: 'cart' })
    const relink = [...key, '--lost-owners', 'relink'] as const
    const tried = await restoreOf('cart', ...relink, '--dry-run')
    equal(tried.code, 0, tried.stdout + tried.stderr)
    match(tried.stdout, /^ConfigMap\/cart-settings -n default: would be linked$/m)
    deepEqual(await Promise.all(restored.map(ownerUids)), [[], []])
    const linked = await restoreOf('cart', ...relink, '--yes')
    equal(linked.code, 0, linked.stdout + linked.stderr)
    match(linked.stdout, /^0 to create, 2 to link to an owner, 0 there already, 0 refused\.$/m)
    deepEqual(await Promise.all(restored.map(ownerUids)), [[again.uid], [again.uid]])
    await remove(plane, restored[1]!)
    const left = await restoreOf('cart', ...relink)
    equal(left.code, 0, left.stdout)
    match(
      left.stdout,
      /^ {2}leave {3}ReplicaSet\/cart-1 .*: its controller Deployment\/cart makes its own/m,
    )
    // The reference holds: with this owner the object is collected, as any dependent.
    await seen([restored[0]!])
    await remove(plane, again)
    await untilGone(plane, restored)
    await kinfold.idle()
  })

  test('brings a cascade back, and nothing of it is collected again', async () => {
    const tree = await makeTree()
    const specs = await specsOf(tree.dependents)
    await kinfold.ready()
    await seen(tree.dependents)
    await remove(plane, tree.root)
    const names = tree.dependents.map(({ name }) => name)
    await eventually('the cascade is over', async () => {
      const left = names.length - (await missingOf(plane, tree.dependents)).length
      return left === 0 || `${left} left`
    })
    await kinfold.idle()

    const refused = await restore()
    equal(refused.code, 1, refused.stderr)
    match(
      refused.stdout,
      /refuse {2}ReplicaSet\/web-1 -n default: owner Deployment\/web .* does not exist, so it would be deleted again/,
    )
    match(refused.stdout, /0 to create, 0 there already, 7 refused/)

    const root = await make(plane, { kind: DEPLOYMENT, name: 'web' })
    const planned = await restore('--lost-owners', 'relink')
    equal(planned.code, 0, planned.stderr)
    match(planned.stdout, /7 to create, 0 there already, 0 refused/)
    equal(planned.stdout.match(ARCHIVED)?.length, 7, planned.stdout)
    const told = JSON.parse((await restore('--lost-owners', 'relink', '-o', 'json')).stdout)
    deepEqual(
      [told.steps.filter((each: Told) => each.step === 'create').length, told.results],
      [7, null],
    )
    const ask = ['--lost-owners', 'relink', '--yes'] as const
    for (const [more, why] of [
      [[], /is encrypted with the key [0-9a-f]{16}: name the file of that key/],
      [
        ['--archive-key-file', otherKey],
        /with a key that was not given \([0-9a-f]{16}\) are left out: /,
      ],
    ] as const) {
      const { code, stderr } = await restore(...ask, ...more)
      equal(code, 2)
      match(stderr, why)
    }
    const key = ['--archive-key-file', keyFile] as const
    const tried = await restore(...ask, ...key, '--dry-run', 'server')
    equal(tried.code, 0, tried.stdout + tried.stderr)
    equal(tried.stdout.match(ARCHIVED)?.length, 7, tried.stdout)
    deepEqual(await present(names), [])

    const done = await restore(...ask, ...key, '-o', 'json')
    equal(done.code, 0, done.stdout + done.stderr)
    const restored = await restoredOf(tree.dependents)
    const results: readonly Told[] = JSON.parse(done.stdout).results
    deepEqual(
      new Set(results.map(({ uid, becomes }) => `${uid} ${becomes}`)),
      new Set(tree.dependents.map(({ uid }, i) => `${uid} ${restored[i]!.uid}`)),
    )
    deepEqual(await specsOf(restored), specs)
    const uids = new Map([
      [tree.root.uid, root.uid],
      ...tree.dependents.map((was, i) => [was.uid, restored[i]!.uid] as const),
    ])
    for (const [i, was] of tree.dependents.entries()) {
      const [before, now] = [tree.owners[i]!, await ownerUids(restored[i]!)]
      deepEqual(
        now,
        before.map((uid) => uids.get(uid)),
        was.name,
      )
    }
    for (const [i, made] of restored.entries()) {
      const was = tree.dependents[i]!
      await seen([made])
      deepEqual((await kinfold.why(made))?.restored?.from, [was.uid])
      equal((await kinfold.why(was))?.restoredAs?.uid, made.uid)
    }
    const again = await restore('--lost-owners', 'relink', '--yes')
    equal(again.code, 0, again.stderr)
    match(again.stdout, /0 to create, 7 there already, 0 refused/)
    equal(again.stdout.match(ARCHIVED)?.length, 7, again.stdout)

    // A relist of everything: what was watched can not be gone on with.
    await kinfold.stop()
    await plane.compact()
    kinfold = await KinfoldProcess.start({ kubeconfig: plane.kubeconfig, data, flags: flags() })
    await marked()
    deepEqual(await missingOf(plane, [root, ...restored]), [])
    deepEqual(new Set(await kinfold.verdicts(restored)), new Set(['keep']))
    await kinfold.stop()
    const audit = await runKinfold(['audit', 'verify', '--data', data])
    equal(audit.code, 0, audit.stdout)
  })

  interface Tree {
    readonly root: Made
    readonly dependents: readonly Made[]
    /** Uids of their owners. */
    readonly owners: readonly (readonly string[])[]
  }

  async function makeTree(): Promise<Tree> {
    const root = await make(plane, { kind: DEPLOYMENT, name: 'web' })
    const set = await make(plane, { kind: REPLICA_SET, name: 'web-1', owners: [root] })
    const drafts: [Kind, string, readonly Made[]][] = [
      [POD, 'web-1-a', [set]],
      [SERVICE, 'web', [root]],
      [LARGE, 'web-large', [set]],
      [SECRET, 'web-token', [set]],
      [JOB, 'web-job', [root]],
    ]
    const made: Made[] = []
    for (const [of, name, owners] of drafts)
      made.push(await make(plane, { kind: of, name, owners }))
    const last = await make(plane, { kind: CONFIG_MAP, name: 'web-last', owners: [made[0]!] })
    return {
      root,
      dependents: [set, ...made, last],
      owners: [[root], ...drafts.map(([, , owners]) => owners), [made[0]!]].map((owners) =>
        owners.map(({ uid }) => uid),
      ),
    }
  }

  /** What of each is a person's. */
  async function specsOf(all: readonly Made[]): Promise<readonly unknown[]> {
    return await Promise.all(
      all.map(async (made) => {
        const { body } = await plane.request<Stored>('GET', pathOf(made))
        const { selector: _, clusterIP: __, clusterIPs: ___, template, ...spec } = body.spec ?? {}
        const pod = made.kind === JOB ? template?.spec : template
        return { spec: { ...spec, pod }, data: body.data, type: body.type }
      }),
    )
  }

  async function restoredOf(all: readonly Made[]): Promise<readonly Made[]> {
    return await Promise.all(
      all.map(async (was) => {
        const { status, body } = await plane.request<Stored>('GET', pathOf(was))
        equal(status, 200, was.name)
        const { uid, resourceVersion, annotations } = body.metadata
        ok(annotations?.[`restored-from.kinfold.dev/${was.uid}`]?.endsWith(`/${was.name}`))
        ok(uid !== was.uid)
        return { ...was, uid, resourceVersion }
      }),
    )
  }

  async function ownerUids(made: Made): Promise<readonly string[]> {
    const { body } = await plane.request<Stored>('GET', pathOf(made))
    return (body.metadata.ownerReferences ?? []).map(({ uid }) => uid)
  }

  async function present(names: readonly string[]): Promise<readonly string[]> {
    const kinds = [REPLICA_SET, POD, SERVICE, CONFIG_MAP, SECRET, JOB]
    const found = await Promise.all(
      kinds.flatMap((of) =>
        names.map(async (name) => {
          const path = pathOf({ kind: of, namespace: 'default', name })
          return (await plane.request('GET', path)).status === 200 ? name : undefined
        }),
      ),
    )
    return found.flatMap((name) => name ?? [])
  }

  async function seen(all: readonly Made[]): Promise<void> {
    await eventually('all of them are seen', async () => {
      const verdicts = await kinfold.verdicts(all)
      return verdicts.every((verdict) => verdict === 'keep') || verdicts.join()
    })
  }

  /** What was to go because of all before has gone by now. */
  async function marked(): Promise<void> {
    const owner = await make(plane, { kind: CONFIG_MAP, name: 'marked' })
    const marker = await make(plane, { kind: CONFIG_MAP, name: 'marker', owners: [owner] })
    await seen([marker])
    await remove(plane, owner)
    await eventually('the marker goes', async () => (await missingOf(plane, [marker])).length === 1)
    await kinfold.idle()
  }
})

interface Stored {
  readonly metadata: {
    readonly uid: string
    readonly resourceVersion: string
    readonly annotations?: Readonly<Record<string, string>>
    readonly ownerReferences?: readonly { readonly uid: string }[]
  }
  readonly spec?: Readonly<Record<string, unknown>> & {
    readonly template?: { readonly spec: unknown }
  }
  readonly data?: unknown
  readonly type?: unknown
}
