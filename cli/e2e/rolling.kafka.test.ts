/**
 * Over a real Kafka and a real API server: two versions of the package that have one version of the
 * fold run together, and each other's places are taken while objects are deleted. One of another
 * version of the fold ends at its start, and takes nothing from the others (F99).
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, type TestContext, test } from 'node:test'
import { openKafkaLog } from '../../adapters/kafka/log.ts'
import type { Event } from '../../core/model/event.ts'
import { FOLD_VERSION } from '../../core/model/policy.ts'
import { FENCE_KEY, type Log } from '../../ports/log.ts'
import { PAUSE_PREFIX } from '../../ports/record/control-key.ts'
import { systemClock } from '../../runtime/clock.ts'
import { checkRecord } from '../../testing/chaos/record.ts'
import { copyCheckout } from '../../testing/checkout.ts'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { type Kafka, startKafka } from '../../testing/kafka/broker.ts'
import { missingKafka } from '../../testing/kafka/jars.ts'
import { type Ran, startKinfold } from '../../testing/process/kinfold-command.ts'
import {
  KinfoldServices,
  SERVICES,
  type ServiceProcess,
} from '../../testing/process/kinfold-services.ts'
import { makeFamily, missingOf, remove, untilGone } from '../../testing/process/objects.ts'
import { appendAll, eventsOf } from '../../testing/rig/task-rig.ts'
import { VERSION } from '../print/version.ts'

const DEPENDENTS = 40
const PARTITIONS = 4
const NEXT = VERSION.replace(/\d+$/, (patch) => String(Number(patch) + 1))

const skip = missingKafka() ?? missingServers('etcd', 'kube-apiserver')

suite('two versions of the package, and one of the fold,', { skip: skip ?? false }, () => {
  let plane: ControlPlane
  let kafka: Kafka
  let services: KinfoldServices
  let folder: string
  let next: string

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'kinfold-rolling-'))
    const data = folderIn(folder, 'data')
    next = copyCheckout(folderIn(folder, 'next'), { version: NEXT })
    ;[plane, kafka] = await Promise.all([startControlPlane(), startKafka()])
    services = new KinfoldServices({
      ...{ kubeconfig: plane.kubeconfig, folder: data, partitions: PARTITIONS, each: 2 },
      ...{ brokers: kafka.bootstrap, application: kafka.application, standbys: 1 },
    })
    await services.start()
    await services.ready()
  })
  after(async () => {
    await services?.[Symbol.asyncDispose]()
    await Promise.all([plane?.[Symbol.asyncDispose](), kafka?.[Symbol.asyncDispose]()])
    rmSync(folder, { recursive: true, force: true })
  })

  test('take each other’s place while objects are deleted, and back: nothing is lost, nothing else deleted, nobody paused', async () => {
    const staying = await makeFamily(plane, 'staying', DEPENDENTS)
    const going: Awaited<ReturnType<typeof makeFamily>>[] = []
    /**
     * Deletes an owner, and restarts a process as another version while its dependents are deleted.
     */
    const replace = async (each: ServiceProcess, main: string | undefined): Promise<void> => {
      const family = await makeFamily(plane, `family-${going.length}`, DEPENDENTS)
      going.push(family)
      await remove(plane, family.owner)
      await each.stop()
      each.become(main)
      await each.start()
      await each.ready()
    }
    deepEqual(await versionsOf(services), [VERSION])
    for (const service of SERVICES) await replace(services.of(service)[0]!, next)
    deepEqual(await versionsOf(services), [VERSION, NEXT])
    for (const service of SERVICES) await replace(services.of(service)[1]!, next)
    deepEqual(await versionsOf(services), [NEXT])
    for (const service of SERVICES) await replace(services.of(service)[0]!, undefined)
    deepEqual(await versionsOf(services), [VERSION, NEXT])
    for (const family of going) await untilGone(plane, family.dependents)
    deepEqual(await missingOf(plane, staying.dependents), [])

    for (const each of services.all) await each.assertRunning()
    await using log = await logOf(kafka, kafka.application)
    const orders = await log.latest('orders', 0)
    deepEqual(
      orders.filter(({ key }) => key.startsWith(PAUSE_PREFIX)),
      [],
    )
    for (const each of services.all) await each.stop()
    const { commands, faults } = await checkRecord(kafka, services)
    deepEqual(faults, [])
    ok(commands >= going.length * DEPENDENTS, `${commands} commands`)
  })
})

