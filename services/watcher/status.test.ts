/** The status of a watcher with a broken watch: of which kind, since when, and why. */
import { equal } from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { answered, WatcherRig } from '../../testing/rig/watcher-rig.ts'
import { type BrokenWatch, brokenWatch } from './status.ts'

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'

let rig: WatcherRig
afterEach(() => rig.stop())

async function started(): Promise<void> {
  rig = new WatcherRig()
  await rig.create(CONFIG_MAPS, 'a')
  rig.start()
  await rig.synced()
}

function broken(): BrokenWatch | undefined {
  const status = rig.watcher.status().kinds.find(({ kind }) => kind === 'ConfigMap')
  return status && brokenWatch(status)
}

test('a watch that fails is broken since it delivered something last, until it does again', async () => {
  await started()
  await rig.clock.advance(10_000)
  await rig.create(CONFIG_MAPS, 'b')
  await rig.until(() => rig.watcher.status().counters.added >= 2, 'it is told')
  equal(broken(), undefined)
  const deliveredAt = rig.clock.now()
  rig.broken = ({ path }) => (path.includes('/configmaps?') ? answered(500, '{}') : undefined)
  rig.cut()
  await rig.until(() => broken()?.code === 'UNAVAILABLE', 'it is broken')
  await rig.clock.advance(60_000)
  equal(Math.abs((broken()?.since ?? 0) - deliveredAt) <= 1_000, true)

  rig.broken = () => undefined
  await rig.until(() => broken() === undefined, 'it works again')
})
