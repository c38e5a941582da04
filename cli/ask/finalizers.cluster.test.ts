/**
 * Shows on a real API server that what a finalizer holds is listed, and that an order removes it
 * with one call, on record, and nothing else.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { type Ran, runKinfold } from '../../testing/process/kinfold-command.ts'
import { ACTING, KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import {
  CONFIG_MAP,
  type Made,
  make,
  mergePatch,
  pathOf,
  remove,
  untilGone,
} from '../../testing/process/objects.ts'
import type { FinalizerList } from '../answer.ts'

/** As long, and as odd, as an API server takes them. */
const LONG = `${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(55)}/${'e'.repeat(63)}`
const ODD = 'example.com/a_b.c--1'
const STUCK = 'example.com/cleanup'
const CONFIG = `apiVersion: kinfold/v1alpha1
kind: Config
finalizers: { mayRemove: [${STUCK}, ${ODD}, ${LONG}] }
archive: { enabled: true }
`

const skip = missingServers('etcd', 'kube-apiserver')

suite('finalizers that hold', { skip: skip ?? false }, () => {
  let plane: ControlPlane
  let kinfold: KinfoldProcess

  before(async () => {
    plane = await startControlPlane()
    const { kubeconfig, folder } = plane
    const config = join(folder, 'kinfold.yaml')
    await writeFile(config, CONFIG)
    const flags = [...ACTING, '--config', config]
    kinfold = await KinfoldProcess.start({ kubeconfig, data: join(folder, 'kinfold'), flags })
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
  })

  const asked = async (...args: string[]): Promise<Ran> =>
    await runKinfold([...args, '--data', kinfold.data])
  const removing = async (made: Made, finalizer: string, ...more: string[]): Promise<Ran> => {
    const words = ['configmap', made.name, '--finalizer', finalizer, '--why', 'it is gone', ...more]
    return await asked('finalizers', 'remove', ...words)
  }
  const digestIn = ({ stdout }: Ran): string => /Digest +(sha256:\w+)/.exec(stdout)?.[1] ?? ''
  const isListed = async (made: Made): Promise<void> => {
    await eventually(`${made.name} is listed`, async () => {
      const { stdout } = await asked('finalizers', '--older-than', '0s', '-o', 'json')
      const { objects } = JSON.parse(stdout) as FinalizerList
      return objects.some(({ uid }) => uid === made.uid) || stdout
    })
  }
  const held = async (name: string, finalizers: readonly string[]): Promise<Made> => {
    const made = await make(plane, { kind: CONFIG_MAP, name, finalizers })
    await remove(plane, made)
    await isListed(made)
    return made
  }

  test('each is removed by the digest that was shown, with one call, and history says by whom', async () => {
    const made = await held('stuck', [STUCK, ODD, LONG])
    const { stdout: list } = await asked('finalizers', '--older-than', '0s', '--finalizer', ODD)
    match(list, /configmap\/stuck .*waits for a controller that is not known/)
    for (const finalizer of [ODD, LONG, STUCK]) {
      const shown = await removing(made, finalizer, '--dry-run')
      equal(shown.code, 0, shown.stderr)
      const ordered = await removing(made, finalizer, '--digest', digestIn(shown))
      equal(ordered.code, 0, ordered.stderr)
      match(ordered.stdout, /Ordered to remove the finalizer .* of ConfigMap\/stuck, by local:/)
      await eventually('the watch has it', async () => {
        const { stdout } = await asked('finalizers', '--older-than', '0s', '-o', 'json')
        const { objects } = JSON.parse(stdout) as FinalizerList
        const left = objects.find(({ uid }) => uid === made.uid)
        return left?.finalizers.every(({ name }) => name !== finalizer) ?? true
      })
    }
    await untilGone(plane, [made])
    equal((await plane.requestCounts()).get('PATCH configmaps'), 3)
    const { stdout: history } = await asked('history', `uid:${made.uid}`)
    match(
      history,
      /RemoveFinalizer \(enforce\): local:\S+ ordered to remove finalizer example.com\/cleanup at version \d+ \(it is gone\)/,
    )
    match((await asked('why', `uid:${made.uid}`)).stdout, /RemoveFinalizer done/)
  })

  test('what changed since it was shown, lives, or is not listed is refused with exit code 3', async () => {
    const made = await held('changed', [STUCK, 'example.com/other'])
    const shown = await removing(made, STUCK, '--dry-run')
    await mergePatch(plane, pathOf(made), { metadata: { labels: { seen: 'later' } } })
    await eventually('the change is refused', async () => {
      const { code, stderr } = await removing(made, STUCK, '--digest', digestIn(shown))
      return (code === 3 && /older version/.test(stderr)) || stderr
    })
    const unlisted = await removing(made, 'example.com/other')
    deepEqual([unlisted.code, unlisted.stdout.includes('Digest')], [3, false])
    match(unlisted.stderr, /finalizers\.mayRemove/)
    const nobody = await removing(made, STUCK)
    deepEqual([nobody.code, /nobody can be asked/.test(nobody.stderr)], [2, true])
    const alive = await make(plane, { kind: CONFIG_MAP, name: 'alive', finalizers: [STUCK] })
    await eventually('it is known', async () => {
      const { stderr } = await removing(alive, STUCK)
      return /it is not being deleted/.test(stderr) || stderr
    })
    const { body } = await plane.request<{ metadata: { finalizers: string[] } }>(
      'GET',
      pathOf(made),
    )
    deepEqual(body.metadata.finalizers, [STUCK, 'example.com/other'])
  })
})
