/** Unwatched owners: how often they are verified, and what a live GET revokes. */
import { deepEqual, match, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { World } from '../../testing/model/story.ts'

const BEAT_SECONDS = 10
const HOUR_BEATS = 3_600 / BEAT_SECONDS

/** Live GETs issued, each answered at once. */
function looksIn(world: World, beats: number): number {
  let looks = 0
  for (let beat = 0; beat < beats; beat++) {
    const before = world.folder.commands.length
    world.tell(world.beat(BEAT_SECONDS))
    const asked = world.folder.commands.slice(before).filter(({ type }) => type === 'VerifyOwner')
    for (const _ of asked) world.tell(world.found('widget/w'))
    looks += asked.length
  }
  return looks
}

function unwatched(): World {
  const world = new World()
  world.begin()
  world.tell(world.served('widget', false))
  world.tell(world.put('pod/a <- widget/w'))
  return world
}

test('an owner that nobody watches is looked for every ten minutes at most, however long and often it is found', () => {
  const world = unwatched()
  world.tell(world.found('widget/w'))
  looksIn(world, HOUR_BEATS)
  // A gate that verifies for the sake of one of its dependents publishes the result, too.
  for (let i = 0; i < 20; i++) {
    world.tell(world.found('widget/w'))
    looksIn(world, 7)
  }
  looksIn(world, HOUR_BEATS)
  const looks = looksIn(world, 6 * HOUR_BEATS)
  ok(looks >= 30 && looks <= 36, `${looks} looks in six hours`)
})

test('an owner that did not come back with its cluster by a look is there when another look finds it', () => {
  const world = unwatched()
  world.tell(world.found('widget/w'))
  world.tell(world.restart(2))
  world.tell(world.served('widget', false))
  for (const event of world.relist('pod')) world.tell(event)
  looksIn(world, 1)
  world.tell(world.absent('widget/w'))
  const told = world.tell(world.found('widget/w'))
  deepEqual(
    told.filter((line) => line.includes('relist')),
    [],
  )
  match(world.step('why pod/a').join(), /keep: .* "w" exists/)
})

test('an owner whose deletion was seen is there when a look finds it once nobody watches its kind', () => {
  const world = new World()
  world.begin()
  for (const what of ['rs/w', 'pod/a <- rs/w']) world.tell(world.put(what))
  world.tell(world.remove('rs/w'))
  world.tell(world.served('rs', false))
  const told = world.tell(world.found('rs/w'))
  deepEqual(
    told.filter((line) => line.includes('relist')),
    [],
  )
  match(world.step('why pod/a').join(), /keep: .* "w" exists/)
})

test('a look takes back what a look told also where the kind is watched', () => {
  const world = new World()
  world.begin()
  world.tell(world.put('pod/a <- rs/w'))
  world.tell(world.absent('rs/w'))
  const told = world.tell(world.found('rs/w'))
  deepEqual(
    told.filter((line) => line.includes('relist')),
    [],
  )
  match(world.step('why pod/a').join(), /keep: .* "w" exists/)
})

test('a look that comes late lets no dependent of an owner that was orphaned go', () => {
  const lived = (...late: readonly string[]): readonly string[] => {
    const world = new World()
    world.begin()
    for (const line of ['put rs/w', 'put pod/a <- rs/w']) world.step(line)
    world.step('put rs/w [deleting orphan]')
    world.tell(world.remove('rs/w'))
    world.tell(world.served('rs', false))
    for (const line of [...late, 'put pod/late <- rs/w', 'beat 700', 'absent rs/w', 'beat 10'])
      world.step(line)
    return world.folder.commands
      .filter(({ target }) => target.name === 'late')
      .map(({ type }) => type)
      .slice(-1)
  }
  deepEqual(lived(), ['OrphanDependent'])
  deepEqual(lived('found rs/w'), ['OrphanDependent'])
})

test('a look that comes late changes nothing of an owner whose kind went', () => {
  const world = new World()
  world.begin()
  for (const line of ['serve widget', 'relist widget', 'put widget/w', 'put pod/a <- widget/w'])
    world.step(line)
  for (const line of [
    'delete widget/w',
    'settle pod/a blocked',
    'unserve widget',
    'found widget/w',
  ])
    world.step(line)
  ok(!world.step('why pod/a').join().includes('keep'))
})