suite('a graph process of another version of the fold', { skip: missingKafka() ?? false }, () => {
  let kafka: Kafka
  let folder: string
  let newer: string

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'kinfold-fold-version-'))
    newer = copyCheckout(folderIn(folder, 'newer'), { foldVersion: FOLD_VERSION + 1 })
    kafka = await startKafka()
  })
  after(async () => {
    await kafka?.[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  for (const [what, refusal] of [
    ['newer', /"kinfold upgrade --data DIR", or on Kafka with another --applic/],
    ['older', /: run the newer Kinfold that wrote it/],
  ] as const) {
    test(`that is ${what} ends at its start with what to do, and the others fold on`, async (t) => {
      const application = `${kafka.application}-${what}`
      const [first, second] = what === 'newer' ? [undefined, newer] : [newer, undefined]
      await using log = await logOf(kafka, application, 2)
      await appendAll(log, told(['put deploy/web', 'put rs/a <- deploy/web']))
      const running = start(t, application, 'first', first)
      await untilLineage(log, 2)
      const fences = await fencesIn(log)
      const { code, stderr } = await start(t, application, 'second', second).ended
      equal(code, 4)
      const [found, own] = what === 'newer' ? [0, 1] : [1, 0]
      const was = `The log was folded by version ${FOLD_VERSION + found} of the rules`
      match(stderr, new RegExp(`error: ${was}, and this Kinfold has version ${FOLD_VERSION + own}`))
      match(stderr, refusal)
      ok(!stderr.includes('    at '), stderr)

      await appendAll(log, told(['put deploy/web', 'put rs/b']).slice(-1))
      await untilLineage(log, 3)
      deepEqual(await fencesIn(log), fences)
      running.child.kill('SIGTERM')
      equal((await running.ended).code, 0)
    })
  }

  const start = (
    t: TestContext,
    application: string,
    name: string,
    main: string | undefined,
  ): { child: ReturnType<typeof startKinfold>['child']; ended: Promise<Ran> } => {
    const where = ['--brokers', kafka.bootstrap.join(), '--application', application]
    const own = ['--data', join(folder, application, name), '--http', '127.0.0.1:0']
    const running = startKinfold(['graph', ...where, ...own], {}, 'pipe', main)
    t.after(() => running.child.kill('SIGKILL'))
    return running
  }
})

/** But for the policy, which names a version of the fold: each process gives its own. */
function told(story: readonly string[]): readonly Event[] {
  return eventsOf(story).filter(({ type }) => type !== 'PolicyChanged')
}

/** One for each time that a process took a partition. */
async function fencesIn(log: Log): Promise<readonly number[]> {
  const counts: number[] = []
  for (let partition = 0; partition < log.partitions('changelog'); partition++) {
    const page = await log.read('changelog', partition, 0n, { limit: 100_000, waitMs: 0 })
    counts.push(page.entries.filter(({ key }) => key === FENCE_KEY).length)
  }
  return counts
}

async function untilLineage(log: Log, objects: number): Promise<void> {
  await eventually(`lineage has ${objects} objects`, async () => {
    const found = (await log.latest('lineage', 0)).length + (await log.latest('lineage', 1)).length
    return found >= objects || `${found}`
  })
}

async function logOf(kafka: Kafka, application: string, partitions?: number): Promise<Log> {
  return await openKafkaLog({
    settings: { brokers: kafka.bootstrap, application, compression: 'zstd' },
    ...{
      clientId: 'rolling',
      clock: systemClock(),
      mayCreate: partitions !== undefined,
      partitions,
    },
  })
}

/** Of all processes, as their metrics say. */
async function versionsOf(services: KinfoldServices): Promise<readonly string[]> {
  const versions = new Set<string>()
  for (const each of services.all) {
    const text = await (await each.ask('/metrics')).text()
    versions.add(/^kinfold_build_info\{[^}]*version="([^"]+)"/m.exec(text)?.[1] ?? 'unknown')
  }
  return [...versions].sort()
}

function folderIn(folder: string, name: string): string {
  const path = join(folder, name)
  mkdirSync(path)
  return path
}
