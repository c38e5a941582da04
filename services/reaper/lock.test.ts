/** When the lock counts as enforced: for as long as that was proven, and never by not knowing. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../../adapters/memory/clock.ts'
import { type Cluster, ClusterError, type LockAnswer } from '../../ports/cluster.ts'
import { createLocks, type Locks, type LockWanted } from './lock.ts'

const BOUNDS = { lockCheckMs: 60_000, lockRetryMs: 10_000, lockProofMs: 180_000, lockTryMs: 10_000 }
const LOCKED: LockAnswer = { type: 'Locked' }
const OPEN: LockAnswer = { type: 'Open', reason: 'it is gone' }
const UNKNOWN: LockAnswer = { type: 'Unknown', reason: 'no answer' }

interface Rig extends AsyncDisposable {
  readonly clock: ManualClock
  readonly locks: Locks
  readonly told: string[]
  answer: LockAnswer | 'hangs' | 'fails' | 'another'
  tries(): number
}

async function rig(wanted: LockWanted, answer: Rig['answer']): Promise<Rig> {
  const clock = new ManualClock()
  const stop = new AbortController()
  const told: string[] = []
  let tries = 0
  const cluster: Pick<Cluster, 'name' | 'identify' | 'probeLock'> = {
    name: 'north',
    identify: async () => (made.answer === 'another' ? 'c-2' : 'c-1'),
    async probeLock(signal) {
      tries++
      if (made.answer === 'fails') throw new ClusterError('UNREACHABLE', 'nobody there')
      if (made.answer === 'hangs' || made.answer === 'another') {
        await clock.sleep(3_600_000, signal)
        throw signal.reason
      }
      return made.answer
    },
  }
  const locks = createLocks({
    clusters: () => [{ id: 'c-1', cluster: cluster as Cluster }],
    wanted,
    clock,
    bounds: BOUNDS,
    onChange: ({ state, reason }) => told.push(`${state} ${reason}`.trim()),
  })
  const made: Rig = {
    ...{ clock, locks, told, answer },
    tries: () => tries,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await clock.advance(1)
      await running
    },
  }
  const running = locks.run(stop.signal)
  await clock.advance(1)
  return made
}

const stateOf = (locks: Locks): string =>
  locks
    .status()
    .map(({ state }) => state)
    .join()

test('required and in force lets commands take effect; before the first try it does not', async () => {
  const unasked = createLocks({
    clusters: () => [],
    wanted: 'required',
    clock: new ManualClock(),
    bounds: BOUNDS,
    onChange: () => undefined,
  })
  deepEqual(
    [unasked.isAwaited('c-1'), unasked.lacking('c-1')],
    [true, 'the lock is required, and it was not tried yet'],
  )
  await using it = await rig('required', LOCKED)
  deepEqual([it.locks.isAwaited('c-1'), it.locks.lacking('c-1')], [false, undefined])
  deepEqual([stateOf(it.locks), it.told], ['in force', ['in force']])
})

test('required and taken away is noticed within a minute, and its return within ten seconds', async () => {
  await using it = await rig('required', LOCKED)
  it.answer = OPEN
  await it.clock.advance(59_000)
  equal(it.locks.lacking('c-1'), undefined)
  await it.clock.advance(1_500)
  equal(it.locks.lacking('c-1'), 'the lock is required, and it is gone')
  it.answer = LOCKED
  await it.clock.advance(10_500)
  equal(it.locks.lacking('c-1'), undefined)
  deepEqual(it.told, ['in force', 'absent it is gone', 'in force'])
})

for (const [what, answer, reason] of [
  ['an answer that shows nothing', UNKNOWN, 'no answer'],
  ['a server that cannot be reached', 'fails', 'nobody there'],
  ['a server that hangs', 'hangs', 'The server took too long.'],
  ['an endpoint that is another cluster', 'another', 'the endpoint is another cluster, c-2'],
] as const) {
  test(`${what} leaves it as proven for three minutes, and no longer`, async () => {
    await using it = await rig('required', LOCKED)
    it.answer = answer
    await it.clock.advance(179_000)
    equal(it.locks.lacking('c-1'), undefined)
    await it.clock.advance(21_000)
    equal(it.locks.lacking('c-1'), `the lock is required, and ${reason}`)
    equal(stateOf(it.locks), 'unknown')
  })

  test(`${what} from the start is no lock`, async () => {
    await using it = await rig('required', answer)
    await it.clock.advance(11_000)
    equal(it.locks.lacking('c-1'), `the lock is required, and ${reason}`)
  })
}

test('optional it is tried and told, and holds nothing up', async () => {
  await using it = await rig('optional', OPEN)
  deepEqual([it.locks.isAwaited('c-1'), it.locks.lacking('c-1')], [false, undefined])
  deepEqual([stateOf(it.locks), it.told], ['absent', ['absent it is gone']])
  await it.clock.advance(60_500)
  equal(it.tries(), 2)
  equal(it.told.length, 1)
})

test('off it is not tried', async () => {
  await using it = await rig('off', LOCKED)
  await it.clock.advance(60_000)
  deepEqual([it.tries(), it.locks.status(), it.locks.lacking('c-1')], [0, [], undefined])
})
