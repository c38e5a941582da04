/**
 * Shows what becomes of objects that a backup tool restores on a real API server: with the owner
 * references that they had, before and after their owner is there again under another uid. Guarded
 * keeps them, parity collects them as upstream does.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { ACTING, KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import {
  CONFIG_MAP,
  type Kind,
  kind,
  type Made,
  make,
  makeFamily,
  mergePatch,
  missingOf,
  pathOf,
  referenceTo,
  remove,
  SECRET,
  untilGone,
} from '../../testing/process/objects.ts'

const CLAIM: Kind = {
  ...kind('v1', 'PersistentVolumeClaim', 'persistentvolumeclaims'),
  body: {
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  },
}
const RESTORED: readonly Kind[] = [CLAIM, SECRET, CONFIG_MAP]

const skip = missingServers('etcd', 'kube-apiserver')

suite('restored data', { skip: skip ?? false }, () => {
  let plane: ControlPlane
  let kinfold: KinfoldProcess
  let restored: readonly Made[] = []

  before(async () => {
    plane = await startControlPlane()
    const config = join(plane.folder, 'config.yaml')
    await writeFile(config, 'apiVersion: kinfold/v1alpha1\nkind: Config\nholds: { deleted: 3s }\n')
    await start(['--mode', 'enforce', '--preset', 'guarded', '--config', config])
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
  })

  test('is not deleted for an owner that was deleted before it came (F78)', async () => {
    const { owner, dependents } = await makeFamily(plane, 'db', 2)
    await remove(plane, owner)
    await untilGone(plane, dependents)

    const first = await restore('before', owner)
    const again = await make(plane, { kind: CONFIG_MAP, name: 'db' })
    const second = await restore('after', owner)
    restored = [...first, ...second]
    const right = await make(plane, { kind: CONFIG_MAP, name: 'right', owners: [again] })
    for (const each of restored) {
      const told = await heldOf(each)
      equal(told.evidence, 'not-found', each.name)
      match(told.reason, /^ConfigMap "db" was deleted before this object referenced it; an object/)
      match(told.reason, new RegExp(`exists, with another uid \\(${again.uid}\\)$`))
      const by =
        each.kind === CONFIG_MAP
          ? /held until \S+ \(evidence not-found\)$/
          : /protected by its kind/
      match(told.because, by)
    }

    // What is deleted afterwards has had its hold, and they would have had theirs.
    const control = await makeFamily(plane, 'control', 2)
    await remove(plane, control.owner)
    await untilGone(plane, control.dependents)
    deepEqual(await missingOf(plane, [...restored, again, right]), [])
  })

  test('is collected in parity, as upstream does', async () => {
    await kinfold.stop()
    await start(ACTING)
    await untilGone(plane, restored)
  })

  async function start(flags: readonly string[]): Promise<void> {
    const data = join(plane.folder, 'kinfold')
    kinfold = await KinfoldProcess.start({ kubeconfig: plane.kubeconfig, data, flags })
  }

  async function restore(name: string, owner: Made): Promise<readonly Made[]> {
    const owners = [referenceTo(owner)]
    const made = await Promise.all(RESTORED.map((of) => make(plane, { kind: of, name, owners })))
    // The server protects claims by a finalizer, which a controller that does not run here takes
    // off.
    for (const each of made)
      if (each.kind === CLAIM)
        await mergePatch(plane, pathOf(each), { metadata: { finalizers: null } })
    return made
  }

  /** Once its verdict is there, and the index knows of its owner's namesake. */
  async function heldOf(made: Made) {
    let told = { evidence: '', because: '', reason: '' }
    await eventually(`${made.kind.kind} ${made.name} is held`, async () => {
      const why = await kinfold.why(made)
      const { evidence } = why?.verdict ?? {}
      const { because = '' } = why?.admission ?? {}
      const reason = why?.references[0]?.reason ?? ''
      told = { evidence: evidence ?? '', because, reason }
      return (because !== '' && reason.includes('another uid')) || JSON.stringify(told)
    })
    return told
  }
})
