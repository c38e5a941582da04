/**
 * Objects that our DELETE removed and no watch confirms: when a live GET verifies them, and the
 * cost of that where the watches work.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { World } from '../../testing/model/story.ts'
import { CATCH_UP_MS } from '../model/constant.ts'
import type { Event } from '../model/event.ts'
import { goneOf } from '../model/owner.ts'

/** A foreground owner, and a dependent that the server removed. */
function removed(owner = 'rs/web'): World {
  const world = new World()
  world.begin()
  for (const what of [owner, `pod/a <- ${owner}!`, `${owner} [deleting foreground]`]) {
    world.tell(world.put(what))
  }
  world.tell(world.settle('pod/a', 'done', ''))
  return world
}

/**
 * Log time in seconds since the DELETE was settled, of each live GET that heartbeats cause; each
 * heartbeat says for how long the watch of pods has delivered nothing.
 */
function verifiedAt(world: World, beats: readonly (readonly [number, number])[]): number[] {
  let now = 0
  return beats.flatMap(([seconds, silent]) => {
    now += seconds
    const told = world.tell(world.beat(seconds, 'pod', silent))
    return told.filter((line) => line.startsWith('> VerifyOwner pod/a')).map(() => now)
  })
}

const every = (seconds: number, count: number, silent: number) =>
  Array.from({ length: count }, () => [seconds, silent] as const)

const rows = [
  ['at the first heartbeat after 3 s', every(1, 10, 60), [3]],
  ['later where the watch of its kind delivers others', every(5, 8, 0.1), [35]],
  ['soon once it delivers no more', [...every(5, 2, 0.1), ...every(5, 2, 60)], [15]],
  ['again after two minutes without an answer', every(5, 60, 60), [5, 125, 245]],
] as const

for (const [when, beats, expected] of rows) {
  test(`a deletion that no watch confirms is verified ${when}`, () => {
    deepEqual(verifiedAt(removed(), beats), expected)
  })
}

test('three seconds count from the answer to the DELETE, not from the heartbeat before it', () => {
  const world = new World()
  world.begin()
  for (const what of ['rs/web', 'pod/a <- rs/web!', 'rs/web [deleting foreground]']) {
    world.tell(world.put(what))
  }
  // Heartbeats are five seconds apart, and this is shortly before the next one.
  world.folder.fold(world.settle('pod/a', 'done', ''), CATCH_UP_MS + 4_900)
  deepEqual(verifiedAt(world, every(5, 3, 60)), [10])
})

test('a deletion that the watch confirms costs no GET', () => {
  const world = removed()
  world.tell(world.remove('pod/a'))
  deepEqual(verifiedAt(world, every(5, 100, 60)), [])
})

test('answers that prove nothing are asked for again in waits that grow to ten minutes', () => {
  const world = removed()
  const times: number[] = []
  for (let second = 0; second < 3_600; second += 5) {
    const told = world.tell(world.beat(5, 'pod', 60))
    if (!told.some((line) => line.startsWith('> VerifyOwner'))) continue
    times.push(second)
    world.tell(world.settle('pod/a', 'blocked', 'forbidden'))
  }
  const waits = times.slice(1).map((at, index) => at - (times[index] ?? 0))
  deepEqual(waits, [5, 5, 10, 20, 35, 65, 130, 260, 515, 600, 600, 600, 600])
  equal(world.step('why rs/web').join(), '= waiting, wait: dependents block it')
})

test('while nothing may be asked, nothing is; afterwards it is', () => {
  const world = removed()
  world.step('pause')
  deepEqual(verifiedAt(world, every(60, 3, 60)), [])
  world.step('resume')
  deepEqual(verifiedAt(world, every(60, 3, 60)).length, 1)
})

test('a kind that shares its name with another resource is not asked: it may be the other one that answers', () => {
  const world = removed()
  world.tell({ ...world.served('pod', true), ambiguous: true })
  deepEqual(verifiedAt(world, every(60, 5, 60)), [])
})

test('after a start the watches get time to tell what they missed', () => {
  const world = removed()
  world.tell(world.restart())
  deepEqual(verifiedAt(world, every(3, 6, 60)), [12])
})

test('the answer to another question removes nothing, even if it says absent', () => {
  const world = removed()
  world.tell(world.beat(5, 'pod', 60))
  deepEqual(world.tell({ ...world.absent('pod/a'), command: '0-0-0' } as Event), [
    'dropped: seen since: only a watch or a relist removes it',
  ])
})

test('an owner that our DELETE removed counts as deleted when its first request was made, for those that were orphaned since', () => {
  const world = new World()
  world.begin()
  for (const line of ['put deploy/d', 'put rs/x <- deploy/d', 'delete deploy/d']) world.step(line)
  world.step('settle rs/x done')
  world.step('beat 30')
  const [told] = world.folder.fold(world.absent('rs/x'), 45_000)
  const { evidence } = told?.history.find(({ change }) => change === 'gone') ?? {}
  equal(evidence, 'deleted')
  const owner = [...world.folder.state].find(([key]) => key.startsWith('owner/c/rs-x/'))?.[1]
  equal(owner?.type, 'Owner')
  if (owner?.type !== 'Owner') return
  const { at, ageMs, isOurs } = goneOf(owner.known) ?? {}
  deepEqual([(at ?? 0) - (ageMs ?? 0), isOurs], [10_000, true])
})
