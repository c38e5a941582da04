/**
 * Shows that `kinfold up` notices when etcd is rolled back behind its back, deletes nothing for
 * what it remembers of the undone time, and goes on.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import {
  CONFIG_MAP,
  type Made,
  make,
  makeAll,
  missingOf,
  remove,
} from '../../testing/process/objects.ts'

const DEPENDENTS = 40
/** More revisions than an API server writes of its own when it starts. */
const UNDONE_WRITES = 400

const skip = missingServers('etcd', 'kube-apiserver')

suite('kinfold up, when etcd was rolled back,', { skip: skip ?? false }, () => {
  let plane: ControlPlane
  let kinfold: KinfoldProcess
  let data: string
  let snapshot: string

  const start = async (): Promise<void> => {
    kinfold = await KinfoldProcess.start({ kubeconfig: plane.kubeconfig, data })
  }

  before(async () => {
    plane = await startControlPlane()
    data = join(plane.folder, 'kinfold')
    snapshot = join(plane.folder, 'snapshot')
    await start()
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
  })

  test('notices it, deletes nothing that came back, and collects what goes after', async () => {
    const returned = await makeTree('returned')
    await plane.snapshot(snapshot)
    await untilBack()
    await makeMany('undone', UNDONE_WRITES)
    await collect(returned)

    await plane.restore(snapshot)
    await plane.killApiserver()
    await plane.startApiserver()
    await eventually('it is noticed', async () => {
      return (await kinfold.metric('kinfold_watcher_rewinds_total')) > 0
    })
    await kinfold.ready()
    await marked('after-rollback')
    deepEqual(await missingOf(plane, [returned.owner, ...returned.dependents]), [])
    await eventually('it shows what is there now', async () => {
      const verdicts = await kinfold.verdicts(returned.dependents)
      return verdicts.every((verdict) => verdict === 'keep') || verdicts.join()
    })
    await collect(returned)
  })

  test('while it was down notices it as well, at its start', async () => {
    const returned = await makeTree('returned-too')
    await plane.snapshot(snapshot)
    await untilBack()
    await makeMany('undone-too', UNDONE_WRITES)
    await collect(returned)
    await kinfold.stop()
    await plane.restore(snapshot)
    await plane.killApiserver()
    await plane.startApiserver()
    await start()
    await eventually('it is noticed', async () => {
      return (await kinfold.metric('kinfold_watcher_rewinds_total')) > 0
    })
    await kinfold.ready()
    await marked('after-start')
    deepEqual(await missingOf(plane, [returned.owner, ...returned.dependents]), [])
    await collect(returned)
  })

  suite('and the cluster has written more since than was undone,', () => {
    test('deletes nothing for an owner that came back', async () => {
      const returned = await makeTree('overtaken')
      await plane.snapshot(snapshot)
      await untilBack()
      await collect(returned)
      await kinfold.stop()
      const undone = BigInt(await plane.etcd.revision())
      await plane.restore(snapshot)
      await plane.killApiserver()
      await plane.startApiserver()
      while (BigInt(await plane.etcd.revision()) <= undone) await makeMany('written-since', 50)
      await start()
      const adopted = await makeMany('adopted', 1, returned.owner)
      await marked('after-overtaking')
      const all = [returned.owner, ...returned.dependents, ...adopted]
      deepEqual(await missingOf(plane, all), [])
    })
  })

  test('tells a log that folds the same again', async () => {
    await kinfold.stop()
    const { code, stdout, stderr } = await runKinfold(['audit', 'verify', '--data', data])
    equal(code, 0, stdout + stderr)
  })

  interface Tree {
    readonly owner: Made
    readonly dependents: readonly Made[]
  }

  async function makeTree(name: string): Promise<Tree> {
    const owner = await make(plane, { kind: CONFIG_MAP, name })
    const dependents = await makeMany(name, DEPENDENTS, owner)
    await eventually('they are seen', async () => {
      return (await kinfold.verdicts(dependents)).every((verdict) => verdict === 'keep')
    })
    return { owner, dependents }
  }

  let made = 0
  async function makeMany(name: string, count: number, owner?: Made): Promise<Made[]> {
    return await makeAll(
      plane,
      Array.from({ length: count }, () => {
        made++
        return { kind: CONFIG_MAP, name: `${name}-${made}`, ...(owner && { owners: [owner] }) }
      }),
    )
  }

  async function collect({ owner, dependents }: Tree): Promise<void> {
    await remove(plane, owner)
    await eventually('they go', async () => {
      const missing = await missingOf(plane, dependents)
      return missing.length === dependents.length || `${missing.length} are gone`
    })
  }

  /** Whatever was to go because of what happened before has gone when this one has. */
  async function marked(name: string): Promise<void> {
    const owner = await make(plane, { kind: CONFIG_MAP, name })
    await collect({ owner, dependents: await makeMany(name, 1, owner) })
    await kinfold.idle()
  }

  /** etcd was away for a moment. */
  async function untilBack(): Promise<void> {
    await eventually('the API server takes writes again', async () => {
      const { status } = await plane.request('POST', '/api/v1/namespaces', {
        metadata: { generateName: 'probe-' },
      })
      return status === 201 || `${status}`
    })
  }
})
