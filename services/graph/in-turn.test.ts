/** One after the other, in the order of asking, and no failure holds anybody up. */
import { deepEqual, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { inTurn } from './in-turn.ts'

test('each begins when the one before has ended, and gets its own result', async () => {
  const alone = inTurn()
  const said: string[] = []
  const work = (name: string) => async (): Promise<string> => {
    said.push(`${name} begins`)
    await setImmediate()
    said.push(`${name} ends`)
    return name
  }
  deepEqual(await Promise.all([alone(work('a')), alone(work('b'))]), ['a', 'b'])
  deepEqual(said, ['a begins', 'a ends', 'b begins', 'b ends'])
})

test('one that fails tells who asked, and the next one begins', async () => {
  const alone = inTurn()
  const failing = alone(async () => {
    await setImmediate()
    throw new Error('of its own')
  })
  const next = alone(async () => 'next')
  await rejects(failing, /of its own/)
  deepEqual(await next, 'next')
})
