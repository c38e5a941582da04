/**
 * Which notifications a webhook gets of what waits, when, and how often: while it answers, and
 * while it is away.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../../adapters/memory/clock.ts'
import type { WebhookEvent } from '../../ports/webhook.ts'
import { cloudEventOf } from './cloud-event.ts'
import { createNotifier, type Notice, type NoticeType, type Notifier } from './notifier.ts'

const MINUTE = 60_000

interface Rig extends AsyncDisposable {
  readonly clock: ManualClock
  readonly notifier: Notifier
  readonly told: WebhookEvent[]
  readonly failures: string[]
  /** What waits. */
  notices: Notice[]
  isAway: boolean
  /** Whether this process knows what is over. */
  isKnown: boolean
}

function start(): Rig {
  const clock = new ManualClock()
  const stop = new AbortController()
  const rig = { notices: [] as Notice[], isAway: false, isKnown: true }
  const told: WebhookEvent[] = []
  const failures: string[] = []
  const notifier = createNotifier({
    clock,
    notices: () => rig.notices,
    isKnown: () => rig.isKnown,
    onFailed: (reason) => failures.push(reason),
    async tell(telling) {
      if (rig.isAway) throw new Error('it is away')
      told.push(cloudEventOf(telling))
    },
  })
  const running = notifier.run(stop.signal)
  return Object.assign(rig, {
    ...{ clock, notifier, told, failures },
    async [Symbol.asyncDispose]() {
      stop.abort()
      await clock.advance(MINUTE)
      await running
    },
  })
}

function notice(type: NoticeType, name = 'north', count = 1): Notice {
  const cluster = { name, id: `id-${name}` }
  return { type, cluster, part: '', count, message: `${count} wait`, command: 'kinfold held' }
}

const typesOf = ({ told }: Rig): string[] => told.map(({ type }) => type)

test('what waits is told once, and once more when it is over', async () => {
  await using rig = start()
  rig.notices = [notice('approval')]
  await rig.clock.advance(MINUTE)
  // More of it is the same notice.
  rig.notices = [notice('approval', 'north', 2)]
  await rig.clock.advance(10 * MINUTE)
  deepEqual(typesOf(rig), ['dev.kinfold.approval.waiting'])
  rig.notices = []
  await rig.clock.advance(3 * MINUTE)
  deepEqual(typesOf(rig), ['dev.kinfold.approval.waiting', 'dev.kinfold.approval.over'])
  const [first, last] = rig.told
  equal(first?.source, '/clusters/id-north')
  equal(last?.id, `${first?.id}/over`)
  match(first?.id ?? '', /^approval\/id-north\/\d{4}-/)
})

test('each cluster and each type is told apart', async () => {
  await using rig = start()
  rig.notices = [notice('breaker'), notice('lock'), notice('breaker', 'south')]
  await rig.clock.advance(MINUTE)
  deepEqual(
    rig.told.map(({ type, subject }) => `${type} ${subject}`),
    [
      'dev.kinfold.breaker.waiting north',
      'dev.kinfold.lock.waiting north',
      'dev.kinfold.breaker.waiting south',
    ],
  )
})

test('what is held is told after an hour without a break', async () => {
  await using rig = start()
  rig.notices = [notice('held')]
  await rig.clock.advance(56 * MINUTE)
  rig.notices = []
  await rig.clock.advance(3 * MINUTE)
  rig.notices = [notice('held')]
  await rig.clock.advance(59 * MINUTE)
  deepEqual(typesOf(rig), [])
  await rig.clock.advance(2 * MINUTE)
  deepEqual(typesOf(rig), ['dev.kinfold.held.waiting'])
})

test('a receiver that is away is tried again with growing waits, and learns what is then', async () => {
  await using rig = start()
  rig.isAway = true
  rig.notices = [notice('approval'), notice('breaker')]
  await rig.clock.advance(30 * MINUTE)
  deepEqual(
    [typesOf(rig), rig.failures, rig.notifier.failure()],
    [[], ['it is away'], 'it is away'],
  )
  rig.notices = [notice('breaker')]
  await rig.clock.advance(3 * MINUTE)
  rig.isAway = false
  await rig.clock.advance(10 * MINUTE)
  deepEqual(typesOf(rig), ['dev.kinfold.breaker.waiting'])
  deepEqual([rig.notifier.failure(), rig.notifier.sent], ['', 1])
})

test('one that is over and begins again while the receiver is away is another one', async () => {
  await using rig = start()
  rig.notices = [notice('approval')]
  await rig.clock.advance(MINUTE)
  rig.isAway = true
  rig.notices = []
  await rig.clock.advance(3 * MINUTE)
  rig.notices = [notice('approval')]
  await rig.clock.advance(MINUTE)
  rig.isAway = false
  await rig.clock.advance(20 * MINUTE)
  deepEqual(typesOf(rig), [
    'dev.kinfold.approval.waiting',
    'dev.kinfold.approval.over',
    'dev.kinfold.approval.waiting',
  ])
  const [first, , last] = rig.told
  equal(new Set([first?.id, last?.id]).size, 2)
})

test('what comes and goes within minutes is one, and not over', async () => {
  await using rig = start()
  for (let each = 0; each < 20; each++) {
    rig.notices = each % 2 === 0 ? [notice('approval')] : []
    await rig.clock.advance(MINUTE)
  }
  deepEqual(typesOf(rig), ['dev.kinfold.approval.waiting'])
})

test('what nobody can say is over stays: the cluster is another process’ by now, or a test had no result', async () => {
  await using rig = start()
  rig.notices = [notice('lock')]
  await rig.clock.advance(MINUTE)
  rig.notices = []
  rig.isKnown = false
  await rig.clock.advance(10 * MINUTE)
  deepEqual(typesOf(rig), ['dev.kinfold.lock.waiting'])
  rig.isKnown = true
  await rig.clock.advance(3 * MINUTE)
  deepEqual(typesOf(rig), ['dev.kinfold.lock.waiting', 'dev.kinfold.lock.over'])
})

test('ten times as much is told again, with another id', async () => {
  await using rig = start()
  for (const count of [2, 19, 20, 150, 200]) {
    rig.notices = [notice('approval', 'north', count)]
    await rig.clock.advance(MINUTE)
  }
  deepEqual(
    rig.told.map(({ data }) => data['message']),
    ['2 wait', '20 wait', '200 wait'],
  )
  equal(new Set(rig.told.map(({ id }) => id)).size, 3)
})

test('a failure is over with what could not be told', async () => {
  await using rig = start()
  rig.isAway = true
  rig.notices = [notice('approval')]
  await rig.clock.advance(20 * MINUTE)
  rig.notices = []
  await rig.clock.advance(3 * MINUTE)
  equal(rig.notifier.failure(), '')
})

test('ten are told in a minute, the others in the next', async () => {
  await using rig = start()
  rig.notices = Array.from({ length: 25 }, (_, each) => notice('lock', `c${each}`))
  await rig.clock.advance(MINUTE - 1)
  equal(rig.told.length, 10)
  await rig.clock.advance(2 * MINUTE + 10_000)
  equal(rig.told.length, 25)
})
