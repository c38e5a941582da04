/**
 * A group's partitions are shared out evenly, and move no more than they must, to members that are
 * ready for them.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { assign, type Former, type Share, weightOf } from './share-out.ts'

const NOTHING: Share = { active: [], standby: [], next: [] }

test('whoever comes and goes, shares stay even and whole, and only what must move moves', () => {
  const steps = fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 12 })
  const settings = [fc.integer({ min: 1, max: 17 }), fc.integer({ min: 0, max: 2 }), steps] as const
  fc.assert(
    fc.property(...settings, (partitions, standbys, toggled) => {
      let now = new Map<string, Share>()
      for (const number of toggled) {
        const name = `member-${number}`
        const isLeaving = now.delete(name)
        if (!isLeaving) now.set(name, NOTHING)
        const before = now
        now = assign(before, partitions, standbys)
        check(now, partitions, standbys)
        deepEqual(assign(now, partitions, standbys), now)
        for (const [member, share] of before) {
          const after = now.get(member)?.active ?? []
          const kept = share.active.filter((partition) => after.includes(partition)).length
          const least = isLeaving
            ? share.active.length
            : Math.min(share.active.length, after.length)
          ok(kept >= least, `${member} had to give up more than its share`)
        }
      }
    }),
  )
})

function check(shares: ReadonlyMap<string, Share>, partitions: number, standbys: number): void {
  if (shares.size === 0) return
  const all = [...shares.values()]
  const active = all.flatMap((share) => share.active).sort((a, b) => a - b)
  deepEqual(
    active,
    Array.from({ length: partitions }, (_, partition) => partition),
  )
  const sizes = all.map((share) => share.active.length)
  ok(Math.max(...sizes) - Math.min(...sizes) <= 1)
  for (const share of all) ok(share.standby.every((partition) => !share.active.includes(partition)))
  const standing = all.flatMap((share) => share.standby)
  equal(standing.length, partitions * Math.min(standbys, shares.size - 1))
}

test('who stood by for a partition takes it over', () => {
  const former = new Map<string, Former>([
    ['a', { active: [0], standby: [3] }],
    ['b', { active: [1], standby: [2] }],
  ])
  const shares = assign(former, 4, 1)
  deepEqual(shares.get('a'), { active: [0, 3], standby: [1, 2], next: [] })
  deepEqual(shares.get('b'), { active: [1, 2], standby: [0, 3], next: [] })
})

test('two that claim the same partition do not both keep it', () => {
  const claim = { active: [0, 1], standby: [] }
  const shares = assign(
    new Map([
      ['a', claim],
      ['b', claim],
    ]),
    2,
    0,
  )
  deepEqual([shares.get('a')?.active, shares.get('b')?.active], [[0], [1]])
})

/** What each member of a group has, is ready for, and folds. */
interface Life {
  readonly member: number
  /** Each partition that it has is ready with this number, modulo the partition plus two. */
  readonly luck: number
}

const lives = fc.array(
  fc.record({ member: fc.integer({ min: 0, max: 4 }), luck: fc.nat({ max: 40 }) }),
  { minLength: 1, maxLength: 12 },
)

test('what is answered moves only to who is ready for it, and all is even once all are', () => {
  const settings = [fc.integer({ min: 1, max: 17 }), fc.integer({ min: 0, max: 2 })] as const
  fc.assert(
    fc.property(...settings, lives, (partitions, standbys, steps: readonly Life[]) => {
      let now = new Map<string, Share>()
      for (const { member, luck } of steps) {
        const name = `member-${member}`
        if (!now.delete(name)) now.set(name, NOTHING)
        const reported = reportedBy(now, (partition) => luck % (partition + 2) !== 0)
        const before = now
        now = assign(reported, partitions, standbys)
        checkMoves(before, reported, now)
        if (standbys > 0) checkStandbys(before, reported, now)
      }
      // Each round readies what the one before it has prepared.
      for (let round = 0; round < 3; round++)
        now = assign(
          reportedBy(now, () => true),
          partitions,
          standbys,
        )
      check(now, partitions, standbys)
      for (const { next, leaving = [] } of now.values()) deepEqual([...next, ...leaving], [])
    }),
  )
})

function reportedBy(
  shares: ReadonlyMap<string, Share>,
  isReady: (partition: number) => boolean,
): Map<string, Former> {
  return new Map(
    [...shares].map(([name, { active, standby, leaving = [] }]) => {
      const ready = [...active, ...standby].filter(isReady)
      return [name, { active, standby, leaving, ready, loads: [] }]
    }),
  )
}

function checkMoves(
  before: ReadonlyMap<string, Share>,
  reported: ReadonlyMap<string, Former>,
  after: ReadonlyMap<string, Share>,
): void {
  for (const [name, { active }] of before) {
    for (const partition of active) {
      if (reported.get(name)?.ready?.includes(partition) !== true) continue
      const [owner = ''] = [...after].find(([, share]) => share.active.includes(partition)) ?? []
      const isReady = reported.get(owner)?.ready?.includes(partition)
      ok(owner === name || isReady, `${partition} of ${name} moved to ${owner}, which is not ready`)
    }
  }
  for (const { next, standby } of after.values())
    ok(
      next.every((partition) => standby.includes(partition)),
      'who prepares for a partition follows it',
    )
}

