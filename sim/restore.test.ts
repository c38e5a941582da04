/** A server that dies in the middle of a cascade and comes back as it was before: every guard would pass, and nothing may go. */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { policyFor } from '../core/policy.ts'
import { ExchangeError } from '../ports/exchange.ts'
import { draw } from './options.ts'
import type { Site } from './site.ts'
import { WholeWorld } from './world.ts'

const MINUTE = 60_000
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const SECRETS = '/api/v1/namespaces/default/secrets'
const FAMILY = 40

// Between the owner's deletion and the commands' arrival the server dies, and comes back as it was before the deletion: every uid and version
// that a command names is there again, so no guard inside a call would notice.
for (const [outageMs, isKilled] of [
  [500, false],
  [3_000, false],
  [8_000, false],
  [60_000, false],
  [3_000, true],
  [60_000, true],
] as const) {
  const how = isKilled ? ' and Kinfold was killed' : ''
  test(`a restore in the middle of a cascade deletes nothing, after ${outageMs} ms${how}`, async () => {
    const world = newWorld(outageMs)
    const [site] = world.sites as [Site]
    makeFamily(site)
    world.start()
    await world.time.advance(MINUTE)
    const { writes } = site
    site.user('DELETE', `${CONFIG_MAPS}/owner`, { propagationPolicy: 'Background' })
    let isDown = false
    world.beforeEffects.add(() => {
      isDown = true
    })
    const up = world.network.hinder(() => {
      if (isDown) throw new ExchangeError('UNREACHABLE', 'the server is down')
      return undefined
    })
    for (let waitedMs = 0; !isDown && waitedMs < MINUTE; waitedMs += 10) {
      await world.time.advance(10)
    }
    ok(isDown, 'no DELETE was on its way')
    world.network.cut(site.name)
    const start = isKilled ? world.slots[0]?.holdDown() : undefined
    await world.time.advance(outageMs)
    world.beforeEffects.clear()
    site.restore(site.writes - writes)
    up()
    start?.()
    await world.time.advance(30 * MINUTE)
    deepEqual(world.wrongs, [])
    deepEqual([...site.server.objects('', 'secrets')].length, FAMILY)
    // A watermark may lag behind what was told before a kill, so that no version tells of the restore.
    const [watcher] = world.processes()[0]?.watchers ?? []
    if (!isKilled) deepEqual(watcher?.status().clusterEpoch, 2)
    await world.stop()
    deepEqual(world.wrongs, [])
  })
}

function newWorld(seed: number): WholeWorld {
  const drawn = draw(seed, [])
  const policy = policyFor('enforce', 'parity')
  const [heartbeatMs, contactLostMs] = [5_000, 15_000]
  const watcher = { ...drawn.watcher, heartbeatMs, contactLostMs }
  return new WholeWorld({
    ...{ ...drawn, policy, watcher, clusters: 1, partitions: 1, shape: 'embedded', bursts: [] },
  })
}

function makeFamily(site: Site): void {
  site.user('POST', CONFIG_MAPS, { metadata: { name: 'owner' } })
  const { uid } = site.server.object('', 'configmaps', 'default', 'owner')?.metadata ?? {}
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }]
  for (let i = 0; i < FAMILY; i++)
    site.user('POST', SECRETS, { metadata: { name: `d${i}`, ownerReferences } })
}
