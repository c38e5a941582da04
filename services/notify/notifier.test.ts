/** What a webhook is told of what waits, when, and how often: while it answers, and while it is away. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../../adapters/memory/clock.ts'
import type { WebhookEvent } from '../../ports/webhook.ts'
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
}

function start(): Rig {
  const clock = new ManualClock()
  const stop = new AbortController()
  const rig = { notices: [] as Notice[], isAway: false }
  const told: WebhookEvent[] = []
  const failures: string[] = []
  const notifier = createNotifier({
    clock,
    notices: () => rig.notices,
    onFailed: (reason) => failures.push(reason),
    webhook: {
      async send(event) {
        if (rig.isAway) throw new Error('it is away')
        told.push(event)
      },
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

function notice(type: NoticeType, name = 'north', message = `${type} waits`): Notice {
  return { type, cluster: { name, id: `id-${name}` }, message, command: 'kinfold held' }
}

const typesOf = ({ told }: Rig): string[] => told.map(({ type }) => type)

test('what waits is told once, and once more when it is over', async () => {
  await using rig = start()
  rig.notices = [notice('approval')]
  await rig.clock.advance(MINUTE)
  // Another message is the same notice: more of it waits by now.
  rig.notices = [notice('approval', 'north', '2 wait')]
  await rig.clock.advance(10 * MINUTE)
  deepEqual(typesOf(rig), ['dev.kinfold.approval.waiting'])
  rig.notices = []
  await rig.clock.advance(MINUTE)
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
  await rig.clock.advance(59 * MINUTE)
  rig.notices = []
  await rig.clock.advance(MINUTE)
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
  await rig.clock.advance(MINUTE)
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

test('ten are told in a minute, the others in the next', async () => {
  await using rig = start()
  rig.notices = Array.from({ length: 25 }, (_, each) => notice('lock', `c${each}`))
  await rig.clock.advance(MINUTE - 1)
  equal(rig.told.length, 10)
  await rig.clock.advance(2 * MINUTE + 10_000)
  equal(rig.told.length, 25)
})
