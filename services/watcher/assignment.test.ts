/**
 * The choice of a cluster's partition: the emptiest one, made once, settled by the log among
 * watchers that choose at the same moment.
 */
import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { avroCodec } from '../../adapters/avro/codec.ts'
import { ManualClock } from '../../adapters/memory/clock.ts'
import { MemoryLog } from '../../adapters/memory/log.ts'
import { namesIn, readAssignments } from '../../ports/assignment.ts'
import type { Log } from '../../ports/log.ts'
import { assignKey } from '../../ports/record/control-key.ts'
import { seeded, WatcherRig } from '../../testing/rig/watcher-rig.ts'
import { type AssignmentDeps, assignPartition, confirmAssignment, emptiest } from './assignment.ts'
import { DEFAULT_CONFIG } from './config.ts'

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const CLUSTER = 'c'
const NOWHERE = -1
const SIGNAL = new AbortController().signal
const codec = avroCodec()
const clock = new ManualClock()

function depsOf(log: Log, seed = 1): AssignmentDeps {
  return { log, codec, clock, random: seeded(seed), config: DEFAULT_CONFIG }
}

function logOf(partitions: number): MemoryLog {
  return new MemoryLog({ partitions, clock })
}

async function assign(log: Log, cluster: string, partition: number, objects = 0): Promise<void> {
  const value = codec.encode({ type: 'Assignment', cluster, partition, objects })
  await log.append('control', 0, [{ key: assignKey(cluster), value }])
}

async function partitionsIn(log: Log): Promise<Readonly<Record<string, number>>> {
  const all = [...(await readAssignments(log, codec)).values()]
  return Object.fromEntries(all.map(({ cluster, partition }) => [cluster, partition]))
}

// Each as `partition:objects`; of a log with three partitions.
const CHOICES = [
  ['nothing', '', 0],
  ['one in the first', '0:0', 1],
  ['the fewest objects, whatever the number of clusters', '0:9 1:1 1:1 1:1 2:9', 1],
  ['of equally many objects the fewest clusters', '0:6 1:3 1:3 2:6', 0],
  ['of equally many of both the first', '0:5 1:5 2:5', 0],
  ['partitions that this log does not have', '7:0 -1:0', 0],
] as const

for (const [what, assignments, expected] of CHOICES) {
  test(`the emptiest of three partitions is chosen beside ${what}`, () => {
    const known = assignments.split(' ').flatMap((each) => {
      const [partition, objects] = each.split(':').map(Number)
      return objects === undefined || partition === undefined ? [] : [{ partition, objects }]
    })
    equal(emptiest(known, 3), expected)
  })
}

test('what was published stays where it is, whatever is emptier by now', async () => {
  const log = logOf(3)
  equal(await assignPartition(depsOf(log), CLUSTER, 2, SIGNAL), 2)
  await assign(log, CLUSTER, 1, 1_000)
  equal(await assignPartition(depsOf(log), CLUSTER, 2, SIGNAL), 2)
  equal((await log.bounds('control', 0)).end, 1n)
})

test('a choice of which nothing came stays too, whatever is emptier by now', async () => {
  const log = logOf(3)
  await assign(log, 'other', 2)
  await assign(log, CLUSTER, 2)
  equal(await assignPartition(depsOf(log), CLUSTER, NOWHERE, SIGNAL), 2)
  equal((await log.bounds('control', 0)).end, 2n)
})

test('one that this log cannot have is chosen anew', async () => {
  const log = logOf(2)
  await assign(log, CLUSTER, 5)
  equal(await assignPartition(depsOf(log), CLUSTER, NOWHERE, SIGNAL), 0)
})

test('one that cannot be read ends the watcher, and one that was taken away is chosen anew', async () => {
  const log = logOf(2)
  await log.append('control', 0, [{ key: assignKey(CLUSTER), value: new Uint8Array([1, 2]) }])
  const refused = { code: 'DAMAGED_ASSIGNMENT', remedy: 'stop' }
  await rejects(assignPartition(depsOf(log), CLUSTER, NOWHERE, SIGNAL), refused)
  await log.append('control', 0, [{ key: assignKey(CLUSTER), value: null }])
  equal(await assignPartition(depsOf(log), CLUSTER, NOWHERE, SIGNAL), 0)
})

test('clusters whose watchers choose at the same moment are spread all the same', async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const log = logOf(3)
    const clusters = ['a', 'b', 'c', 'd', 'e', 'f']
    const choosing = Promise.all(
      clusters.map((cluster, index) =>
        assignPartition(depsOf(log, seed * 10 + index), cluster, NOWHERE, SIGNAL),
      ),
    )
    await clock.advance(60_000)
    const chosen = await choosing
    deepEqual(
      await partitionsIn(log),
      Object.fromEntries(clusters.map((each, i) => [each, chosen[i]])),
    )
    deepEqual([...chosen].sort(), [0, 0, 1, 1, 2, 2], `seed ${seed}`)
  }
})

