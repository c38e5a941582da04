/** What a new log takes over from the one before it, and what it does not. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../../../adapters/memory/clock.ts'
import { MemoryLog } from '../../../adapters/memory/log.ts'
import type { Log, Topic } from '../../../ports/log.ts'
import { assignKey, protectKey } from '../../../ports/record/control-key.ts'
import type { Control } from '../../../ports/record/service-record.ts'
import { codec } from '../../../testing/rig/task-rig.ts'
import { beginGeneration } from './generation.ts'
import { orderOf } from './order.ts'

const SIGNAL = new AbortController().signal

function control(more: Partial<Control>): Uint8Array {
  const rest = {
    cluster: 'c',
    kind: null,
    number: 1,
    connected: true,
    protection: null,
    mode: null,
  }
  return codec.encode({
    type: 'Control',
    verb: 'protect',
    who: 'eve',
    why: 'dear',
    ...rest,
    ...more,
  })
}

async function told(log: Log, topic: Topic, partition = 0): Promise<readonly unknown[]> {
  const page = await log.read(topic, partition, 0n, { limit: 100, waitMs: 0 })
  const records = page.entries.map(async ({ key, value }) => {
    const given = codec.decode(value ?? new Uint8Array())
    const found =
      given.type === 'OrderGiven'
        ? await orderOf(log, codec, given, { partition, inForce: [] })
        : given
    const record = found.type === 'Found' ? found.order : found
    switch (record.type) {
      case 'Control':
        return `${key} ${record.verb} by ${record.who}`
      case 'Directive':
        return `${record.verb} ${record.cluster} ${record.subject} by ${record.who}`
      case 'Watermark':
        return `${key} ${record.epoch} ${record.clusterEpoch} ${record.resourceVersion} ${record.partition}`
      default:
        return record.type
    }
  })
  return await Promise.all(records)
}

test('a new log is paused and keeps protections, epochs and the archive, and nothing else', async () => {
  const clock = new ManualClock()
  const from = new MemoryLog({ partitions: 2, clock })
  const to = new MemoryLog({ partitions: 2, clock })
  const [stands, lifted] = [protectKey('c', 'kind:pod'), protectKey('c', 'kind:cm')]
  // Where the logs before version 15 have it.
  await from.append('control', 0, [{ key: stands, value: control({}) }])
  await from.append('orders', 0, [
    { key: lifted, value: control({ verb: 'unprotect' }) },
    { key: 'pause/c', value: control({ verb: 'resume' }) },
    { key: 'protect/odd', value: new Uint8Array([1, 2]) },
  ])
  await from.append('control', 0, [
    { key: 'cluster/c', value: control({ verb: 'epoch', number: 4 }) },
    {
      key: assignKey('c'),
      value: codec.encode({ type: 'Assignment', cluster: 'c', partition: 1, objects: 9 }),
    },
  ])
  const own = { group: '', kind: '', resource: '', projection: '', partition: 1, shortNames: [] }
  const mark = { type: 'Watermark', cluster: 'c', clusterEpoch: 4, sync: 0, ...own } as const
  const kindMark = { ...mark, kind: 'Pod', resource: 'pods', shortNames: ['po'] }
  await from.append('watermarks', 0, [
    { key: 'c//', value: codec.encode({ ...mark, epoch: 5, resourceVersion: '' }) },
    { key: 'c//Pod', value: codec.encode({ ...kindMark, epoch: 6, resourceVersion: '99' }) },
  ])
  await from.append('events', 0, [{ key: 'c/ns', value: new Uint8Array(3) }])
  const archived = [1, 2].map((byte) => ({ key: `c/${byte}`, value: new Uint8Array([byte]) }))
  await from.append('archive', 1, archived)

  const { archived: count, clusters } = await beginGeneration(
    { from, to, codec, who: 'root' },
    SIGNAL,
  )
  deepEqual([count, clusters], [2, ['c']])
  equal((await to.bounds('control', 0)).end, 0n)
  const latest = await to.latest('orders', 0)
  deepEqual(
    latest.map(({ key }) => key.replace(/^order\/.*/, 'an order')),
    ['pause/', 'an order', stands, 'an order', 'protect/odd'],
  )
  deepEqual(latest.at(-1)?.value, new Uint8Array([1, 2]))
  for (const partition of [0, 1]) {
    deepEqual(await told(to, 'events', partition), ['pause   by root', 'protect c kind:pod by eve'])
  }
  deepEqual(await told(to, 'watermarks'), ['c// 6 4  -1'])
  const carried = await to.read('archive', 1, 0n, { limit: 10, waitMs: 0 })
  deepEqual(
    carried.entries.map(({ key, value }) => ({ key, value })),
    archived,
  )
  equal((await to.bounds('commands', 0)).end, 0n)
})
