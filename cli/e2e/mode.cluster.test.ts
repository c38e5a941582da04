/**
 * Shows that a fresh `kinfold up` deletes nothing: it says what would go and what is held; and that
 * only the mode asked for at a start acts.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { ACTING, KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import {
  CONFIG_MAP,
  type Made,
  make,
  makeAll,
  missingOf,
  remove,
  SECRET,
} from '../../testing/process/objects.ts'

const DEPENDENTS = 50

const skip = missingServers('etcd', 'kube-apiserver')

suite('kinfold up', { skip: skip ?? false }, () => {
  let plane: ControlPlane
  let kinfold: KinfoldProcess
  /** The deletion of their owner was observed. */
  let seen: readonly Made[]
  /** Their owner never existed. */
  let unseen: readonly Made[]

  const start = async (flags: readonly string[]): Promise<void> => {
    const { kubeconfig, folder } = plane
    kinfold = await KinfoldProcess.start({ kubeconfig, data: join(folder, 'kinfold'), flags })
  }
  const deletesSince = async (before: number): Promise<number> => {
    const counts = await plane.requestCounts()
    return (counts.get('DELETE secrets') ?? 0) - before
  }

  before(async () => {
    plane = await startControlPlane()
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
  })

  test('without flags asks for dry runs, holds what is not proven, and deletes nothing', async () => {
    await start([])
    const owner = await make(plane, { kind: CONFIG_MAP, name: 'owner' })
    const never = { apiVersion: 'v1', kind: 'ConfigMap', name: 'never', uid: 'made-up' }
    seen = await dependentsOf('seen', owner)
    unseen = await makeAll(
      plane,
      Array.from({ length: DEPENDENTS }, (_, i) => {
        return { kind: SECRET, name: `unseen-${i}`, owners: [never] }
      }),
    )
    await eventually('all are judged', async () => {
      const verdicts = [...(await kinfold.verdicts(seen)), ...(await kinfold.verdicts(unseen))]
      return (
        verdicts.every((it) => it === 'keep' || it === 'delete, held by protection') ||
        verdicts.join()
      )
    })
    await remove(plane, owner)
    await eventually('all that would go is said to', async () => {
      const whys = await Promise.all(seen.map((made) => kinfold.why(made)))
      return whys.every(
        (why) => why?.verdict?.type === 'delete' && why.attempt?.state === 'would-go',
      )
    })
    const [why] = await Promise.all(unseen.slice(0, 1).map((made) => kinfold.why(made)))
    equal(why?.verdict?.evidence, 'not-found')
    deepEqual([...new Set(await kinfold.verdicts(unseen))], ['delete, held by protection'])
    deepEqual(await missingOf(plane, [...seen, ...unseen]), [])
    equal(await kinfold.metric('kinfold_commands_total', { result: 'done' }), 0)
    await kinfold.stop()
  })

  test('with enforce acts on what it sees from then on, and guarded still holds what was before', async () => {
    const before = (await plane.requestCounts()).get('DELETE secrets') ?? 0
    await start(['--mode', 'enforce'])
    const owner = await make(plane, { kind: CONFIG_MAP, name: 'later' })
    const later = await dependentsOf('later', owner)
    await remove(plane, owner)
    await eventually('the later ones go', async () => {
      return (await missingOf(plane, later)).length === later.length
    })
    await eventually('the earlier ones are held', async () => {
      const verdicts = await kinfold.verdicts(seen)
      return verdicts.every((it) => it.startsWith('delete, held by ')) || verdicts.join()
    })
    deepEqual(await missingOf(plane, [...seen, ...unseen]), [])
    equal(await deletesSince(before), later.length)
    await kinfold.stop()
  })

  test('with enforce and parity deletes it all', async () => {
    await start(ACTING)
    await eventually('all go', async () => {
      const missing = await missingOf(plane, [...seen, ...unseen])
      return missing.length === seen.length + unseen.length || `${missing.length} are gone`
    })
  })

  async function dependentsOf(name: string, owner: Made): Promise<Made[]> {
    return await makeAll(
      plane,
      Array.from({ length: DEPENDENTS }, (_, i) => {
        return { kind: SECRET, name: `${name}-${i}`, owners: [owner] }
      }),
    )
  }
})
