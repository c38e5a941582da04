/**
 * The time that a cascade takes is counted from its beginning, at any depth, and only for objects
 * that Kinfold deleted.
 */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryLog } from '../../../adapters/memory/log.ts'
import { appendAll, emptyStore, eventsOf, runTask } from '../../../testing/rig/task-rig.ts'
import { SettableClock } from '../../../testing/settable-clock.ts'
import { CascadeTimes } from './cascade-time.ts'

/** Seconds by kind, of a story whose events are ten seconds apart. */
async function timesOf(story: readonly string[], most?: number): Promise<readonly string[]> {
  const clock = new SettableClock()
  const log = new MemoryLog({ partitions: 1, clock })
  const times: string[] = []
  const cascades = new CascadeTimes(most)
  await using running = runTask(
    log,
    emptyStore(),
    {
      folded(event, at, outcome, graph) {
        const ms = cascades.folded(event, at, outcome, graph)
        if (ms === undefined || event.type !== 'ObjectDeleted') return
        times.push(`${event.object.kind} ${Math.floor(ms / 1_000)}`)
      },
    },
    0,
    clock,
  )
  const begin = eventsOf([]).length
  const events = eventsOf(story)
  await appendAll(log, events.slice(0, begin))
  for (const event of events.slice(begin)) {
    clock.pass(10_000)
    await appendAll(log, [event])
    await running.caughtUp()
  }
  return times
}

const TREE = ['put deploy/a', 'put rs/b <- deploy/a', 'put pod/c <- rs/b']

test('from the deletion of the root, for each object below it', async () => {
  deepEqual(await timesOf([...TREE, 'delete deploy/a', 'delete rs/b', 'delete pod/c']), [
    'ReplicaSet 10',
    'Pod 20',
  ])
})

test('nothing of objects that were deleted without Kinfold, which begin cascades of their own', async () => {
  deepEqual(await timesOf([...TREE, 'delete rs/b', 'delete pod/c', 'delete deploy/a']), ['Pod 10'])
})

test('of two owners, from the one that was deleted last', async () => {
  const story = ['put deploy/a', 'put deploy/z', 'put rs/b <- deploy/a, deploy/z']
  deepEqual(await timesOf([...story, 'delete deploy/a', 'delete deploy/z', 'delete rs/b']), [
    'ReplicaSet 10',
  ])
})

test('nothing of objects whose owners are remembered no longer', async () => {
  const story = [...TREE, 'put deploy/z', 'delete deploy/a', 'delete deploy/z']
  deepEqual(await timesOf([...story, 'delete rs/b', 'delete pod/c'], 1), [])
})