test('what is counted is recorded when it differs by more than half, and the partition is said again', async () => {
  const log = logOf(3)
  const own = { cluster: CLUSTER, partition: 1, name: 'north' }
  const recorded = async (objects: number, isWhole = true): Promise<unknown> => {
    await confirmAssignment(depsOf(log), own, { objects, isWhole }, SIGNAL)
    const { partition, objects: count } = (await readAssignments(log, codec)).get(CLUSTER) ?? {}
    return [partition, count]
  }
  deepEqual(await recorded(0), [1, 0])
  deepEqual(await recorded(10), [1, 10])
  const { end } = await log.bounds('control', 0)
  deepEqual(await recorded(15), [1, 10])
  equal((await log.bounds('control', 0)).end, end)
  deepEqual(await recorded(16), [1, 16])
  deepEqual(await recorded(3, false), [1, 16], 'a part says nothing against a higher count')
  deepEqual(await recorded(3), [1, 3])
  await assign(log, CLUSTER, 2, 3)
  deepEqual(await recorded(3), [1, 3], 'written late by a former holder')
})

let rig: WatcherRig | undefined
afterEach(async () => {
  await rig?.stop()
  rig = undefined
})

test('a watcher that dies between its choice and its first event leaves the choice to the next one', async () => {
  rig = new WatcherRig({ partitions: 2 })
  await rig.create(CONFIG_MAPS, 'a')
  rig.stuck = 'events'
  rig.start()
  await rig.until(async () => (await rig?.assignments())?.size === 1, 'it has chosen')
  const chosen = await rig.assignments()
  await rig.crash()
  rig.stuck = null
  await rig.assign('other', 1)
  await rig.assign('big', 0, 1_000)
  rig.start()
  await rig.synced()
  const cluster = rig.watcher.status().clusterId ?? ''
  equal((await rig.assignments()).get(cluster)?.partition, chosen.get(cluster)?.partition)
  deepEqual(await rig.told('ConfigMap'), [
    'KindServed',
    'SyncStarted',
    'ObjectAdded a',
    'SyncFinished',
  ])
  deepEqual(await rig.events(1), [])
})

test('a watcher keeps its partition over restarts, and records how many objects there are', async () => {
  rig = new WatcherRig({ partitions: 2 })
  for (const name of ['a', 'b', 'c']) await rig.create(CONFIG_MAPS, name)
  rig.start()
  await rig.synced()
  await rig.clock.advance(60_000)
  const cluster = rig.watcher.status().clusterId ?? ''
  const objects = (await rig.assignments()).get(cluster)?.objects ?? 0
  ok(objects >= 3, `${objects}`)
  await rig.assign('small', 1)
  await rig.stop()
  rig.start()
  await rig.synced()
  await rig.clock.advance(60_000)
  const again = (await rig.assignments()).get(cluster)
  deepEqual([again?.partition, again?.objects], [0, objects])
  deepEqual(await rig.events(1), [])
})

test('what a cluster is called is said once, and again where it is called otherwise', async () => {
  const log = logOf(3)
  const said = async (name: string): Promise<unknown> => {
    const own = { cluster: CLUSTER, partition: 1, name }
    await confirmAssignment(depsOf(log), own, { objects: 4, isWhole: true }, SIGNAL)
    const { end } = await log.bounds('control', 0)
    return [namesIn(await log.latest('control', 0), codec).get(CLUSTER), end]
  }
  deepEqual(await said('north'), ['north', 2n])
  deepEqual(await said('north'), ['north', 2n])
  deepEqual(await said('south'), ['south', 3n])
})

test('a watcher says what its cluster is called', async () => {
  rig = new WatcherRig({ partitions: 2 })
  rig.start()
  await rig.synced()
  const names = async (): Promise<ReadonlyMap<string, string>> => {
    return namesIn((await rig?.log.latest('control', 0)) ?? [], codec)
  }
  await rig.until(async () => (await names()).size === 1, 'it has said it')
  const cluster = rig.watcher.status().clusterId ?? ''
  equal((await names()).get(cluster), 'rig')
})

test('where the assignment is lost, the watermark still says which partition it is', async () => {
  rig = new WatcherRig({ partitions: 2 })
  await rig.create(CONFIG_MAPS, 'a')
  rig.start()
  await rig.synced()
  await rig.clock.advance(10_000)
  await rig.stop()
  const cluster = rig.watcher.status().clusterId ?? ''
  await rig.log.append('control', 0, [{ key: assignKey(cluster), value: null }])
  await rig.assign('other', 0)
  rig.start()
  await rig.synced()
  equal((await rig.assignments()).get(cluster)?.partition, 0)
  deepEqual(await rig.events(1), [])
})

test('where both are lost, everything is listed from the beginning in the partition that is chosen then', async () => {
  rig = new WatcherRig({ partitions: 2 })
  await rig.create(CONFIG_MAPS, 'a')
  rig.start()
  await rig.synced()
  await rig.clock.advance(10_000)
  await rig.stop()
  const cluster = rig.watcher.status().clusterId ?? ''
  await rig.log.append('control', 0, [{ key: assignKey(cluster), value: null }])
  await rig.assign('other', 0)
  for (const mark of await rig.watermarks()) {
    const value = rig.codec.encode({ ...mark, partition: NOWHERE })
    await rig.log.append('watermarks', 0, [{ key: `${cluster}/${mark.group}/${mark.kind}`, value }])
  }
  rig.start()
  await rig.synced()
  equal((await rig.assignments()).get(cluster)?.partition, 1)
  deepEqual(await rig.told('ConfigMap', 1), [
    'KindServed',
    'SyncStarted',
    'ObjectAdded a',
    'SyncFinished',
  ])
})
