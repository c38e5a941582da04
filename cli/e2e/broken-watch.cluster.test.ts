/**
 * Shows, on a real API server, that an owner deleted in the foreground completes while the watch of
 * its dependents' kind is broken: by an object in etcd that no client can read, and by a proxy; and
 * that Kinfold says which watch it is.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { FaultyProxy } from '../../testing/process/faulty-proxy.ts'
import { KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import { redirectKubeconfig } from '../../testing/process/kubeconfigs.ts'
import {
  CONFIG_MAP,
  type Made,
  make,
  missingOf,
  referenceTo,
  remove,
  SECRET,
  untilGone,
} from '../../testing/process/objects.ts'
import { seeded } from '../../testing/seeded.ts'

const LISTS_AND_WATCHES = /\/secrets\?/
const BROKEN =
  /^\[!\]synced\/test\/secrets warning: its watch delivers nothing since \S+Z: [A-Z_]+: /

const skip = missingServers('etcd', 'kube-apiserver')

suite('while the watch of its dependents is broken', { skip: skip ?? false }, () => {
  let plane: ControlPlane
  let proxy: FaultyProxy
  let kinfold: KinfoldProcess

  before(async () => {
    plane = await startControlPlane()
    const ca = await readFile(plane.caFile, 'utf8')
    proxy = await FaultyProxy.start({ server: plane.server, ca, chance: seeded(1) })
    const kubeconfig = join(plane.folder, 'proxy.kubeconfig')
    await redirectKubeconfig(plane.kubeconfig, proxy.url, kubeconfig)
    kinfold = await KinfoldProcess.start({ kubeconfig, data: join(plane.folder, 'kinfold') })
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await proxy?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
  })

  test('an owner completes once a live GET proves that they are removed, and until then says what it waits for', async () => {
    const [owner, blocking] = await family('by-proxy')
    proxy.faults = ['failed']
    proxy.only = LISTS_AND_WATCHES
    proxy.rate = 1
    proxy.breakConnections()
    await sayBroken()
    await remove(plane, owner, 'Foreground')
    await untilGone(plane, [blocking])
    // A 404 that names nothing proves nothing.
    proxy.faults = ['plain-404']
    proxy.only = /\/secrets(\?|\/by-proxy)/
    await eventually('why says what it waits for', async () => {
      const obstacle = (await kinfold.why(owner))?.obstacle ?? null
      return obstacle?.by === 'unconfirmed' || JSON.stringify(obstacle)
    })
    const reason = (await kinfold.why(owner))?.obstacle?.reason ?? ''
    match(
      reason,
      /^it waits for Secret "by-proxy": .* the watch of secrets delivers nothing since /,
    )
    const { blocked, progress } = await kinfold.cascade(owner)
    deepEqual(
      [blocked.map(({ name, by }) => [name, by]), progress.blocked],
      [[['by-proxy', 'unconfirmed']], 1],
    )
    deepEqual(await missingOf(plane, [owner]), [])

    proxy.faults = ['failed']
    proxy.only = LISTS_AND_WATCHES
    await untilGone(plane, [owner])
    proxy.rate = 0
    await eventually('its watch recovers', async () => !(await secretsLine()).includes('since'))
  })

  test('which an unreadable object in etcd does, it completes as soon as where nothing is broken', async (t) => {
    const [owner] = await family('by-garbage')
    await plane.etcd.put('/registry/secrets/default/garbage', 'garbage')
    await sayBroken()
    const since = await kinfold.metric('kinfold_watch_broken_since_seconds', { kind: 'Secret' })
    ok(since > 1_000_000_000, `since ${since}`)
    const before = await looks()
    const begunMs = performance.now()
    await remove(plane, owner, 'Foreground')
    await untilGone(plane, [owner])
    t.diagnostic(`${Math.round(performance.now() - begunMs)} ms`)
    equal((await looks()) - before, 1)
    ok(await kinfold.isReady(), 'one broken watch makes nobody unready')
  })

  /** An owner, and a dependent that blocks it; both are known. */
  async function family(name: string): Promise<[owner: Made, blocking: Made]> {
    const owner = await make(plane, { kind: CONFIG_MAP, name })
    const owners = [{ ...referenceTo(owner), blockOwnerDeletion: true }]
    const blocking = await make(plane, { kind: SECRET, name, owners })
    await eventually('they are seen', async () => {
      return (await kinfold.verdicts([blocking])).join() === 'keep'
    })
    return [owner, blocking]
  }

  async function sayBroken(): Promise<void> {
    await eventually('the broken watch is told', async () => {
      const line = await secretsLine()
      return BROKEN.test(line) || line
    })
  }

  async function secretsLine(): Promise<string> {
    const lines = await kinfold.readiness()
    return lines.find((line) => line.includes('synced/test/secrets')) ?? ''
  }

  /** GETs of single Secrets: only Kinfold makes any. */
  async function looks(): Promise<number> {
    return (await plane.requestCounts()).get('GET secrets') ?? 0
  }
})
