/**
 * The services apart over a real Kafka and a real API server: a cascade completes, whichever of
 * them dies.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { type Kafka, startKafka } from '../../testing/kafka/broker.ts'
import { missingKafka } from '../../testing/kafka/jars.ts'
import {
  KinfoldServices,
  SERVICES,
  type ServiceProcess,
} from '../../testing/process/kinfold-services.ts'
import { makeFamily, missingOf, remove, untilGone } from '../../testing/process/objects.ts'
import type { DeletionList } from '../answer.ts'

const DEPENDENTS = 200
const PARTITIONS = 4

const skip = missingKafka() ?? missingServers('etcd', 'kube-apiserver')

suite('the services apart', { skip: skip ?? false }, () => {
  let plane: ControlPlane
  let kafka: Kafka
  let services: KinfoldServices
  const folder = mkdtempSync(join(tmpdir(), 'kinfold-apart-'))

  before(async () => {
    ;[plane, kafka] = await Promise.all([startControlPlane(), startKafka()])
    services = new KinfoldServices({
      kubeconfig: plane.kubeconfig,
      brokers: kafka.bootstrap,
      application: kafka.application,
      folder,
      partitions: PARTITIONS,
      each: 2,
    })
    await services.start()
    await services.ready()
  })
  after(async () => {
    await services?.[Symbol.asyncDispose]()
    await Promise.all([plane?.[Symbol.asyncDispose](), kafka?.[Symbol.asyncDispose]()])
    rmSync(folder, { recursive: true, force: true })
  })

  test('a cascade goes, and what is owned by the living stays', async () => {
    const [going, staying] = [
      await makeFamily(plane, 'going', DEPENDENTS),
      await makeFamily(plane, 'staying', DEPENDENTS),
    ]
    await remove(plane, going.owner)
    await untilGone(plane, going.dependents)
    deepEqual(await missingOf(plane, staying.dependents), [])
    for (const each of services.of('graph')) {
      await eventually(
        'each graph process says what was deleted, by whom and after whom',
        async () => {
          const rows = await deletionsOf(each, going.owner.uid)
          const ours = rows.filter(({ by, root }) => by === 'kinfold' && root === going.owner.uid)
          const others = rows.filter(({ by, uid }) => by === 'others' && uid === going.owner.uid)
          return (
            (ours.length === DEPENDENTS && others.length === 1) || JSON.stringify(rows.slice(0, 5))
          )
        },
      )
    }
  })

  for (const service of SERVICES) {
    test(`a cascade goes while each ${service} is killed in turn`, async () => {
      const going = await makeFamily(plane, `killed-${service}`, DEPENDENTS)
      await remove(plane, going.owner)
      for (const each of services.of(service)) {
        await each.kill()
        await each.start()
      }
      await untilGone(plane, going.dependents)
      await services.ready()
    })
  }

  for (const [how, end] of [
    ['killed', (each: ServiceProcess) => each.kill()],
    ['stopped in good order', (each: ServiceProcess) => each.stop()],
  ] as const) {
    test(`the tasks of a graph process that is ${how} fold elsewhere`, async (t) => {
      const [first, second] = services.of('graph')
      ok(first !== undefined && second !== undefined)
      const began = performance.now()
      await end(first)
      await eventually('the other has all', async () => {
        const response = await second.ask('/readyz?verbose')
        const folding = (await response.text()).split('\n').filter((line) => isTask(line))
        return folding.length === PARTITIONS || `${folding.length} of ${PARTITIONS}`
      })
      t.diagnostic(`all fold elsewhere after ${Math.round(performance.now() - began)} ms`)
      await services.start()
      await services.ready()
    })
  }
})

interface Deleted {
  readonly uid: string
  readonly by: string
  /** Its uid. */
  readonly root: string | undefined
}

/** Page after page, as few rows on each as there may be. */
async function deletionsOf(graph: ServiceProcess, root: string): Promise<readonly Deleted[]> {
  const all: Deleted[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const response = await graph.ask(`/v1/deletions?root=uid:${root}&limit=50&continue=${cursor}`)
    const page = (await response.json()) as DeletionList & { readonly detail?: string }
    if (page.detail !== undefined) throw new Error(page.detail)
    for (const { uid, by, root: owner } of page.deletions) all.push({ uid, by, root: owner?.uid })
    cursor = page.continue
  }
  return all
}

function isTask(line: string): boolean {
  return /^\[\+\]task\/\d+ ok/.test(line)
}
