/**
 * The leader of a group shares out the partitions by the claims of its members, some of which are
 * out of date.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  assignGroup,
  type Claim,
  decodeClaim,
  decodeGiven,
  differingPolicies,
  encodeClaim,
  encodeGiven,
  type Given,
} from './assignor.ts'

/**
 * A group as its coordinator sees it: its members, and those that kept their former share while
 * they were out.
 */
class Group {
  readonly partitions: number
  readonly standbys: number
  readonly members = new Map<string, Claim>()
  readonly away = new Map<string, Claim>()
  generation = 0

  constructor(partitions: number, standbys: number) {
    this.partitions = partitions
    this.standbys = standbys
  }

  /** `cut`: the process continues with its former share, and comes back with it. */
  toggle(id: string, cut: boolean): void {
    const claim = this.members.get(id)
    if (claim !== undefined) {
      this.members.delete(id)
      if (cut) this.away.set(id, claim)
      return
    }
    const fresh = { url: `http://${id}`, generation: -1, policy: '', active: [], standby: [] }
    this.members.set(id, this.away.get(id) ?? fresh)
    this.away.delete(id)
  }

  rebalance(): Map<string, Given> {
    const given = assignGroup(this.members, this.partitions, this.standbys)
    this.generation += 1
    for (const [id, { active, standby }] of given) {
      const { url, policy } = this.members.get(id)!
      this.members.set(id, { url, policy, generation: this.generation, active, standby })
    }
    return given
  }
}

const steps = fc.array(fc.tuple(fc.integer({ min: 0, max: 5 }), fc.boolean()), { maxLength: 14 })

test('whoever joins, leaves, is cut off and comes back, each partition has one owner and moves only if it must', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 17 }),
      fc.integer({ min: 0, max: 2 }),
      steps,
      (partitions, standbys, toggles) => {
        const group = new Group(partitions, standbys)
        for (const [member, cut] of toggles) {
          group.toggle(`member-${member}`, cut)
          const before = new Map(group.members)
          check(group, before, group.rebalance())
        }
      },
    ),
  )
})

function check(
  { partitions, standbys, generation }: Group,
  before: ReadonlyMap<string, Claim>,
  given: ReadonlyMap<string, Given>,
): void {
  if (given.size === 0) return
  const active = [...given.values()].flatMap((share) => share.active)
  deepEqual(active.toSorted(byNumber), [...Array(partitions).keys()])
  const sizes = [...given.values()].map((share) => share.active.length)
  ok(Math.max(...sizes) - Math.min(...sizes) <= 1, `shares of ${sizes}`)
  for (const share of given.values()) {
    ok(
      !share.standby.some((partition) => share.active.includes(partition)),
      'stands by for its own',
    )
    equal(new Set(share.standby).size, share.standby.length)
  }
  const standing = [...given.values()].flatMap((share) => share.standby)
  equal(standing.length, partitions * Math.min(standbys, given.size - 1))
  for (const most of given.values()) {
    for (const least of given.values()) {
      const movable = most.standby.filter(
        (partition) => !least.active.includes(partition) && !least.standby.includes(partition),
      )
      ok(most.standby.length - least.standby.length <= 1 || movable.length === 0, 'uneven')
    }
  }
  for (const [id, { active: had, generation: since }] of before) {
    // Only members of the last generation have partitions to keep.
    if (since !== generation - 1) continue
    const has = given.get(id)?.active ?? []
    const kept = had.filter((partition) => has.includes(partition))
    equal(kept.length, Math.min(had.length, has.length), `${id} had ${had} and has ${has}`)
  }
}

function byNumber(a: number, b: number): number {
  return a - b
}

test('who comes back with an old claim takes nothing from who was given it since, and stands by for it', () => {
  const claims = new Map<string, Claim>([
    ['a', { url: 'http://a', policy: '', generation: 3, active: [3, 4], standby: [] }],
    ['b', { url: 'http://b', policy: '', generation: 5, active: [0, 1, 2], standby: [] }],
    ['c', { url: 'http://c', policy: '', generation: 5, active: [3, 4, 5], standby: [] }],
  ])
  const given = assignGroup(claims, 6, 1)
  deepEqual(given.get('b')?.active, [0, 1])
  deepEqual(given.get('c')?.active, [3, 5])
  deepEqual(given.get('a')?.active, [2, 4])
  ok(given.get('a')?.standby.includes(3))
})

test('everybody is told where each partition is', () => {
  const nothing = { generation: -1, policy: '', active: [], standby: [] }
  const claims = new Map<string, Claim>([
    ['a', { url: 'http://a', ...nothing }],
    ['b', { url: 'http://b', ...nothing }],
  ])
  for (const { owners } of assignGroup(claims, 3, 0).values()) {
    deepEqual(owners, [
      ['http://a', [0, 2]],
      ['http://b', [1]],
    ])
  }
})

test('everybody is told which members go by another policy', () => {
  const nothing = { generation: -1, active: [], standby: [] }
  const group = (...policies: readonly string[]): Given[] => {
    const claims = policies.map((policy, index): readonly [string, Claim] => {
      return [`${index}`, { url: `http://${index}`, policy, ...nothing }]
    })
    return [...assignGroup(new Map(claims), 1, 0).values()]
  }
  for (const given of group('enforce', 'dry-run', 'enforce', '')) {
    equal(
      differingPolicies(given),
      'its processes go by different policies: dry-run at http://1; enforce at http://0, http://2',
    )
  }
  for (const given of group('enforce', 'enforce', '')) equal(differingPolicies(given), '')
})

test('what a member of an older version leaves out reads as empty', () => {
  const claim = { url: 'http://a', generation: 7, active: [1], standby: [] }
  deepEqual(decodeClaim(Buffer.from(JSON.stringify(claim))), { ...claim, policy: '' })
  const given = { active: [1], standby: [], owners: [] }
  deepEqual(decodeGiven(Buffer.from(JSON.stringify(given))), {
    ...given,
    next: [],
    policies: [],
    members: [],
    loads: [],
  })
})

test('what is told arrives as it was', () => {
  const claim = { url: 'http://ä', generation: 7, policy: 'p', active: [1], standby: [2, 3] }
  deepEqual(decodeClaim(encodeClaim(claim)), claim)
  const given: Given = {
    ...{ active: [1], standby: [2], next: [2], owners: [['http://ä', [1]]], policies: [] },
    members: [{ url: 'http://ä', id: 'x' }],
    loads: [[1, 30]],
  }
  deepEqual(decodeGiven(encodeGiven(given)), given)
})
