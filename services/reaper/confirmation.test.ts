/**
 * Fold, reaper and API server together, without a watch that reports any deletion: an object that
 * our DELETE removed is verified, and its foreground owner completes.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { Command } from '../../core/model/command.ts'
import type { Event } from '../../core/model/event.ts'
import { EMPTY_SET } from '../../core/model/hash.ts'
import { policyFor } from '../../core/model/policy.ts'
import { type Folder, folder } from '../../testing/model/folder.ts'
import { World } from '../../testing/rig/reaper-world.ts'

const SECOND = 1_000
const KIND = { group: '', kind: 'ConfigMap' } as const

/** A fold of the reports of a watcher of the world, at log times of its own. */
class Watched {
  readonly world: World
  readonly #folder: Folder = folder()
  #now = 0
  #results = 0

  constructor(world: World) {
    this.world = world
    const about = { cluster: world.id, epoch: 1 }
    const policy = policyFor('enforce', 'parity')
    this.fold({ type: 'PolicyChanged', policy, who: 'test', why: 'test' })
    this.fold({ type: 'WatcherStarted', serverTime: null, ...about, name: 'test', clusterEpoch: 1 })
    this.fold({
      ...{ type: 'KindServed', ...about, ...KIND, resource: 'configmaps', scope: 'Namespaced' },
      ...{ versions: ['v1'], monitored: true, reason: '', ambiguous: false, aggregated: false },
    })
    this.fold({ type: 'SyncStarted', ...about, ...KIND, sync: 1 })
    this.fold({
      ...{ type: 'SyncFinished', ...about, ...KIND, sync: 1 },
      ...{ resourceVersion: '1', listed: EMPTY_SET },
    })
    this.beat(15)
  }

  fold(event: Event): readonly Command[] {
    return this.#folder.fold(event, this.#now).flatMap(({ commands }) => commands)
  }

  /** As its watch reports it now. */
  async see(name: string): Promise<readonly Command[]> {
    const object = await this.world.read(name)
    return this.fold({
      type: 'ObjectUpdated',
      cluster: this.world.id,
      epoch: 1,
      sync: null,
      object,
    })
  }

  beat(seconds: number): readonly Command[] {
    this.#now += seconds * SECOND
    const kinds = [{ ...KIND, ageMs: 60 * SECOND }]
    return this.fold({ type: 'Heartbeat', cluster: this.world.id, epoch: 1, kinds })
  }

  /** Carries them out, and folds their results. */
  async reap(commands: readonly Command[]): Promise<readonly Command[]> {
    await this.world.command(...commands)
    const results = await this.world.settled(this.#results + commands.length)
    const fresh = results.slice(this.#results)
    this.#results = results.length
    return fresh.flatMap((result) => this.fold(result))
  }
}

/** A dependent that blocks its foreground owner, and is removed. */
async function removed(): Promise<Watched> {
  const world = await World.open()
  world.start()
  const owner = await world.create('owner')
  const watched = new Watched(world)
  const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.uid }
  await world.create('blk', { owners: [{ ...reference, blockOwnerDeletion: true }] })
  await watched.see('owner')
  await watched.see('blk')
  await world.delete('owner', { propagationPolicy: 'Foreground' })
  const commands = await watched.see('owner')
  deepEqual(typesOf(commands), ['DeleteObject'])
  deepEqual(typesOf(await watched.reap(commands)), [])
  equal(world.exists('blk'), false)
  return watched
}

function typesOf(commands: readonly Command[]): string[] {
  return commands.map(({ type }) => type)
}

test('an owner completes by a live GET of what was removed', async () => {
  const watched = await removed()
  watched.world.calls()
  const verify = watched.beat(5)
  deepEqual(typesOf(verify), ['VerifyOwner'])
  const finish = await watched.reap(verify)
  deepEqual(watched.world.calls(), { GET: 1 })
  deepEqual(typesOf(finish), ['RemoveFinalizer'])
  await watched.reap(finish)
  equal(watched.world.exists('owner'), false)
})

test('another object in its place proves it as well', async () => {
  const watched = await removed()
  await watched.world.create('blk')
  deepEqual(typesOf(await watched.reap(watched.beat(5))), ['RemoveFinalizer'])
})

test('nothing is concluded while the reaper may not ask; it is asked again', async () => {
  const watched = await removed()
  const { world } = watched
  await world.control('cluster', { verb: 'epoch', number: 1, connected: false })
  await world.clock.advance(SECOND)
  const verify = watched.beat(5)
  const silent = await watched.reap(verify)
  deepEqual(typesOf(silent), [])
  equal(world.exists('owner'), true)
  await world.control('cluster', { verb: 'epoch', number: 1 })
  await world.clock.advance(SECOND)
  deepEqual(typesOf(await watched.reap(watched.beat(5))), ['RemoveFinalizer'])
})
