/**
 * Cluster-scoped owners told of between two partitions, step by step: what a restore makes of what was told, and what is left when an owner has gone.
 *
 * What must stay true: nothing here is random; each test names the one order of events that matters.
 */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import type { Folders } from '../testing/folders.ts'
import { commandsOf, folders } from '../testing/folders.ts'
import { kindNotation, object } from '../testing/notation.ts'
import { show } from '../testing/story.ts'
import type { Event } from './event.ts'
import { EMPTY_SET, withMember } from './hash.ts'
import { partitionOfObject } from './partition.ts'
import { type Mode, policyFor } from './policy.ts'

const CLUSTER = 'c'
const PARTITIONS = [2, 3, 4, 5].find(
  (each) => partitionOfObject(CLUSTER, '', each) !== partitionOfObject(CLUSTER, 'ns', each),
) as number

class World {
  readonly folders: Folders
  readonly #partitions: number
  #now = 0
  #version = 0
  #sync = 0
  #epoch = 0

  constructor(unmonitored: readonly string[] = [], partitions = PARTITIONS) {
    this.#partitions = partitions
    this.folders = folders(partitions, () => 'ns')
    this.start(1)
    for (const short of ['pod', 'pv', 'rs']) {
      const monitored = !unmonitored.includes(short)
      this.serve(short, monitored)
      if (monitored) this.relist(short, [])
    }
    const policy = policyFor('enforce', 'parity')
    this.tell({ type: 'PolicyChanged', policy, who: 'test', why: 'test' })
  }

