/**
 * A kind that repeatedly leaves and enters discovery: an object that a person rejected, or was
 * never asked about, is not deleted by itself.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { World } from '../../testing/model/story.ts'
import { KINDS_GONE_REMEMBERED } from '../model/constant.ts'
import { mayHaveGone, withGone } from './cause.ts'

const FLAPS = KINDS_GONE_REMEMBERED + 2

interface Flapping {
  readonly what: string
  readonly begin: readonly string[]
  readonly flap: readonly string[]
}

const FLAPPING: readonly Flapping[] = [
  {
    what: 'an owner that went with its kind',
    begin: ['put rs/web', 'put pod/a <- rs/web', 'delete rs/web', 'beat 10', 'unserve rs', 'plan'],
    flap: ['serve rs', 'relist rs', 'beat 1200', 'unserve rs', 'beat 30'],
  },
  {
    what: 'an owner that nobody finds, of a kind that was gone',
    begin: [
      ...['serve widget', 'relist widget', 'beat 60', 'unserve widget', 'beat 60'],
      ...['serve widget', 'relist widget', 'put pod/a <- widget/x', 'absent widget/x', 'plan'],
    ],
    flap: ['unserve widget', 'beat 1200', 'serve widget', 'relist widget', 'beat 30'],
  },
  {
    what: 'an owner that went with its definition',
    begin: [
      ...['serve crd', 'relist crd', 'serve widget', 'relist widget'],
      ...['put crd/widgets.example.com', 'put widget/x', 'put pod/a <- widget/x'],
      ...['put crd/widgets.example.com [deleting cleanup]', 'delete widget/x'],
      ...['delete crd/widgets.example.com', 'beat 1200', 'plan'],
    ],
    flap: [
      ...['put crd/widgets.example.com@#', 'beat 1200'],
      ...['put crd/widgets.example.com@# [deleting cleanup]', 'delete crd/widgets.example.com@#'],
    ],
  },
]

suite('however often its kind comes and goes, a dependent stays of', () => {
  for (const { what, begin, flap } of FLAPPING) {
    for (const ruling of ['', 'reject ann']) {
      test(`${what}${ruling === '' ? '' : ', rejected'}`, () => {
        const world = new World()
        world.begin()
        for (const step of ['policy enforce guarded', ...begin]) world.step(step)
        if (ruling !== '') world.step(ruling)
        for (let each = 0; each < FLAPS; each++)
          for (const step of flap) world.step(step.replace('#', `${each}`))
        const deletes = world.folder.commands.filter(({ type }) => type === 'DeleteObject')
        deepEqual(deletes, [])
        match(world.step('why pod/a').join(), /delete bulk: .*; held by approval: .*needs approval/)
      })
    }
  }
})

test('of a full list the times between the first two count as gone', () => {
  let gone: readonly number[] = []
  for (let at = 100; at <= 100 * KINDS_GONE_REMEMBERED; at += 100) gone = withGone(gone, at)
  equal(gone.length, KINDS_GONE_REMEMBERED)
  gone = withGone(withGone(gone, 10_000), 11_000)
  equal(gone.length, KINDS_GONE_REMEMBERED)
  deepEqual(
    [
      [50, 99],
      [101, 120],
      [150, 399],
      [401, 450],
      [9_000, 9_999],
      [10_000, 10_500],
    ].map(([from = 0, to = 0]) => mayHaveGone(gone, from, to)),
    [false, true, true, false, false, true],
  )
})

test('of a list that is not full nothing is forgotten', () => {
  const gone = withGone(withGone([], 100), 200)
  deepEqual(
    [
      [101, 199],
      [100, 100],
      [150, 200],
      [201, 999],
    ].map(([from = 0, to = 0]) => mayHaveGone(gone, from, to)),
    [false, true, true, false],
  )
})
