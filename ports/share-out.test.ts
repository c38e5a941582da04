/** A group's partitions are shared out evenly, and move no more than they must. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { assign, type Share } from './share-out.ts'

const NOTHING: Share = { active: [], standby: [] }

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
  const former = new Map<string, Share>([
    ['a', { active: [0], standby: [3] }],
    ['b', { active: [1], standby: [2] }],
  ])
  const shares = assign(former, 4, 1)
  deepEqual(shares.get('a'), { active: [0, 3], standby: [1, 2] })
  deepEqual(shares.get('b'), { active: [1, 2], standby: [0, 3] })
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