  serve(short: string, monitored: boolean): void {
    const { group, kind, resource, scope, version } = kindNotation(short)
    const about = { cluster: CLUSTER, epoch: this.#epoch, group, kind, resource, scope }
    const rest = { versions: [version], reason: '', ambiguous: false, aggregated: false }
    this.tell({ type: 'KindServed', ...about, ...rest, monitored })
  }

  start(clusterEpoch: number): void {
    this.#epoch += 1
    const about = { cluster: CLUSTER, name: 'test', epoch: this.#epoch, clusterEpoch }
    this.tell({ type: 'WatcherStarted', ...about })
  }

  tell(event: Event): void {
    this.folders.append(event, this.#now)
    while (this.folders.waiting > 0) {
      for (let each = 0; each < this.#partitions; each++) this.folders.foldNext(each)
    }
  }

  beat(seconds: number): void {
    this.#now += seconds * 1_000
    this.tell({ type: 'Heartbeat', cluster: CLUSTER, epoch: this.#epoch, kinds: [] })
  }

  put(text: string): void {
    this.#version += 1
    const seen = object(text, String(this.#version))
    const about = { cluster: CLUSTER, epoch: this.#epoch, sync: null }
    this.tell({ type: 'ObjectUpdated', ...about, object: seen })
  }

  remove(text: string): void {
    this.#version += 1
    const gone = object(text, String(this.#version))
    this.tell({
      type: 'ObjectDeleted',
      cluster: CLUSTER,
      epoch: this.#epoch,
      object: gone,
      ageMs: 0,
    })
  }

  found(text: string): void {
    const seen = object(text, '1')
    const { group, kind, namespace, name, uid } = seen
    const asked = commandsOf(this.folders).findLast(({ type }) => type === 'VerifyOwner')
    const owner = { group, kind, namespace, name }
    const about = { cluster: CLUSTER, clusterEpoch: 1, owner, uid, object: seen }
    this.tell({ type: 'OwnerFound', ...about, command: asked?.id ?? '' })
  }

  relist(short: string, texts: readonly string[]): void {
    const { group, kind } = kindNotation(short)
    this.#sync += 1
    const sync = this.#epoch * 1_000_000 + this.#sync
    const about = { cluster: CLUSTER, epoch: this.#epoch, group, kind, sync }
    this.tell({ type: 'SyncStarted', ...about })
    const listed = Array.from({ length: this.#partitions }, () => EMPTY_SET)
    for (const text of texts) {
      this.#version += 1
      const seen = object(text, String(this.#version))
      const home = partitionOfObject(CLUSTER, seen.namespace, this.#partitions)
      listed[home] = withMember(listed[home] ?? EMPTY_SET, seen.uid)
      this.tell({ type: 'ObjectUpdated', cluster: CLUSTER, epoch: this.#epoch, sync, object: seen })
    }
    const resourceVersion = String(this.#version)
    this.tell({ type: 'SyncFinished', ...about, resourceVersion, listed })
  }

  /** Keys that speak of an owner, in all partitions, once all is folded. */
  keysOf(uid: string, types: readonly string[]): string[] {
    return this.folders.all.flatMap(({ state }) =>
      [...state]
        .filter(([key, { type }]) => types.includes(type) && key.includes(`/${uid}`))
        .map(([key]) => key),
    )
  }
}

test('what another partition told before a restore drops nothing after it', () => {
  const world = new World()
  world.put('pv/x')
  world.put('pod/a <- pv/x')
  world.put('pv/x [deleting orphan]')
  const before = commandsOf(world.folders).length
  world.start(2)
  world.relist('pod', ['pod/a <- pv/x'])
  deepEqual(commandsOf(world.folders).slice(before).map(show), [])
  world.relist('pv', ['pv/x'])
  deepEqual(commandsOf(world.folders).slice(before).map(show), [])
})

test('an answer that comes when the owner has gone is not kept', () => {
  const world = new World()
  world.put('pv/x')
  world.put('pv/x [deleting foreground]')
  // Somebody else takes the finalizer off before the others are fit to answer.
  world.remove('pv/x')
  deepEqual(world.keysOf('pv-x', ['Interest']), [])
  for (let beats = 0; beats < 20; beats++) world.beat(30)
  deepEqual(world.keysOf('pv-x', ['Interest']), [])
})

test('a dependent that comes after its waiting owner went does not believe for ever that it waits', () => {
  const world = new World()
  world.put('pv/x')
  world.put('pv/x [deleting foreground]')
  // Its home forgets it, and tells those who have dependents at that time.
  world.serve('pv', false)
  world.put('pod/a <- pv/x')
  world.serve('pv', true)
  world.relist('pv', [])
  for (let beats = 0; beats < 20; beats++) world.beat(30)
  deepEqual(commandsOf(world.folders).slice(-1).map(show), ['VerifyOwner pv/x'])
})

test('nothing is kept of the dependents of an unwatched owner that waited, when there are none any more', () => {
  const world = new World(['pv'])
  world.put('pod/a <- pv/x')
  world.found('pv/x [deleting foreground]')
  world.beat(60)
  world.remove('pod/a <- pv/x')
  for (let beats = 0; beats < 400; beats++) world.beat(3_600)
  deepEqual(world.keysOf('pv-x', ['Interest', 'Owner', 'Count']), [])
})

test('a mass of owners missing from one relist is a mass cause', () => {
  const world = new World([], 1)
  for (let each = 0; each < 200; each++) {
    const where = `in ns${each % 20}`
    world.put(`rs/r${each} ${where}`)
    world.put(`pod/p${each} ${where} <- rs/r${each}`)
  }
  world.relist('rs', [])
  deepEqual(commandsOf(world.folders).map(show), [])
})

test('an unwatched owner that waited once, and is named again, is told of as soon as it is found', () => {
  const world = new World(['pv'])
  world.put('pod/a <- pv/x')
  world.found('pv/x [deleting foreground]')
  world.remove('pod/a <- pv/x')
  for (let beats = 0; beats < 40; beats++) world.beat(60)
  world.put('pod/b <- pv/x')
  world.found('pv/x [deleting foreground]')
  const shown = commandsOf(world.folders).map(show)
  deepEqual(
    shown.filter((command) => command.startsWith('DeleteObject pod/b')),
    ['DeleteObject pod/b Background E2: PersistentVolume "x" is being deleted in the foreground'],
  )
})

test('what is told once more is as old as it was: what went before enforce was entered is held for as long as before', () => {
  const world = new World()
  const enter = (mode: Mode): void =>
    world.tell({ type: 'PolicyChanged', policy: policyFor(mode, 'guarded'), who: '', why: '' })
  enter('dry-run')
  world.put('pv/x')
  world.put('pod/a <- pv/x')
  world.remove('pv/x')
  enter('enforce')
  // One more of them has the home say it again.
  world.put('pod/b <- pv/x!')
  world.put('pod/c <- pv/x')
  // Half as long as what nobody saw go is held.
  for (let beats = 0; beats < 60; beats++) world.beat(5)
  const deleted = commandsOf(world.folders).filter(
    (command) => command.type === 'DeleteObject' && command.mode === 'enforce',
  )
  deepEqual(deleted.map(show), [])
})
