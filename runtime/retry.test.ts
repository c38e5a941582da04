/**
 * Waits double up to the longest, and start again after progress; what can only fail is not tried
 * twice.
 */
import { deepEqual, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import type { Clock } from '../ports/clock.ts'
import { LogError } from '../ports/log.ts'
import { Backoff, createLogRetry } from './retry.ts'

const waits = { firstMs: 100, mostMs: 350 }
const signal: AbortSignal = new AbortController().signal
const away = (): LogError => new LogError('UNAVAILABLE', 'no broker')

/** Its waits pass at once, and are noted. */
function clockThat(slept: number[], onSleep: () => void = () => undefined): Clock {
  const sleep = async (ms: number): Promise<void> => {
    slept.push(ms)
    onSleep()
  }
  return { now: () => 0, monotonicMs: () => 0, sleep }
}

test('waits double up to the longest, and begin again after a reset', () => {
  const backoff = new Backoff(waits)
  deepEqual(
    [1, 2, 3, 4].map(() => backoff.next()),
    [100, 200, 350, 350],
  )
  backoff.reset()
  deepEqual(backoff.next(), 100)
})

test('a call is made until it gets through, also after an unknown outcome', async () => {
  const slept: number[] = []
  const told: string[] = []
  const errors = [away(), new LogError('UNKNOWN_OUTCOME', 'lost')]
  const onWait = ({ code }: LogError): void => {
    told.push(code)
  }
  const retry = createLogRetry({ clock: clockThat(slept), waits, chance: () => 0.5, onWait })
  const result = await retry(async () => {
    const error = errors.shift()
    if (error !== undefined) throw error
    return 'done'
  }, signal)
  deepEqual([result, slept, told], ['done', [150, 300], ['UNAVAILABLE', 'UNKNOWN_OUTCOME']])
})

test('an error that patience does not mend passes through, and so does the end', async () => {
  const slept: number[] = []
  const fenced = new LogError('FENCED', 'another one has it')
  const calls = createLogRetry({ clock: clockThat(slept), waits })
  await rejects(
    calls(() => Promise.reject(fenced), signal),
    fenced,
  )
  const stop = new AbortController()
  const ends = createLogRetry({
    clock: clockThat(slept, () => stop.abort(new Error('stop'))),
    waits,
  })
  await rejects(
    ends(() => Promise.reject(away()), stop.signal),
    /stop/,
  )
  deepEqual(slept, [100])
})
