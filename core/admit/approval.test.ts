/**
 * An approval of a set that spans namespaces: it covers exactly the shown set, in its cluster only.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { check } from '../../testing/model/state-check.ts'
import { World } from '../../testing/model/story.ts'
import { factsOf } from '../graph/facts.ts'
import type { SetHash } from '../model/hash.ts'
import { EMPTY_SET } from '../model/hash.ts'

const NAMESPACES = ['a', 'b', 'c', 'd', 'e', 'f']
const CLUSTERS = ['c', 'c2']

/**
 * Two restored clusters, which share uids: in each namespace the owner of two objects is missing.
 */
function restored(): World {
  const world = new World()
  world.begin()
  for (const cluster of CLUSTERS) {
    world.step(`cluster ${cluster}`)
    for (const ns of NAMESPACES) {
      world.step(`put rs/${ns} in ${ns}`)
      for (const each of [1, 2]) world.step(`put pod/${each}${ns} in ${ns} <- rs/${ns}`)
      world.step(`lose rs/${ns} in ${ns}`)
    }
    for (const step of ['rollback', 'relist rs', 'relist pod', 'beat 30']) world.step(step)
  }
  return world
}

function setOf(world: World, cluster: string): SetHash {
  return factsOf(world.folder.graph, cluster).plan
}

/** The deletions that one cluster issues once its set is approved. */
function approved(world: World, cluster: string, listed: SetHash): readonly string[] {
  const about = { cluster, subject: '', digest: null, who: 'anna', isProven: false, why: 'meant' }
  world.tell({ type: 'Directive', verb: 'approve', ...about, listed })
  const { folder } = world
  folder.commit()
  deepEqual(check(folder.state), [])
  const deletes = folder.commands.filter((command) => command.type === 'DeleteObject')
  for (const command of deletes) {
    deepEqual([command.cluster, command.evidence, command.approvedBy], [cluster, 'bulk', 'anna'])
  }
  return deletes.map(({ target }) => target.uid)
}

test('releases what was shown, in all namespaces of its cluster', () => {
  const world = restored()
  const set = setOf(world, 'c')
  equal(set.count, 2 * NAMESPACES.length)
  equal(approved(world, 'c', set).length, 2 * NAMESPACES.length)
  equal(setOf(world, 'c').count, 0)
  equal(setOf(world, 'c2').count, 2 * NAMESPACES.length)
})

test('does nothing where the set is another one', () => {
  const world = restored()
  const set = setOf(world, 'c')
  deepEqual(approved(world, 'c', { ...set, low: set.low ^ 1 }), [])
  equal(setOf(world, 'c').count, 2 * NAMESPACES.length)
})

test('does nothing where it names no set', () => {
  deepEqual(approved(restored(), 'c', EMPTY_SET), [])
})
