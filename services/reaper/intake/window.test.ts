/**
 * The window against the plainest model of it: a list of offsets and a set of those settled.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { SavedPosition } from '../../../ports/log.ts'
import { Window } from './window.ts'

const BYTES = 60_000

/** Commands with the gap before each (markers of transactions), and when it is settled if it is. */
const runs = fc.array(
  fc.record({ gap: fc.integer({ min: 1, max: 4 }), settledAt: fc.option(fc.nat(99)) }),
  { maxLength: 60, size: 'max' },
)

interface Run {
  readonly window: Window
  readonly offsets: readonly bigint[]
  readonly unsettled: readonly bigint[]
}

function play(commands: readonly { gap: number; settledAt: number | null }[]): Run {
  const window = new Window({ offset: 100n, detail: '' }, BYTES)
  let at = 99n
  const taken = commands.map(({ gap, settledAt }) => {
    at += BigInt(gap)
    return { offset: at, settledAt, ticket: window.take(at) as number }
  })
  const settled = taken.filter(({ settledAt }) => settledAt !== null)
  for (const { ticket } of settled.sort((a, b) => Number(a.settledAt) - Number(b.settledAt))) {
    window.settle(ticket)
  }
  const unsettled = taken.filter(({ settledAt }) => settledAt === null)
  return {
    window,
    offsets: taken.map(({ offset }) => offset),
    unsettled: unsettled.map(({ offset }) => offset),
  }
}

/** Which of them a window opened from `saved` takes, when it reads them all. */
function takenFrom(saved: SavedPosition, offsets: readonly bigint[]): readonly bigint[] {
  const window = new Window(saved, BYTES)
  return offsets.filter((offset) => offset >= saved.offset && window.take(offset) !== undefined)
}

test('never saves a position beyond an unsettled command, and takes no settled one again', () => {
  fc.assert(
    fc.property(runs, (commands) => {
      const { window, offsets, unsettled } = play(commands)
      equal(window.unsettled(), unsettled.length)
      const saved = window.position()
      equal(saved.offset, unsettled[0] ?? (offsets.at(-1) ?? 99n) + 1n)
      deepEqual(takenFrom(saved, offsets), unsettled)
    }),
  )
})

test('keeps what was settled through a second restart in the middle of reading', () => {
  fc.assert(
    fc.property(runs, fc.nat(59), (commands, cut) => {
      const { window, offsets, unsettled } = play(commands)
      const saved = window.position()
      const second = new Window(saved, BYTES)
      for (const offset of offsets.filter((one) => one >= saved.offset).slice(0, cut)) {
        second.take(offset)
      }
      equal(second.position().offset, saved.offset)
      deepEqual(takenFrom(second.position(), offsets), unsettled)
    }),
  )
})

test('moves to the end of what was read when all is settled', () => {
  const window = new Window({ offset: 0n, detail: '' }, BYTES)
  const ticket = window.take(3n) as number
  window.readTo(9n)
  equal(window.position().offset, 3n)
  window.settle(ticket)
  deepEqual(window.position(), { offset: 9n, detail: '' })
  equal(window.size(), 0)
})

test('counts a command that is settled twice once', () => {
  const window = new Window({ offset: 0n, detail: '' }, BYTES)
  const [a, b] = [window.take(0n) as number, window.take(1n) as number]
  window.settle(a)
  window.settle(a)
  equal(window.unsettled(), 1)
  window.settle(b)
  window.settle(a)
  deepEqual([window.unsettled(), window.size()], [0, 0])
})

test('fits the note of ten thousand commands, every other one settled, into its bytes', () => {
  const window = new Window({ offset: 0n, detail: '' }, BYTES)
  const tickets = Array.from({ length: 10_000 }, (_, i) => window.take(BigInt(i * 1_000)) as number)
  for (const ticket of tickets) if (ticket % 2 === 1) window.settle(ticket)
  const { offset, detail } = window.position()
  equal(offset, 0n)
  ok(detail.length < BYTES, `${detail.length} bytes`)
  equal(detail.split(',').length, 5_000)
})

test('notes ten thousand settled behind one unsettled as one range', () => {
  const window = new Window({ offset: 0n, detail: '' }, BYTES)
  for (let i = 0; i < 10_000; i++) {
    const ticket = window.take(BigInt(i)) as number
    if (i > 0) window.settle(ticket)
  }
  deepEqual(window.position(), { offset: 0n, detail: '1-7pq' })
})

test('leaves out ranges that do not fit, so their commands are taken again', () => {
  const window = new Window({ offset: 0n, detail: '' }, 10)
  const tickets = Array.from({ length: 20 }, (_, i) => window.take(BigInt(i)) as number)
  for (const ticket of tickets) if (ticket % 2 === 1) window.settle(ticket)
  const saved = window.position()
  ok(saved.detail.length <= 10)
  const again = new Window(saved, 10)
  const taken = tickets.filter((ticket) => again.take(BigInt(ticket)) !== undefined)
  deepEqual(taken.slice(0, 3), [0, 2, 4])
  ok(taken.includes(19))
})

test('takes everything again when the note does not read as one', () => {
  const window = new Window({ offset: 5n, detail: '1-1,what' }, BYTES)
  ok(window.take(6n) !== undefined)
})

test('forgets what lies behind it', () => {
  const window = new Window({ offset: 0n, detail: '' }, BYTES)
  for (let i = 0; i < 50_000; i++) window.settle(window.take(BigInt(i)) as number)
  deepEqual(window.position(), { offset: 50_000n, detail: '' })
})
