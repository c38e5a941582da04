/**
 * Kinfold in mode observe beside kube-controller-manager's own collector on a real server:
 * cascades, foreground and orphan deletions end in no difference, and what cannot be distinguished
 * is listed as that.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import type { ShadowCount, ShadowReport } from '../../services/graph/audit/shadow-report.ts'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import type { ControllerManager } from '../../testing/cluster/controller-manager.ts'
import { eventually } from '../../testing/eventually.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import {
  type Family,
  type Made,
  make,
  makeAll,
  makeFamily,
  ownersOf,
  remove,
  SECRET,
  untilGone,
} from '../../testing/process/objects.ts'

const DEPENDENTS = 25
const skip = missingServers('etcd', 'kube-apiserver', 'kube-controller-manager')

suite('kinfold beside another collector', { skip: skip ?? false }, () => {
  let plane: ControlPlane
  let upstream: ControllerManager
  let kinfold: KinfoldProcess

  before(async () => {
    plane = await startControlPlane()
    upstream = await plane.startControllerManager({ collector: true, clientLimitsLifted: true })
    const data = join(plane.folder, 'kinfold')
    const flags = ['--mode', 'observe', '--preset', 'parity']
    kinfold = await KinfoldProcess.start({ kubeconfig: plane.kubeconfig, data, flags })
    // What left before that is not compared.
    await eventually('the comparison has begun', async () => (await report()).since !== null)
    let canaries = 0
    await eventually('the other collector acts', async () => {
      canaries += 1
      const { dependents, owner } = await family('canary', 1)
      await remove(plane, owner)
      await untilGone(plane, dependents)
      return true
    })
    // Else one of them is counted with what comes after.
    await told('canaries are counted', ({ agreed }) => agreed === canaries)
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await upstream?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
  })

  test('agrees upon what goes in the background, two levels deep', async () => {
    const before = await settled()
    const { owner, dependents } = await family('wide')
    const below = await makeAll(
      plane,
      dependents.map((each, i) => ({ kind: SECRET, name: `below-${i}`, owners: [each] })),
    )
    await judged([...dependents, ...below])
    await remove(plane, owner)
    await untilGone(plane, [...dependents, ...below])
    await agrees(before, 2 * DEPENDENTS)
  })

  test('agrees upon what goes in the foreground', async () => {
    const before = await settled()
    const { owner, dependents } = await family('first')
    await judged(dependents)
    await remove(plane, owner, 'Foreground')
    await untilGone(plane, [owner, ...dependents])
    await agrees(before, DEPENDENTS)
  })

  test('counts nothing for what is orphaned', async () => {
    const before = await settled()
    const { owner, dependents } = await family('free')
    await judged(dependents)
    await remove(plane, owner, 'Orphan')
    await untilGone(plane, [owner])
    await eventually('all lose their reference', async () => {
      const owners = await Promise.all(dependents.map((each) => ownersOf(plane, each)))
      return owners.every((each) => each?.length === 0)
    })
    await agrees(before, 0)
  })

  test('cannot tell who deleted what has an owner, or one that nobody ever saw', async () => {
    const before = await settled()
    const { dependents } = await family('kept', 2)
    const never = { apiVersion: 'v1', kind: 'ConfigMap', name: 'never', uid: 'made-up' }
    await judged(dependents)
    for (const each of dependents) await remove(plane, each)
    const unseen = await make(plane, { kind: SECRET, name: 'unseen', owners: [never] })
    await untilGone(plane, [unseen, ...dependents])
    const after = await told(
      'all three are counted',
      ({ unclear }) => unclear === before.unclear + 3,
    )
    deepEqual({ ...after, unclear: before.unclear }, before)
  })

  test('tells it as a table, as JSON and as a metric, and has made no change', async () => {
    const table = await runKinfold(['shadow', '--data', kinfold.data, '--unclear'])
    equal(table.code, 0, table.stderr)
    match(table.stdout, /CLUSTER +AGREED +THEIRS +OURS/)
    match(table.stdout, /unclear .* Secret\/unseen +owner ConfigMap "never": never observed/)
    const { agreed, theirs, ours } = await counts()
    equal(theirs + ours, 0, table.stdout)
    await eventually('the metric says so', async () => {
      const all = await kinfold.metric('kinfold_shadow_deletions', { agreement: 'agreed' })
      return all === agreed || `${all} of ${agreed}`
    })
    equal(await kinfold.metric('kinfold_delete_requests_total'), 0)
  })

  async function family(name: string, size: number = DEPENDENTS): Promise<Family> {
    const unique = `${name}-${crypto.randomUUID().slice(0, 8)}`
    return await makeFamily(plane, unique, size, SECRET)
  }

  async function judged(all: readonly Made[]): Promise<void> {
    await eventually('all are judged', async () => {
      const verdicts = await kinfold.verdicts(all)
      return verdicts.every((it) => it === 'keep') || verdicts.join()
    })
  }

  async function report(): Promise<ShadowReport> {
    const ran = await runKinfold(['shadow', '--data', kinfold.data, '-o', 'json'])
    return JSON.parse(ran.stdout) as ShadowReport
  }

  async function counts(): Promise<Counts> {
    const { clusters } = await report()
    const { agreed = 0, theirs = 0, ours = 0, unclear = 0, pending = 0 } = clusters[0] ?? {}
    return { agreed, theirs, ours, unclear, pending }
  }

  async function told(what: string, isSo: (counts: Counts) => boolean): Promise<Counts> {
    let last = await counts()
    await eventually(what, async () => {
      last = await counts()
      return isSo(last) || JSON.stringify(last)
    })
    return last
  }

  async function settled(): Promise<Counts> {
    return await told('nothing is pending', ({ pending }) => pending === 0)
  }

  async function agrees(before: Counts, more: number): Promise<void> {
    const agreed = before.agreed + more
    const isSo = (now: Counts): boolean => now.agreed >= agreed && now.pending === 0
    deepEqual(await told(`${agreed} are agreed upon`, isSo), { ...before, agreed })
  }
})

type Counts = Pick<ShadowCount, 'agreed' | 'theirs' | 'ours' | 'unclear' | 'pending'>
