/** A server that dies in the middle of a cascade and comes back as it was before: every guard would pass, and nothing may go. */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiServer } from '../adapters/memory/api-server.ts'
import { WholeWorld } from './world.ts'

const MINUTE = 60_000

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
    const world = new WholeWorld({ seed: outageMs, troubles: 0 })
    const before = world.newServer(outageMs)
    const { server: after } = world
    for (const server of [before, after]) makeFamily(world, server)
    world.start()
    await world.clock.advance(MINUTE)
    world.user('DELETE', `${CONFIG_MAPS}/owner`, { propagationPolicy: 'Background' })
    world.beforeEffect = () => {
      world.isDown = true
    }
    await world.clock.advance(3)
    ok(world.isDown, 'no DELETE was on its way')
    world.cut()
    await world.clock.advance(outageMs)
    if (isKilled) await world.kill()
    world.beforeEffect = () => undefined
    world.server = before
    world.isDown = false
    if (isKilled) world.start()
    await world.clock.advance(30 * MINUTE)
    deepEqual(world.wrongs, [])
    deepEqual(world.all([['', 'secrets']]).length, FAMILY)
    // A watermark may lag behind what was told before a kill, so that no version tells of the restore.
    if (!isKilled) deepEqual(world.watcher.status().clusterEpoch, 2)
    await world.stop()
  })
}

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const FAMILY = 40

function makeFamily(world: WholeWorld, server: ApiServer): void {
  const { server: former } = world
  world.server = server
  world.user('POST', CONFIG_MAPS, { metadata: { name: 'owner' } })
  const { uid } = server.object('', 'configmaps', 'default', 'owner')?.metadata ?? {}
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }]
  for (let i = 0; i < FAMILY; i++) {
    const metadata = { name: `d${i}`, ownerReferences }
    world.user('POST', '/api/v1/namespaces/default/secrets', { metadata })
  }
  world.server = former
}
