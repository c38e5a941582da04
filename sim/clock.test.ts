/** Virtual time passes, whatever a sleeper waits for. */
import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import { Timeline } from './clock.ts'

test('who waits for what is left of a fraction, again and again, comes to an end', async () => {
  const time = new Timeline()
  await time.advance(4_000_000.3)
  const until = time.monotonicMs() + 1e-9
  let rounds = 0
  const waiting = async (): Promise<void> => {
    while (time.monotonicMs() < until && rounds < 1_000) {
      rounds++
      await time.sleep(1e-10)
    }
  }
  const waited = waiting()
  await time.advance(1)
  await waited
  equal(rounds, 1)
})
