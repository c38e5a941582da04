/**
 * Shows what `kinfold up` makes of the time it was down: it goes on from its last position, and
 * what a watch can no longer deliver it finds by a list.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import {
  type Family,
  type Made,
  makeFamily,
  missingOf,
  remove,
  untilGone,
} from '../../testing/process/objects.ts'

const DEPENDENTS = 100
/**
 * A kind is probed with limit=1, one of them by the connection as well; discovery lists API
 * services as well, at the start and half a minute later.
 */
const PROBES = 2
const LISTS_OF_API_SERVICES = 3

const skip = missingServers('etcd', 'kube-apiserver')

suite('kinfold up, started again,', { skip: skip ?? false }, () => {
  let plane: ControlPlane
  let kinfold: KinfoldProcess

  const start = async (): Promise<void> => {
    const { kubeconfig, folder } = plane
    kinfold = await KinfoldProcess.start({ kubeconfig, data: join(folder, 'kinfold') })
  }

  before(async () => {
    // Watches of ConfigMaps go to etcd itself, so that a compaction reaches them.
    plane = await startControlPlane({ apiserverArgs: ['--watch-cache-sizes=configmaps#0'] })
    await start()
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
  })

  test('in quiet lists nothing, and is ready', async (t) => {
    await makeTree('quiet')
    await kinfold.stop()
    const before = await plane.requestCounts()
    const begunMs = performance.now()
    await start()
    const tookMs = performance.now() - begunMs
    t.diagnostic(`ready in ${Math.round(tookMs)} ms`)
    equal(await kinfold.metric('kinfold_watcher_lists_total'), 0)
    const lists = [...(await plane.requestCounts())].flatMap(([key, count]): string[] => {
      if (!key.startsWith('LIST ')) return []
      const allowed = key === 'LIST apiservices' ? LISTS_OF_API_SERVICES : PROBES
      const made = count - (before.get(key) ?? 0)
      return made > allowed ? [`${key}: ${made}`] : []
    })
    deepEqual(lists, [])
  })

  test('after kill -9 is told by its watches what went meanwhile (deleted)', async () => {
    const { owner, dependents } = await makeTree('killed')
    await kinfold.kill()
    await remove(plane, owner)
    await start()
    await untilGone(plane, dependents)
    equal(await kinfold.metric('kinfold_watcher_lists_total'), 0)
    deepEqual(await evidenceOf(dependents), ['deleted'])
  })

  test('after etcd was compacted lists anew, and finds what vanished meanwhile (missing)', async () => {
    const { owner, dependents } = await makeTree('compacted')
    const kept = await makeTree('kept')
    await kinfold.stop()
    await remove(plane, owner)
    await makeTree('unrelated')
    await plane.compact()
    await start()
    await untilGone(plane, dependents)
    ok((await kinfold.metric('kinfold_watcher_lists_total')) > 0, 'it listed nothing')
    deepEqual(await evidenceOf(dependents), ['missing'])
    deepEqual(await missingOf(plane, [kept.owner, ...kept.dependents]), [])
  })

  async function makeTree(name: string): Promise<Family> {
    const family = await makeFamily(plane, name, DEPENDENTS)
    const { dependents } = family
    if (kinfold.isRunning) {
      await eventually('all are seen', async () => {
        return (await kinfold.verdicts(dependents)).every((verdict) => verdict === 'keep')
      })
    }
    return family
  }

  /** All classes that deletes rested on. */
  async function evidenceOf(all: readonly Made[]): Promise<unknown[]> {
    let found: unknown[] = []
    await eventually('their history is indexed', async () => {
      const whys = await Promise.all(all.map((made) => kinfold.why(made)))
      const entries = whys.flatMap((why) => why?.history ?? [])
      const commands = entries.filter(({ change }) => change === 'command')
      found = [...new Set(commands.map(({ evidence }) => evidence))].sort()
      return entries.filter(({ change }) => change === 'gone').length === all.length
    })
    return found
  }
})
