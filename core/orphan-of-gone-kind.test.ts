/**
 * What an owner orphans may be of a kind that is not served meanwhile: when that is served again it loses its reference, and never goes.
 *
 * What must stay true: as long as the owner is there, it says so itself, to any log; once it is gone, only the mark in this log does.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { commandsOf } from '../testing/folders.ts'
import { PARTITIONS, PartitionWorld } from '../testing/partition-world.ts'
import { show } from '../testing/story.ts'

const MONTH_AND_MORE = 40

function deletesOf(world: PartitionWorld): readonly string[] {
  return commandsOf(world.folders)
    .filter(({ type }) => type === 'DeleteObject')
    .map(show)
}

for (const partitions of [1, PARTITIONS]) {
  suite(`when a kind is served again, over ${partitions} partitions`, () => {
    const begun = (): PartitionWorld => {
      const world = new PartitionWorld([], partitions)
      for (const text of ['pv/x', 'widget/a <- pv/x', 'pod/b <- pv/x']) world.put(text)
      return world
    }
    const backAfter = (world: PartitionWorld, days: number): void => {
      for (let day = 0; day < days; day++) world.beat(86_400)
      world.serve('widget', true)
      world.relist('widget', ['widget/a <- pv/x'])
      world.beat(60)
    }

    for (const days of [0, MONTH_AND_MORE]) {
      test(`after ${days} days, its object loses the owner that orphaned it and went meanwhile`, () => {
        const world = begun()
        world.gone('widget')
        world.put('pv/x [deleting orphan]')
        world.put('pod/b')
        // Somebody takes the finalizer off.
        world.remove('pv/x [deleting orphan]')
        backAfter(world, days)
        match(world.why('widget/a'), /^observed, drop O: PersistentVolume "x" is deleted with its/)
        deepEqual(deletesOf(world), [])
      })

      test(`after ${days} days, its object loses the owner that waited for it, which goes`, () => {
        const world = begun()
        world.put('pv/x [deleting orphan]')
        world.gone('widget')
        world.put('pod/b')
        equal(world.why('pv/x').startsWith('orphaning, wait'), true)
        backAfter(world, days)
        match(world.why('widget/a'), /^observed, drop O: /)
        equal(world.why('pv/x').startsWith('orphaning, wait'), true)
        world.put('widget/a')
        world.beat(60)
        match(world.why('pv/x'), /^orphaning, finish O: no dependent names it/)
        deepEqual(deletesOf(world), [])
      })
    }
  })
}

test('a log that is begun anew reads what an owner orphans from the owner that waits', () => {
  const world = new PartitionWorld()
  world.relist('pv', ['pv/x [deleting orphan]'])
  world.relist('widget', ['widget/a <- pv/x'])
  world.beat(60)
  match(world.why('widget/a'), /^observed, drop O: /)
})
