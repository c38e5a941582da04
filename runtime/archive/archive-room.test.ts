/**
 * Attack f3: a tenant's own deleted objects fill the archive's disk. Whatever some take, a
 * namespace that has little finds its floor; what a start reads from the log counts as before it;
 * what is removed by age counts no more.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { avroCodec } from '../../adapters/avro/codec.ts'
import { ManualClock } from '../../adapters/memory/clock.ts'
import { MemoryLog } from '../../adapters/memory/log.ts'
import { Cuts } from '../shares/cuts.ts'
import { LastingShares } from '../shares/lasting-shares.ts'
import { archivedPieces } from './archive-record.ts'
import { ARCHIVE_CAP, ArchiveRoom } from './archive-room.ts'

const MIB = 1024 ** 2
const KEEP_MS = 32_000
const SIGNAL = new AbortController().signal
const EVIL = { cluster: 'c', namespace: 'evil' }
const SHOP = { cluster: 'c', namespace: 'shop' }

interface Rig {
  readonly clock: ManualClock
  readonly cuts: Cuts
  readonly room: ArchiveRoom
  leftBytes: number
}

function rigOf(mostBytes: number, clock: ManualClock = new ManualClock()): Rig {
  const cuts = new Cuts(clock)
  const rig = { clock, cuts, leftBytes: Number.POSITIVE_INFINITY } as Rig
  const disk = () => ({ mostBytes, leftBytes: rig.leftBytes })
  return Object.assign(rig, { room: new ArchiveRoom({ disk, keepMs: KEEP_MS, clock, cuts }) })
}

function fill(room: ArchiveRoom, place: typeof EVIL, bytes = MIB): number {
  let count = 0
  while (room.take(place, bytes) !== undefined) count++
  return count
}

test('T3: one namespace gets half at most, the next a quarter, and each other one its floor', () => {
  const { room, cuts } = rigOf(1_024 * MIB)
  const counts = ['evil-1', 'evil-2', 'evil-3', 'evil-4'].map((namespace) =>
    fill(room, { cluster: 'c', namespace }),
  )
  const [first = 0, second = 0, third = 0, fourth = 0] = counts
  ok(first <= 512 && first > 500, `${counts}`)
  ok(second <= 256 && second > 250, `${counts}`)
  // Floors alone: one object of a MiB each.
  deepEqual([third, fourth], [1, 1])
  equal(fill(room, SHOP, 1024), 1_024)
  equal(cuts.of(ARCHIVE_CAP, 'c/evil-1')?.count, 1)
})

test('T3: whatever others take, a floor is there for as long as a quarter has floors', () => {
  const FLOOR = 8
  const TOTAL = 400
  const MOST_FLOORS = (TOTAL * 0.25) / FLOOR
  const take = fc.record({ holder: fc.nat({ max: 7 }), amount: fc.integer({ min: 1, max: 60 }) })
  fc.assert(
    fc.property(fc.array(take, { maxLength: 300 }), (takes) => {
      const shares = new LastingShares()
      const amounts = (): { left: number; floor: number } => ({
        left: TOTAL - shares.taken,
        floor: FLOOR,
      })
      for (const { holder, amount } of takes) {
        const key = shares.keyOf(`h${holder}`)
        if (shares.may(key, amount, amounts())) shares.add(key, amount)
        ok(shares.taken <= TOTAL)
      }
      // Of eight that took, none can have used up more of the last quarter than its own floor.
      for (let index = 0; index < MOST_FLOORS - 8; index++) {
        const key = shares.keyOf(`quiet-${index}`)
        ok(shares.may(key, FLOOR, amounts()))
        shares.add(key, FLOOR)
      }
    }),
  )
})

test('where the disk has no room, nobody gets any, and it says so by name', () => {
  const rig = rigOf(1_024 * MIB)
  rig.leftBytes = 0
  equal(rig.room.take(SHOP, 10), undefined)
  equal(rig.room.isFull(SHOP), true)
  const [check] = rig.room.checks((id) => `cluster-${id}`)
  match(
    check?.state === 'warning' ? check.reason : '',
    /^not archived, .*: cluster-c\/shop \(1 since/,
  )
})

test('a warning ends an hour after the last refusal', async () => {
  const rig = rigOf(16 * MIB)
  fill(rig.room, EVIL)
  equal(rig.room.checks(() => 'c').length, 1)
  await rig.clock.advance(3_600_001)
  deepEqual(
    rig.room.checks(() => 'c'),
    [],
  )
})

test('what is older than it is kept counts no more, and what was not written is given back', async () => {
  const { room, clock } = rigOf(16 * MIB)
  const count = fill(room, EVIL)
  await clock.advance(KEEP_MS / 2)
  equal(fill(room, EVIL), 0)
  await clock.advance(KEEP_MS)
  equal(room.isFull(EVIL), false)
  equal(room.takenBytes, 0)
  equal(fill(room, EVIL), count)
  const taken = room.take(SHOP, 100)
  ok(taken)
  const before = room.ofBytes(SHOP)
  room.giveBack(taken)
  equal(room.ofBytes(SHOP), before - 1_124)
  room.giveBack(taken)
  equal(room.ofBytes(SHOP), 0)
})

test('T3: after a start the bytes on the log count as before it', async () => {
  const clock = new ManualClock()
  const codec = avroCodec()
  const log = new MemoryLog({ partitions: 2, clock })
  const append = async (namespace: string, bytes: number, partition: number): Promise<void> => {
    const about = {
      ...{ cluster: 'c', uid: 'u', group: '', kind: 'ConfigMap', namespace, name: 'n' },
      ...{ version: 'v1', resource: 'configmaps', resourceVersion: '1', ownerReferences: [] },
      ...{ command: '', createdAt: null, at: 0, rule: '', content: 'whole' as const },
    }
    for (const piece of archivedPieces(about, Buffer.alloc(bytes), undefined)) {
      await log.append('archive', partition, [{ key: 'k', value: codec.encode(piece) }])
    }
  }
  for (let index = 0; index < 8; index++) await append('evil', MIB, index % 2)
  await append('shop', 1_000, 0)
  await log.append('archive', 1, [{ key: 'k', value: Buffer.from('garbage') }])
  const { room } = rigOf(16 * MIB, clock)
  await room.restore(log, codec, SIGNAL)
  ok(room.ofBytes(EVIL) >= 8 * MIB && room.ofBytes(EVIL) < 8.1 * MIB)
  ok(room.ofBytes(SHOP) >= 1_000 && room.ofBytes(SHOP) < 2_000)
  equal(room.take(EVIL, MIB), undefined)
  ok(room.take(SHOP, MIB))
  await clock.advance(2 * KEEP_MS)
  ok(room.take(EVIL, MIB))
})

test('the memory of names is bounded, and those beyond it share one share', () => {
  const { room } = rigOf(1_024 * MIB)
  for (let index = 0; index < 2_500; index++) {
    ok(room.take({ cluster: 'c', namespace: `n-${index}` }, 0))
  }
  equal(room.ofBytes({ cluster: 'c', namespace: 'n-1' }), 1_024)
  equal(room.ofBytes({ cluster: 'c', namespace: 'another' }), 500 * 1_024)
})
