/** Long work gives the event loop its turns, also when many pieces of it are done side by side. */
import { ok } from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { TURN_MS } from './config.ts'
import { Turns } from './turns.ts'

const PIECE_MS = 1

for (const atOnce of [1, 8]) {
  test(`nothing computes for longer than a turn, ${atOnce} at once`, async () => {
    let now = 0
    let turn = 0
    let isOver = false
    const ticking = (async () => {
      for (; !isOver; turn++) await setImmediate()
    })()
    const clock = {
      now: () => now,
      monotonicMs: () => now,
      sleep: async () => {
        await setImmediate()
      },
    }
    const turns = new Turns(clock)
    const worked = new Map<number, number>()
    const work = async (): Promise<void> => {
      for (let piece = 0; piece < 20; piece++) {
        await turns.take()
        now += PIECE_MS
        worked.set(turn, (worked.get(turn) ?? 0) + PIECE_MS)
      }
    }
    await Promise.all(Array.from({ length: atOnce }, work))
    isOver = true
    await ticking
    const [first = 0, ...later] = worked.values()
    // Those that begin together have all checked the time before the first of them works.
    ok(first <= TURN_MS + atOnce * PIECE_MS, `${first} at first`)
    ok(Math.max(...later) <= 2 * TURN_MS, later.join())
  })
}
