/**
 * A dependent that an owner orphans may be of a kind that is not served meanwhile: when the kind is
 * served again the dependent loses its reference, and is never deleted.
 *
 * What must stay true: as long as the owner is there, its finalizer says so itself, to any log;
 * once it is deleted, only the mark in this log does.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { show, World } from '../../testing/model/story.ts'

const MONTH_AND_MORE = 40
const WIDGET = 'put widget/a <- pv/x'

function worldOf(...lines: readonly string[]): World {
  const world = new World()
  world.begin()
  for (const line of ['serve widget', 'relist widget', ...lines]) world.step(line)
  return world
}

function steps(world: World, ...lines: readonly string[]): void {
  for (const line of lines) world.step(line)
}

function why(world: World, text: string): string {
  return world.step(`why ${text}`).join()
}

function deletesOf(world: World): readonly string[] {
  return world.folder.commands.filter(({ type }) => type === 'DeleteObject').map(show)
}

suite('when a kind is served again', () => {
  const begun = (): World => worldOf('put pv/x', WIDGET, 'put pod/b <- pv/x')
  const backAfter = (world: World, days: number): void => {
    for (let day = 0; day < days; day++) world.step('beat 86400')
    steps(world, 'serve widget', 'relist widget', 'beat 60')
  }

  for (const days of [0, MONTH_AND_MORE]) {
    test(`after ${days} days, its object loses the owner that orphaned it and was deleted meanwhile`, () => {
      const world = begun()
      // Another client removes the finalizer.
      steps(world, 'unserve widget', 'put pv/x [deleting orphan]', 'put pod/b', 'delete pv/x')
      backAfter(world, days)
      match(
        why(world, 'widget/a'),
        /^= observed, drop orphaning: PersistentVolume "x" is deleted with its dependents orphaned/,
      )
      deepEqual(deletesOf(world), [])
    })

    test(`after ${days} days, its object loses the owner that waited for it, which is deleted then`, () => {
      const world = begun()
      steps(world, 'put pv/x [deleting orphan]', 'unserve widget', 'put pod/b')
      equal(why(world, 'pv/x').startsWith('= orphaning, wait'), true)
      backAfter(world, days)
      match(why(world, 'widget/a'), /^= observed, drop orphaning: /)
      equal(why(world, 'pv/x').startsWith('= orphaning, wait'), true)
      steps(world, 'put widget/a', 'beat 60')
      match(why(world, 'pv/x'), /^= orphaning, finish orphaning: no dependent references it/)
      deepEqual(deletesOf(world), [])
    })
  }
})

test('a log that is begun anew reads what an owner orphans from the owner that waits', () => {
  const world = worldOf('hide pv/x [deleting orphan]', `hide ${WIDGET.slice('put '.length)}`)
  steps(world, 'relist pv', 'relist widget', 'beat 60')
  match(why(world, 'widget/a'), /^= observed, drop orphaning: /)
})
