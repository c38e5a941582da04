/**
 * Shows that a backup taken while `kinfold up` runs is a data directory to start from, however much
 * has happened since: nothing is deleted for what it remembers, and what is garbage by now goes.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { cpSync } from 'node:fs'
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
  makeFamily,
  mergePatch,
  missingOf,
  pathOf,
  referenceTo,
  remove,
  untilGone,
} from '../../testing/process/objects.ts'

const DEPENDENTS = 5

const skip = missingServers('etcd', 'kube-apiserver')

suite('kinfold, started from an old backup,', { skip: skip ?? false }, () => {
  let plane: ControlPlane
  let kinfold: KinfoldProcess

  before(async () => {
    plane = await startControlPlane()
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
  })

  test('deletes nothing for what it remembers, and collects what is garbage by now', async () => {
    const [data, copy, second] = ['kinfold', 'copy', 'second'].map((name) =>
      join(plane.folder, name),
    ) as [string, string, string]
    await start(data)
    const [gone, moved, orphaned, replaced, late] = [
      await makeFamily(plane, 'gone', DEPENDENTS),
      await makeFamily(plane, 'moved', DEPENDENTS),
      await makeFamily(plane, 'orphaned', DEPENDENTS),
      await makeFamily(plane, 'replaced', DEPENDENTS),
      await makeFamily(plane, 'late', DEPENDENTS),
    ]
    await seen([gone, moved, orphaned, replaced, late].flatMap(({ dependents }) => dependents))
    const backup = await runKinfold(['backup', copy, '--data', data])
    equal(backup.code, 0, backup.stderr)
    match(backup.stdout, /events in 1 partition, read back and whole/)
    const audit = await runKinfold(['audit', 'verify', '--data', copy])
    equal(audit.code, 0, audit.stdout)
    cpSync(copy, second, { recursive: true })

    // What the backup knows nothing of.
    await remove(plane, gone.owner)
    await untilGone(plane, gone.dependents)
    const other = await make(plane, { kind: CONFIG_MAP, name: 'other' })
    for (const dependent of moved.dependents) await adopt(dependent, other)
    await remove(plane, moved.owner)
    await remove(plane, orphaned.owner, 'Orphan')
    await untilGone(plane, [orphaned.owner])
    await remove(plane, replaced.owner)
    await untilGone(plane, replaced.dependents)
    const again = await makeFamily(plane, 'replaced', DEPENDENTS)
    await kinfold.stop()
    // And a deletion that no watcher observed.
    await remove(plane, late.owner)
    const fresh = await makeFamily(plane, 'fresh', DEPENDENTS)
    const kept = [
      ...[other, ...moved.dependents, ...orphaned.dependents],
      ...[again.owner, ...again.dependents, fresh.owner, ...fresh.dependents],
    ]

    await start(copy)
    await untilGone(plane, late.dependents)
    await marked('first')
    deepEqual(await missingOf(plane, kept), [])
    await kinfold.stop()

    // The same, where no watch can be gone on with.
    await plane.compact()
    await start(second)
    await marked('second')
    deepEqual(await missingOf(plane, kept), [])
    await kinfold.stop()
    const after = await runKinfold(['audit', 'verify', '--data', second])
    equal(after.code, 0, after.stdout)
  })

  async function start(data: string): Promise<void> {
    kinfold = await KinfoldProcess.start({ kubeconfig: plane.kubeconfig, data })
  }

  async function adopt(dependent: Made, owner: Made): Promise<void> {
    const patch = { metadata: { ownerReferences: [referenceTo(owner)] } }
    await mergePatch(plane, pathOf(dependent), patch)
  }

  async function seen(all: readonly Made[]): Promise<void> {
    await eventually('all of them are seen', async () => {
      const verdicts = await kinfold.verdicts(all)
      return verdicts.every((verdict) => verdict === 'keep') || verdicts.join()
    })
  }

  /** What was to go because of all before has gone by now. */
  async function marked(name: string): Promise<void> {
    const { owner, dependents } = await makeFamily(plane, `marker-${name}`, DEPENDENTS)
    await seen(dependents)
    await remove(plane, owner)
    await untilGone(plane, dependents)
    await kinfold.idle()
  }
})
