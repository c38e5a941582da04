/** If judging one owner changes another one, that one is judged as well: one record causes both. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { World } from '../testing/model/story.ts'
import { hasWork } from './graph/agenda.ts'
import type { Event } from './model/event.ts'

const BLOCKED = 'rs/a <- pv/b!, job/none'
const OTHER = 'pv/k <- pv/b! [deleting h.io/x]'
const LAST = 'pod/d <- rs/a! [h.io/x]'
/** More than a record's share of the agenda. */
const OTHERS = 1_500

function steps(world: World, ...lines: readonly string[]): void {
  for (const line of lines) world.step(line)
}

test('an owner waits for a dependent that blocks it only since its own owner was judged, though the agenda has not come to it', () => {
  const world = new World()
  world.begin()
  steps(world, 'unserve job', 'put pv/b', `put ${BLOCKED}`, `put ${LAST}`)
  steps(world, `many ${OTHERS} cm/m# <- pv/other`, `put ${OTHER}`, 'put pv/b [deleting foreground]')
  world.step('beat 60')
  equal(world.step('why pv/b').join(), '= waiting, wait: dependents block it')
  // A reference that cannot be resolved keeps it for good, so it blocks no owner.
  equal(world.step('why rs/a').join().startsWith('= observed, blocked'), true)

  // It is not judged before its kind is relisted, and so blocks no owner yet.
  steps(world, 'unreadable c/ns', `put ${BLOCKED} [deleting foreground]`)
  steps(world, 'relist pod', 'relist pv')
  equal(world.step('why rs/a').join().startsWith('= waiting, blocked'), true)

  // From here on the fold never reaches the end of an agenda.
  const { folder } = world
  const fold = (event: Event): void => {
    folder.foldOne(event)
    equal(hasWork(folder.graph), true)
  }
  fold(world.policy('enforce', 'parity'))
  for (const event of world.relist('rs')) fold(event)
  const finishes = (): string[] =>
    folder.commands.filter(({ type }) => type === 'RemoveFinalizer').map(({ target }) => target.uid)
  fold(world.remove(LAST))
  deepEqual(finishes(), ['rs-a'])
  fold(world.remove(OTHER))
  deepEqual(finishes(), ['rs-a'])
  equal(world.step('why pv/b').join(), '= waiting, wait: dependents block it')
  fold(world.remove('rs/a'))
  deepEqual(finishes(), ['rs-a', 'pv-b'])
})
