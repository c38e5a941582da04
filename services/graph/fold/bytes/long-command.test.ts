/**
 * Commands about an object with many owner references, and their results, on the log.
 */
import { deepEqual, equal, notEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryLog } from '../../../../adapters/memory/log.ts'
import { factsOf } from '../../../../core/graph/facts.ts'
import type { Command, OrphanDependent } from '../../../../core/model/command.ts'
import type { Event } from '../../../../core/model/event.ts'
import type { ObjectMeta, OwnerReference } from '../../../../core/model/object.ts'
import { systemClock } from '../../../../runtime/clock.ts'
import { listDigest } from '../../../../runtime/list-digest.ts'
import { World } from '../../../../testing/model/story.ts'
import {
  appendAll,
  codec,
  type RunningTask,
  runTask,
  taskStore,
} from '../../../../testing/rig/task-rig.ts'
import { patchGuard } from '../../../reaper/decide/guard.ts'
import { settled } from '../../../reaper/decide/result.ts'
import { readBack } from '../../../reaper/decide/settle.ts'
import { readerOf } from '../../query/view/view.ts'
import type { RowStore } from '../former/row-store.ts'

const MANY = 1_000
const BOUNDS = { retries: 0, retryAfterCapMs: 0, conflicts: 1 }
const TRIED = { dryRun: false, retries: 0, conflicts: 0 }

/** One object that many owners own, of which some are deleted, one by one, with orphan. */
class Rig implements AsyncDisposable {
  readonly world: World = new World()
  readonly log: MemoryLog = new MemoryLog({ partitions: 1, clock: systemClock() })
  readonly store: RowStore = taskStore()
  readonly events: Event[] = []
  readonly #running: RunningTask
  object!: ObjectMeta
  #version = 5_000

  constructor() {
    const tell = this.world.tell.bind(this.world)
    this.world.tell = (event) => {
      this.events.push(event)
      return tell(event)
    }
    this.#running = runTask(this.log, this.store)
  }

  static async begin(): Promise<Rig> {
    const rig = new Rig()
    rig.world.begin()
    rig.world.step('policy enforce parity')
    const owners = Array.from({ length: MANY }, (_, i) => `cm/o${i}`)
    for (const owner of owners) rig.world.step(`put ${owner}`)
    rig.world.step(`put cm/many <- ${owners.join(', ')}`)
    await rig.flush()
    rig.object = rig.node
    return rig
  }

  /** As the fold has it. */
  get node(): ObjectMeta {
    const uid = 'cm-many'
    const node = factsOf(readerOf(this.store, codec), 'c').node(uid)
    if (node === undefined) throw new Error('the fold does not have it')
    return node.object
  }

  async flush(): Promise<void> {
    await appendAll(this.log, this.events.splice(0))
    await this.#running.caughtUp()
  }

  async append(event: Event): Promise<void> {
    await appendAll(this.log, [event])
    await this.#running.caughtUp()
  }

  async commands(): Promise<readonly Command[]> {
    const { entries } = await this.log.read('commands', 0, 0n, { limit: 10_000, waitMs: 0 })
    return entries.map(({ value }) => codec.decode(value as Uint8Array) as Command)
  }

  /** An owner is asked to be deleted with orphan. */
  async orphaned(index: number): Promise<OrphanDependent> {
    this.world.step(`put cm/o${index} [deleting orphan]`)
    await this.flush()
    const command = (await this.commands()).at(-1)
    if (command?.type !== 'OrphanDependent') throw new Error(`no drop but ${command?.type}`)
    return command
  }

