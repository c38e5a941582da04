/** What a relist has missed is looked at in pages, and a cluster may be restored between two of them. */
import { ok } from 'node:assert/strict'
import { test } from 'node:test'
import { World } from '../testing/story.ts'
import type { Event } from './event.ts'
import { nodeOf } from './graph.ts'

test('what a relist of an earlier epoch had begun to look for misses nothing of the next one', () => {
  const world = new World()
  world.begin()
  const { folder } = world
  const notesOf = (event: Event): Event[] => folder.foldOne(event).notes.map(({ event: e }) => e)
  // More than the pages of one record.
  for (let each = 0; each < 700; each++) world.step(`put pod/a${1_000 + each}`)
  world.step('put pod/zz')
  ok(world.remove('pod/a1000'))
  const listed = world
    .relist('pod')
    .filter((event) => !('object' in event && event.object?.uid === 'pod-zz'))
  // Newer than the list, and told by the watch before that is told to its end.
  const later = world.put('pod/zz [h.io/x]')
  let left: Event[] = []
  for (const event of [...listed.slice(0, -1), later, ...listed.slice(-1)]) left = notesOf(event)
  ok(left.length > 0)
  const started = [world.restart(2), ...world.relist('pod')]
  for (const event of started.slice(0, 2)) notesOf(event)
  while (left.length > 0) left = left.flatMap(notesOf)
  ok(nodeOf(folder.graph, 'c', 'pod-zz'))
  for (const event of started.slice(2)) {
    for (let more = notesOf(event); more.length > 0; more = more.flatMap(notesOf));
  }
  ok(nodeOf(folder.graph, 'c', 'pod-zz'))
})
