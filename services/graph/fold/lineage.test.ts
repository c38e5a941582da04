/** What the public record of an object says of how it left: who follows it has nothing else. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { factsOf } from '../../../core/graph/facts.ts'
import type { Lineage } from '../../../ports/record/lineage.ts'
import { World } from '../../../testing/model/story.ts'
import { lineageOf } from './lineage.ts'

/** The last record about an object, after these steps; no event says what is `unseen`. */
function recordAfter(uid: string, steps: readonly string[]): Lineage | undefined {
  const world = new World()
  world.begin()
  let last: Lineage | undefined
  for (const step of steps) {
    const events = world.events(step.replace('unseen ', ''))
    const seen = step.startsWith('unseen ') ? [] : events
    const outcomes = seen.flatMap((each) => world.folder.fold(each, world.now))
    const facts = factsOf(world.folder.graph, 'c')
    const at = { partition: 0, partitions: 1, position: 7n, timestamp: world.now }
    for (const touch of outcomes.flatMap(({ touched }) => [...touched.values()])) {
      if (touch.uid === uid) last = lineageOf(facts, touch, at) ?? last
    }
  }
  return last
}

const WATCHED = { evidence: 'deleted', isWatched: true, isOrphaning: false, clusterEpoch: 1 }

test('an object that is there has left in no way', () => {
  const record = recordAfter('rs-web', ['put rs/web'])
  deepEqual([record?.phase, record?.resource, record?.departure], ['observed', 'replicasets', null])
})

const ways: readonly (readonly [string, readonly string[], object])[] = [
  ['by a deletion that was watched', ['put rs/web', 'delete rs/web'], WATCHED],
  [
    'in a later epoch',
    ['rollback', 'put rs/web', 'delete rs/web'],
    { ...WATCHED, clusterEpoch: 2 },
  ],
  [
    'and orphaned its dependents',
    ['put rs/web [deleting orphan]', 'delete rs/web'],
    { ...WATCHED, isOrphaning: true },
  ],
  [
    'with a finalizer of its own, watched from the first state to the last',
    ['put rs/web', 'put rs/web [deleting example.com/own]', 'delete rs/web'],
    WATCHED,
  ],
  [
    'and orphaned, though another client took that finalizer off first',
    [
      ...['policy observe parity', 'put rs/web', 'put rs/web [deleting orphan example.com/own]'],
      ...['put rs/web [deleting example.com/own]', 'delete rs/web'],
    ],
    { ...WATCHED, isOrphaning: true },
  ],
  [
    'when its deletion had begun between two lists',
    ['put rs/web', 'unseen put rs/web [deleting example.com/own]', 'relist rs', 'delete rs/web'],
    { ...WATCHED, isWatched: false },
  ],
  [
    'and was first seen while it was being deleted',
    ['put rs/web [deleting example.com/own]', 'delete rs/web'],
    { ...WATCHED, isWatched: false },
  ],
  [
    'after a record of it that cannot be read',
    ['put rs/web', 'unreadable c/ns', 'delete rs/web'],
    { ...WATCHED, isWatched: false },
  ],
  [
    'and orphaned, though a user asked for the background afterwards',
    [
      ...['policy observe parity', 'put rs/web', 'put rs/web [deleting orphan example.com/own]'],
      ...['put rs/web [deleting foregroundDeletion example.com/own]', 'delete rs/web'],
    ],
    { ...WATCHED, isOrphaning: true },
  ],
  [
    'and orphaned, which is published late, after a later state',
    [
      ...['put rs/web', 'unseen put rs/web [deleting example.com/own]', 'relist rs'],
      ...['older rs/web [deleting orphan example.com/own]', 'delete rs/web'],
    ],
    { ...WATCHED, isOrphaning: true },
  ],
  [
    'in one state that was watched, after its finalizer was taken off by hand',
    ['put rs/web [example.com/own]', 'put rs/web [deleting example.com/own]', 'delete rs/web'],
    WATCHED,
  ],
  [
    'while another watcher had begun, which resumed',
    ['put rs/web', 'put rs/web [deleting example.com/own]', 'restart', 'delete rs/web'],
    WATCHED,
  ],
  [
    'while a list held it as it was watched last',
    [
      ...['put rs/web', 'put rs/web [deleting example.com/own]', 'restart', 'relist rs'],
      'delete rs/web',
    ],
    WATCHED,
  ],
  [
    'while a list held it at a later version',
    [
      ...['put rs/web', 'put rs/web [deleting example.com/own]'],
      ...['unseen put rs/web [deleting orphan example.com/own]'],
      ...['unseen put rs/web [deleting example.com/own]', 'relist rs', 'delete rs/web'],
    ],
    { ...WATCHED, isWatched: false },
  ],
  [
    'in another epoch than its deletion began in',
    [
      ...['put rs/web', 'put rs/web [deleting example.com/own]', 'rollback'],
      ...['put rs/web [deleting example.com/own]', 'delete rs/web'],
    ],
    { ...WATCHED, clusterEpoch: 2, isWatched: false },
  ],
  [
    'in an epoch in which no server showed that it was there',
    ['put rs/web', 'rollback', 'delete rs/web'],
    { ...WATCHED, clusterEpoch: 2, isWatched: false },
  ],
  [
    'after a state that the watcher confirmed, and that was never seen here',
    [
      ...['put rs/web', 'touch rs/web other'],
      ...['put rs/web [deleting example.com/own]', 'delete rs/web'],
    ],
    { ...WATCHED, isWatched: false },
  ],
  [
    'after a record between its states that cannot be read',
    [
      ...['put rs/web', 'unreadable c/ns'],
      ...['put rs/web [deleting example.com/own]', 'delete rs/web'],
    ],
    { ...WATCHED, isWatched: false },
  ],
  [
    'after a record of its whole cluster that cannot be read',
    ['put rs/web', 'unreadable c', 'delete rs/web'],
    { ...WATCHED, isWatched: false },
  ],
  [
    'when only its last state shows that it was being deleted',
    ['put rs/web', 'unseen put rs/web [deleting example.com/own]', 'delete rs/web'],
    { ...WATCHED, isWatched: false },
  ],
  [
    'and orphaned, which only its last state shows',
    ['put rs/web', 'unseen put rs/web [deleting orphan]', 'delete rs/web'],
    { ...WATCHED, isWatched: false, isOrphaning: true },
  ],
  ['and nothing was known of it before', ['delete rs/web'], { ...WATCHED, isWatched: false }],
  [
    'as Kinfold requested, and was answered before a watch showed it',
    [
      ...['put rs/top', 'put rs/web <- rs/top [example.com/own]', 'delete rs/top'],
      ...['answer rs/web <- rs/top [deleting example.com/own]', 'delete rs/web'],
    ],
    { ...WATCHED, isWatched: false },
  ],
  [
    'while a list was made',
    ['put rs/web', 'lose rs/web', 'relist rs'],
    { ...WATCHED, evidence: 'missing', isWatched: false },
  ],
]

for (const [what, steps, departure] of ways) {
  test(`it left ${what}`, () => {
    const record = recordAfter('rs-web', steps)
    equal(record?.phase, 'gone')
    deepEqual(record?.departure, departure)
  })
}

test('one whose kind is unwatched has not left', () => {
  const record = recordAfter('rs-web', ['put rs/web', 'serve rs unmonitored'])
  deepEqual([record?.phase, record?.departure], ['suspect', null])
})