  /** What a server returns for the patch. */
  without(drop: readonly number[]): ObjectMeta {
    this.#version += 1
    const ownerReferences = this.object.ownerReferences.filter((_, i) => !drop.includes(i))
    this.object = { ...this.object, ownerReferences, resourceVersion: String(this.#version) }
    return this.object
  }

  async written(): Promise<number> {
    let bytes = 0
    for (const topic of ['commands', 'events'] as const) {
      const { entries } = await this.log.read(topic, 0, 0n, { limit: 100_000, waitMs: 0 })
      bytes += entries.reduce((sum, { value }) => sum + (value?.length ?? 0), 0)
    }
    return bytes
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running[Symbol.asyncDispose]()
  }
}

test('T10: of 30 owners deleted one by one with orphan, each has three kilobytes of events, commands and results about an object with 1,000', async () => {
  await using rig = await Rig.begin()
  const before = await rig.written()
  for (let index = 0; index < 30; index++) {
    const command = await rig.orphaned(index)
    await rig.append(settled(command, done(rig.without(command.drop)), 1))
    deepEqual(rig.node.ownerReferences, rig.object.ownerReferences)
  }
  const bytes = (await rig.written()) - before
  ok(bytes <= 30 * 3_072, `${bytes} bytes were written`)
})

test('the command tests the reference that it drops, and no other list is taken for the one it was judged by', async () => {
  await using rig = await Rig.begin()
  const { object } = rig
  const command = await rig.orphaned(7)
  equal(command.listDigest, listDigest(object.ownerReferences))
  deepEqual(command.references, [object.ownerReferences[7]])
  const { apiVersion, kind, name, uid } = object.ownerReferences[7]!
  const path = '/metadata/ownerReferences/7'
  deepEqual(patchGuard(command, '1').slice(1), [
    { op: 'test', path, value: { apiVersion, kind, name, uid } },
    { op: 'remove', path },
  ])
  const read = (each: ObjectMeta) =>
    readBack(command, CONFLICT, { type: 'Found', object: each, code: 200 }, TRIED, BOUNDS)
  equal(read({ ...object, resourceVersion: '77' }).type, 'Again')
  const [first, second, ...rest] = object.ownerReferences
  const turned = { ...object, ownerReferences: [second!, first!, ...rest] }
  const flagged = {
    ...object,
    ownerReferences: [{ ...first!, controller: true }, second!, ...rest],
  }
  for (const other of [turned, flagged]) {
    const step = read(other)
    equal(step.type === 'Settle' && step.outcome, 'stale')
  }
})

test('the result of a patch is a sighting where the watch was first, and where it was not', async () => {
  await using rig = await Rig.begin()
  const first = await rig.orphaned(1)
  const result = settled(first, done(rig.without(first.drop)), 1)
  notEqual(result.list, null)
  deepEqual(result.object?.ownerReferences, [])
  await rig.append(sighting(rig.object))
  await rig.append(result)
  deepEqual(rig.node.ownerReferences, rig.object.ownerReferences)
  const second = await rig.orphaned(2)
  deepEqual(
    second.references.map(({ name }) => name),
    ['o2'],
  )
})

test('a list that the fold cannot know from a result is waited for: nothing is taken for absent, and the next command is judged by the watch', async () => {
  await using rig = await Rig.begin()
  const command = await rig.orphaned(1)
  const { ownerReferences } = rig.without(command.drop)
  const other: OwnerReference = { ...ownerReferences[0]!, name: 'of-another', uid: 'of-another' }
  rig.object = { ...rig.object, ownerReferences: [...ownerReferences, other] }
  const before = rig.node
  await rig.append(settled(command, done(rig.object), 1))
  deepEqual(rig.node, before)
  equal((await rig.commands()).length, 1)
  await rig.append(sighting(rig.object))
  deepEqual(rig.node.ownerReferences, rig.object.ownerReferences)
  const second = await rig.orphaned(2)
  deepEqual(
    second.references.map(({ name }) => name),
    ['o2'],
  )
})

const CONFLICT = { type: 'Conflict', code: 409, reason: 'changed' } as const

function done(object: ObjectMeta): Parameters<typeof settled>[1] {
  return { type: 'Settle', outcome: 'done', reason: '', code: 200, object }
}

function sighting(object: ObjectMeta): Event {
  return { type: 'ObjectUpdated', cluster: 'c', epoch: 1, sync: null, object }
}
