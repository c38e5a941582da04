/** A node moves along its table, and becomes untrusted by every other move. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { object } from '../../testing/model/notation.ts'
import { World } from '../../testing/model/story.ts'
import type { Phase } from './node.ts'
import { mayMove, phaseOf } from './node.ts'

const PHASES: readonly Phase[] = [
  'observed',
  'deleting',
  'waiting',
  'orphaning',
  'reaped',
  'suspect',
]

test('moves only where the table says', () => {
  const refused = PHASES.flatMap((from) =>
    PHASES.filter((to) => !mayMove(from, to)).map((to) => `${from} → ${to}`),
  )
  // A deletionTimestamp is never taken back.
  deepEqual(refused, ['deleting → observed', 'waiting → observed', 'orphaning → observed'])
})

const phases = [
  ['pod/a', 'observed'],
  ['pod/a [hold.io/x]', 'observed'],
  ['pod/a [orphan foreground]', 'observed'],
  ['pod/a [deleting]', 'deleting'],
  ['pod/a [deleting hold.io/x]', 'deleting'],
  ['pod/a [deleting foreground]', 'waiting'],
  ['pod/a [deleting orphan]', 'orphaning'],
  ['pod/a [deleting foreground orphan]', 'orphaning'],
] as const

for (const [text, phase] of phases) {
  test(`is ${phase}: ${text}`, () => equal(phaseOf(object(text, '1')), phase))
}

const moves = [
  ['a deletion taken back', 'put pod/a [deleting hold.io/x]; put pod/a', 'suspect'],
  ['a finalizer taken off', 'put pod/a [deleting foreground]; put pod/a [deleting]', 'deleting'],
  ['a relist after doubt', 'put pod/a; touch pod/a other; relist pod', 'observed'],
  [
    'a sighting newer than its delete',
    'put rs/x; put pod/a <- rs/x; delete rs/x; settle pod/a done; put pod/a <- rs/x [deleting h.io/x]',
    'deleting',
  ],
  [
    'a delete that is carried out',
    'put rs/x; put pod/a <- rs/x; delete rs/x; settle pod/a done',
    'reaped',
  ],
  [
    'a delete that was only tried',
    'put rs/x; put pod/a <- rs/x; delete rs/x; settle pod/a would-go',
    'observed',
  ],
] as const

for (const [name, steps, phase] of moves) {
  test(`is ${phase} after ${name}`, () => {
    const world = new World()
    world.begin()
    for (const line of steps.split('; ')) world.step(line)
    equal(world.step('why pod/a')[0]?.split(/[ ,]+/)[1], phase)
  })
}
