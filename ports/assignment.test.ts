/** Assignments that are followed are those that are read anew. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { avroCodec } from '../adapters/avro/codec.ts'
import { ManualClock } from '../adapters/memory/clock.ts'
import { MemoryLog } from '../adapters/memory/log.ts'
import { FollowedClusters, readAssignments } from './assignment.ts'
import { assignKey, nameKey } from './record/control-key.ts'

const codec = avroCodec()

test('followed assignments are what is on the log: moved, lost, unreadable or of another', async () => {
  const clock = new ManualClock()
  const log = new MemoryLog({ partitions: 2, clock })
  const followed = new FollowedClusters(log, codec, clock)
  const assign = async (cluster: string, partition: number, key = assignKey(cluster)) => {
    const value = codec.encode({ type: 'Assignment', cluster, partition, objects: 0 })
    await log.append('control', 0, [{ key, value }])
  }
  const steps = [
    async () => undefined,
    async () => await assign('c', 0),
    async () => await assign('d', 1),
    async () => await assign('c', 1),
    async () => await assign('e', 1, assignKey('f')),
    async () =>
      void (await log.append('control', 0, [{ key: assignKey('d'), value: Buffer.of(1, 2) }])),
    async () => void (await log.append('control', 0, [{ key: assignKey('c'), value: null }])),
    async () => void (await log.append('control', 0, [{ key: 'other', value: Buffer.of(1) }])),
    async () => await assign('d', 0),
  ]
  const clusters: string[] = []
  for (const step of steps) {
    await step()
    const { assignments: found } = await followed.read()
    deepEqual(found, await readAssignments(log, codec))
    clusters.push([...found.values()].map((each) => `${each.cluster}${each.partition}`).join(' '))
  }
  equal(clusters.join(', '), ', c0, c0 d1, d1 c1, d1 c1, c1, , , d0')
})

test('a cluster is called as its watcher said last, under its own key', async () => {
  const clock = new ManualClock()
  const log = new MemoryLog({ partitions: 2, clock })
  const followed = new FollowedClusters(log, codec, clock)
  const call = async (cluster: string, name: string, key = nameKey(cluster)): Promise<void> => {
    const value = codec.encode({ type: 'ClusterName', cluster, name })
    await log.append('control', 0, [{ key, value }])
  }
  const told: string[] = []
  const steps = [
    async () => await call('c', 'north'),
    async () => await call('d', 'south', nameKey('e')),
    async () => await call('c', 'name/north'),
    async () => void (await log.append('control', 0, [{ key: nameKey('d'), value: Buffer.of(1) }])),
    async () => void (await log.append('control', 0, [{ key: nameKey('c'), value: null }])),
  ]
  for (const step of steps) {
    await step()
    told.push([...(await followed.read()).names].join(' '))
  }
  deepEqual(told, ['c,north', 'c,north', 'c,name/north', 'c,name/north', ''])
})
