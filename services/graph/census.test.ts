/** What is counted of a graph: edges, references that dangle, and what may not go. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { ManualClock } from '../../adapters/memory/clock.ts'
import { MemoryLog } from '../../adapters/memory/log.ts'
import { MemoryStore } from '../../adapters/memory/store.ts'
import type { Event } from '../../core/model/event.ts'
import { StoreError } from '../../ports/store.ts'
import { systemClock } from '../../runtime/clock.ts'
import { appendAll, codec, emptyStore, eventsOf, runTask } from '../../testing/rig/task-rig.ts'
import { createCensus } from './census.ts'
import { TAKE_OVER_WAITS } from './config.ts'

const stories: readonly [string, readonly string[], object | undefined][] = [
  [
    'owners that are there',
    ['put deploy/web', 'put rs/a <- deploy/web', 'put pod/p <- rs/a'],
    { edges: 2, dangling: 0, unresolvable: 0, held: 0, refused: 0 },
  ],
  [
    'an owner that went',
    ['put deploy/web', 'put rs/a <- deploy/web', 'put rs/b <- deploy/web', 'delete deploy/web'],
    { edges: 2, dangling: 2, unresolvable: 0, held: 0, refused: 0 },
  ],
  [
    'an owner whose kind is not served',
    ['put pod/p <- widget/x'],
    { edges: 0, dangling: 0, unresolvable: 1, held: 0, refused: 0 },
  ],
  [
    'an owner that a relist missed, while such evidence may not act',
    ['policy enforce guarded', 'put rs/web', 'put pod/a <- rs/web', 'lose rs/web', 'relist rs'],
    { edges: 1, dangling: 1, unresolvable: 0, held: 1, refused: 0 },
  ],
  [
    'an owner that went while it orphaned',
    ['put rs/web', 'put pod/a <- rs/web', 'put rs/web [deleting orphan]', 'delete rs/web'],
    { edges: 1, dangling: 0, unresolvable: 0, held: 0, refused: 0 },
  ],
  ['an empty cluster', [], undefined],
]

for (const [what, lines, expected] of stories) {
  test(`counts ${what}`, async () => {
    const log = new MemoryLog({ partitions: 1, clock: systemClock() })
    await appendAll(log, eventsOf(lines))
    await using running = runTask(log, emptyStore())
    await running.caughtUp()
    const census = createCensus({ tasks: [running.task] }, codec)
    const [count] = census.counts()
    const told = count && {
      edges: count.edges,
      dangling: count.dangling,
      unresolvable: count.blocked.unresolvable.objects,
      held: count.blocked.held.objects,
      refused: count.blocked.refused.objects,
    }
    deepEqual(told, expected)
  })
}

for (const [lines, isPaused] of [
  [['put pod/p'], false],
  [['put pod/p', 'pause'], true],
  [['put pod/p', 'pause all'], true],
  [['put pod/p', 'pause', 'resume'], false],
] as const) {
  test(`says whether it is paused: ${lines.join(', ')}`, async () => {
    const log = new MemoryLog({ partitions: 1, clock: systemClock() })
    await appendAll(log, eventsOf(lines))
    await using running = runTask(log, emptyStore())
    await running.caughtUp()
    const census = createCensus({ tasks: [running.task] }, codec)
    equal(census.counts()[0]?.isPaused, isPaused)
  })
}

test('tells of what the cluster refuses since when, how often and when again', async () => {
  const log = new MemoryLog({ partitions: 1, clock: systemClock() })
  const story = ['put rs/web', 'put pod/a <- rs/web', 'delete rs/web', 'settle pod/a blocked']
  await appendAll(log, eventsOf(story))
  await using running = runTask(log, emptyStore())
  await running.caughtUp()
  const census = createCensus({ tasks: [running.task] }, codec)
  const refused = census.counts()[0]?.blocked.refused
  deepEqual([refused?.objects, refused?.tries], [1, 1])
  deepEqual((refused?.nextTry ?? 0) - (refused?.since ?? 0), 1_000)
  match(refused?.example ?? '', /^Pod\/a: /)
})

test('counts a commit of more than is remembered of what was stored before', async () => {
  const pods = Array.from({ length: 1_600 }, (_, index) => `put pod/p${index}`)
  const owned = pods.map((line) => `${line} <- rs/web`)
  const before = eventsOf(['put rs/web', ...owned])
  const all = eventsOf(['put rs/web', ...owned, ...pods])
  const log = new MemoryLog({ partitions: 1, clock: systemClock() })
  await appendAll(log, before)
  // Its clock stops, so that only numbers end a commit.
  await using running = runTask(log, emptyStore(), undefined, 0, new ManualClock())
  await running.caughtUp()
  const census = createCensus({ tasks: [running.task] }, codec)
  equal(census.counts()[0]?.edges, pods.length)
  const rest = all
    .slice(before.length)
    .map((event) => codec.encode(event as Exclude<Event, { readonly type: 'Unreadable' }>))
  await log.append(
    'events',
    0,
    rest.map((value) => ({ key: 'c/ns', value })),
  )
  await running.caughtUp()
  equal(census.counts()[0]?.edges, 0)
})

test('keeps to what it told while a damaged store is wiped and rebuilt', async () => {
  class Damaged extends MemoryStore {
    isBad = false

    override async write(...args: Parameters<MemoryStore['write']>): Promise<void> {
      if (!this.isBad) return await super.write(...args)
      this.isBad = false
      throw new StoreError('DAMAGED', 'damaged by the test')
    }
  }
  const before = eventsOf(['put rs/web', 'put pod/a <- rs/web', 'pause'])
  const all = eventsOf(['put rs/web', 'put pod/a <- rs/web', 'pause', 'put pod/b <- rs/web'])
  const log = new MemoryLog({ partitions: 1, clock: systemClock() })
  await appendAll(log, before)
  const store = new Damaged()
  const clock = new ManualClock()
  await using running = runTask(log, store, undefined, 0, clock)
  await running.caughtUp()
  const census = createCensus({ tasks: [running.task] }, codec)
  const told = census.counts()
  deepEqual([told[0]?.edges, told[0]?.isPaused], [1, true])
  store.isBad = true
  await appendAll(log, all.slice(before.length))
  while (store.content.wipes === 0) await setImmediate()
  // Its wait before it takes the task over again does not end.
  deepEqual(census.counts(), told)
  await clock.advance(TAKE_OVER_WAITS.firstMs)
  while (running.task.status().state !== 'folding') await setImmediate()
  await running.caughtUp()
  deepEqual([census.counts()[0]?.edges, census.counts()[0]?.isPaused], [2, true])
})

test('counts the clusters of each of its tasks, and tells nothing new until all of them are counted', async () => {
  const log = new MemoryLog({ partitions: 2, clock: systemClock() })
  const stories = [
    ['put rs/web', 'put pod/a <- rs/web', 'put pod/b <- rs/web', 'delete rs/web'],
    ['policy enforce guarded', 'cluster d', 'put rs/x', 'put pod/x <- rs/x', 'pause'],
  ]
  for (const [partition, lines] of stories.entries()) {
    await appendAll(log, eventsOf(lines), partition)
  }
  await using first = runTask(log, emptyStore())
  await first.caughtUp()
  await using second = runTask(log, emptyStore(), undefined, 1)
  const census = createCensus({ tasks: [first.task, second.task] }, codec)
  deepEqual(census.counts(), [])
  await second.caughtUp()
  deepEqual(
    census.counts().map(({ cluster, edges, dangling, isPaused }) => {
      return { cluster, edges, dangling, isPaused }
    }),
    [
      { cluster: 'c', edges: 2, dangling: 2, isPaused: false },
      { cluster: 'd', edges: 1, dangling: 0, isPaused: true },
    ],
  )
})

test('counts what others folded before it took its task over again', async () => {
  const story = [
    'put rs/web',
    'put pod/a <- rs/web',
    'put pod/b <- rs/web',
    'put pod/b',
    'put pod/c',
  ]
  const events = eventsOf(story)
  const log = new MemoryLog({ partitions: 1, clock: systemClock() })
  const rest = events.splice(-2)
  await appendAll(log, events)
  await using first = runTask(log, emptyStore())
  await first.caughtUp()
  const census = createCensus({ tasks: [first.task] }, codec)
  equal(census.counts()[0]?.edges, 2)
  await using second = runTask(log, emptyStore())
  await second.caughtUp()
  await appendAll(log, rest)
  await second.caughtUp()
  await first.ended
  await second[Symbol.asyncDispose]()
  const stop = new AbortController()
  const again = first.task.run(stop.signal)
  while (first.task.counts() === undefined) await Promise.race([setImmediate(), again])
  equal(census.counts()[0]?.edges, 1)
  stop.abort()
  await again
})