/** Where one is ready, one stays so. */
function checkStandbys(
  before: ReadonlyMap<string, Share>,
  reported: ReadonlyMap<string, Former>,
  after: ReadonlyMap<string, Share>,
): void {
  const partitions = new Set([...before.values()].flatMap(({ standby }) => [...standby]))
  for (const partition of partitions) {
    const isReady = ([name]: readonly [string, Share]): boolean =>
      reported.get(name)?.ready?.includes(partition) === true
    const isFree = ([name]: readonly [string, Share]): boolean =>
      after.get(name)?.active.includes(partition) === false
    const had = [...before].filter(([, { standby }]) => standby.includes(partition))
    const has = [...after].filter(([, { standby }]) => standby.includes(partition))
    const isWarm = has.some(isReady) || !had.filter(isFree).some(isReady)
    ok(isWarm, `${partition} had a standby that was ready, and has none`)
  }
}

test('a newcomer follows what it is to have before it has it', () => {
  const had: Former = { active: [0, 1, 2, 3], standby: [], ready: [0, 1, 2, 3], loads: [] }
  const first = assign(
    new Map<string, Former>([
      ['a', had],
      ['b', { ...NOTHING, ready: [], loads: [] }],
    ]),
    4,
    0,
  )
  deepEqual(first.get('a'), { active: [0, 1, 2, 3], standby: [], next: [] })
  deepEqual(first.get('b'), { active: [], standby: [2, 3], next: [2, 3] })
  const ready: Former = { active: [], standby: [2, 3], ready: [3], loads: [] }
  const second = assign(
    new Map<string, Former>([
      ['a', had],
      ['b', ready],
    ]),
    4,
    0,
  )
  deepEqual(second.get('a'), { active: [0, 1, 2], standby: [], next: [] })
  deepEqual(second.get('b'), { active: [3], standby: [2], next: [2] })
})

test('a standby that is ready stays until the one in its place is', () => {
  const all = [0, 1, 2, 3, 4, 5]
  const a: Former = { active: [0, 1, 2], standby: [3, 4, 5], ready: all, loads: [] }
  const b: Former = { active: [3, 4, 5], standby: [0, 1, 2], ready: all, loads: [] }
  const c: Former = { ...NOTHING, ready: [], loads: [] }
  let now = assign(
    new Map([
      ['a', a],
      ['b', b],
      ['c', c],
    ]),
    6,
    1,
  )
  deepEqual([now.get('a')?.standby, now.get('b')?.standby], [a.standby, b.standby])
  const { standby, next } = now.get('c') ?? NOTHING
  deepEqual(next, standby, 'it prepares for all of them')
  const standing = (): unknown => [...now.values()].map(({ standby: { length } }) => length)
  for (let round = 0; round < 3; round++)
    now = assign(
      reportedBy(now, () => true),
      6,
      1,
    )
  deepEqual(standing(), [2, 2, 2])
})

test('one who does not answer itself keeps nothing from a newcomer', () => {
  const opening: Former = { active: [0, 1, 2, 3], standby: [], ready: [], loads: [] }
  const shares = assign(
    new Map<string, Former>([
      ['a', opening],
      ['b', { ...NOTHING, ready: [] }],
    ]),
    4,
    0,
  )
  deepEqual(shares.get('b'), { active: [2, 3], standby: [], next: [] })
})

test('what nobody has goes to who is ready for it, and is evened out afterwards', () => {
  const shares = assign(
    new Map([
      ['a', { active: [0], standby: [2, 3], ready: [0, 2, 3] }],
      ['b', { active: [1], standby: [], ready: [1] }],
    ]),
    4,
    1,
  )
  deepEqual(shares.get('a')?.active, [0, 2, 3])
  deepEqual(shares.get('b')?.next, [3])
})

test('who folds a cluster in which much happens has fewer others', () => {
  const loads = [
    [0, 1_000],
    [1, 3],
    [2, 0],
    [3, 9],
  ] as const
  const ready = [0, 1, 2, 3, 4, 5, 6, 7]
  const former = new Map<string, Former>([
    ['a', { active: [0, 1, 2, 3], standby: [4, 5, 6, 7], ready, loads }],
    ['b', { active: [4, 5, 6, 7], standby: [0, 1, 2, 3], ready, loads: [] }],
  ])
  const shares = assign(former, 8, 1)
  deepEqual(shares.get('a')?.active, [0])
  deepEqual(shares.get('b')?.active, [1, 2, 3, 4, 5, 6, 7])
})

test('a member that has one heavy partition alone keeps no other from a newcomer', () => {
  const quiet = [1, 2, 3, 4, 5, 6]
  const former = new Map<string, Former>([
    ['a', { active: [0], standby: [], ready: [0], loads: [[0, 200]] }],
    ['b', { active: quiet, standby: [], ready: quiet, loads: [] }],
    ['c', { ...NOTHING, ready: [], loads: [] }],
  ])
  deepEqual(assign(former, 7, 0).get('c')?.next, [4, 5, 6])
})

test('a partition weighs twice as much only with twice the events', () => {
  deepEqual([0, 24, 25, 74, 75, 1_000].map(weightOf), [1, 1, 2, 2, 4, 32])
})
