/**
 * Entries of all partitions of `history` are read as one list, whatever times they have and however
 * late their clusters were folded.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryLog } from '../../../adapters/memory/log.ts'
import { objectKey } from '../../../core/model/partition.ts'
import type { History } from '../../../core/model/record.ts'
import { partitionOf } from '../../../ports/partition.ts'
import type { HistoryRecord } from '../../../ports/record/lineage.ts'
import { systemClock } from '../../../runtime/clock.ts'
import { codec } from '../../../testing/rig/task-rig.ts'
import { Turns } from '../turns.ts'
import { ChangeScan, inOwnOrder, type Place, SKEW_MS } from './change-scan.ts'

const PARTITIONS = 3
const MINUTE = 60_000

/** `c 3`: of cluster c, its event was appended in minute 3. */
async function logOf(entries: readonly string[]): Promise<MemoryLog> {
  const log = new MemoryLog({ partitions: PARTITIONS, clock: systemClock() })
  for (const [index, entry] of entries.entries()) {
    const [cluster = '', minute] = entry.split(' ')
    const uid = `${cluster}${minute}`
    const record: HistoryRecord = {
      ...{ type: 'History', group: '', kind: 'Pod', namespace: 'ns', name: uid, uid, cluster },
      ...{ change: 'created', text: '', phase: 'observed', evidence: null, command: null },
      ...{ partition: cluster === 'c' ? 0 : 1, position: BigInt(index), basis: [], object: null },
      admission: null,
      at: Number(minute) * MINUTE,
    }
    const key = objectKey(cluster, uid)
    await log.append('history', partitionOf(key, PARTITIONS), [
      { key, value: codec.encode(record) },
    ])
  }
  return log
}

interface Asked {
  readonly clusters?: readonly string[]
  readonly since?: number
  readonly until?: number
}

async function scanned(
  log: MemoryLog,
  { clusters = ['c', 'd'], since = 0, until = Number.POSITIVE_INFINITY }: Asked,
): Promise<{ readonly uids: readonly string[]; readonly left: readonly Place[] }> {
  const all = Array.from({ length: PARTITIONS }, (_, partition) => partition)
  const places = await Promise.all(
    all.map(async (partition) => {
      const { start, end } = await log.bounds('history', partition)
      return { partition, next: start, end }
    }),
  )
  const isOfClusters = (key: string): boolean => clusters.includes(key.split('/')[0] ?? '')
  const filter = { isOfClusters, isShown: async () => true }
  const sources = new Set(clusters.map((each) => (each === 'c' ? 0 : 1)))
  const turns = new Turns(systemClock())
  const span = { since: since * MINUTE, until: until * MINUTE }
  const scan = new ChangeScan({ log, codec, turns, filter, span, sources }, places)
  const records: History[] = []
  for (let next = await scan.next(); next !== undefined; next = await scan.next()) {
    records.push(next.record)
  }
  return { uids: inOwnOrder(records).map(({ uid }) => uid), left: scan.places() }
}

/** Cluster d was away and is folded after c: its times go back in the partitions of both. */
const LATE = [...Array.from({ length: 20 }, (_, n) => `c ${n}`), 'd 2', 'd 3', 'd 9', 'd 15']

test('of one cluster in the order of its log, of several each in its own', async () => {
  const log = await logOf(LATE)
  const ofC = LATE.slice(0, 20).map((each) => each.replace(' ', ''))
  deepEqual((await scanned(log, { clusters: ['c'] })).uids, ofC)
  const { uids, left } = await scanned(log, {})
  deepEqual(
    uids.filter((uid) => uid.startsWith('d')),
    ['d2', 'd3', 'd9', 'd15'],
  )
  deepEqual(
    uids.filter((uid) => uid.startsWith('c')),
    ofC,
  )
  deepEqual(left, [])
})

test('since and until are of the events, however late they were folded', async () => {
  const log = await logOf(LATE)
  deepEqual((await scanned(log, { since: 2, until: 5 })).uids.toSorted(), [
    ...['c2', 'c3', 'c4', 'd2', 'd3'],
  ])
  deepEqual((await scanned(log, { clusters: ['d'], since: 3, until: 10 })).uids, ['d3', 'd9'])
})

test('it reads no further than until, by more than clocks may differ, where all that is asked for is behind', async () => {
  const log = await logOf(Array.from({ length: 4_000 }, (_, n) => `c ${n}`))
  const read = log.read.bind(log)
  let last = 0
  log.read = async (...asked) => {
    const page = await read(...asked)
    for (const { value } of page.entries) {
      last = Math.max(last, (codec.decode(value as Uint8Array) as History).at)
    }
    return page
  }
  const { uids, left } = await scanned(log, { clusters: ['c'], until: 3 })
  deepEqual([uids, left], [['c0', 'c1', 'c2'], []])
  // A page of each partition.
  ok(last < 2_000 * MINUTE, `${last / MINUTE}`)
  const skewed = await logOf(['c 1', 'c 3', 'c 2', 'c 9'])
  deepEqual((await scanned(skewed, { clusters: ['c'], until: 3 })).uids.toSorted(), ['c1', 'c2'])
  ok(SKEW_MS >= MINUTE)
})
