/** The watch of one kind as a state machine: one row for each way a state can end. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ClusterErrorCode } from '../../ports/cluster.ts'
import { DEFAULT_CONFIG as CONFIG } from './config.ts'
import type { MonitorInput, MonitorState } from './monitor.ts'
import { backoffMs, isShrunken, startOf, step } from './monitor.ts'

const NOW = 1_000_000
const moment = { nowMs: NOW, chance: 0 }
const calm = { failures: 0, lastMs: 0 }

const listing = { phase: 'listing', confirming: false, trouble: calm } as const
const watching = {
  phase: 'watching',
  from: '7',
  check: false,
  fruitless: 0,
  trouble: calm,
} as const
const expired = { phase: 'expired', trouble: calm } as const
const troubled = { failures: 2, lastMs: NOW - 1_000 }

function failed(code: ClusterErrorCode, retryAfterMs: number | null = null): MonitorInput {
  return { type: 'Failed', at: '9', code, retryAfterMs }
}
const quick = { type: 'Ended', at: '9', proved: true, livedMs: 1_000 } as const
const long = { type: 'Ended', at: '9', proved: true, livedMs: 300_000 } as const
const mute = { type: 'Ended', at: '7', proved: false, livedMs: 300_000 } as const

/**
 * `listing`, `confirming`, `watching 7`, `check 7`, `expired`, each after `wait MS` if it waits;
 * `/N` fruitless watches.
 */
function show(state: MonitorState): string {
  switch (state.phase) {
    case 'listing':
      return state.confirming ? 'confirming' : 'listing'
    case 'watching': {
      const silent = state.fruitless === 0 ? '' : `/${state.fruitless}`
      return `${state.check ? 'check' : 'watching'} ${state.from}${silent}`
    }
    case 'expired':
      return 'expired'
    case 'waiting':
      return `wait ${state.untilMs - NOW} ${show(state.next)}`
  }
}

const waitingToWatch = { phase: 'waiting', next: watching, untilMs: NOW, trouble: calm } as const
const waitingToList = { ...waitingToWatch, next: listing } as const

const cases: readonly (readonly [string, MonitorState, MonitorInput, string])[] = [
  ['watches from the version listed', listing, { type: 'Listed', version: '8' }, 'watching 8'],
  ['lists again what shrank', listing, { type: 'Shrunken' }, 'confirming'],
  ['lists again after a wait', listing, failed('UNREADABLE'), 'wait 800 listing'],
  ['starts over when a continue expired', listing, failed('EXPIRED'), 'wait 800 listing'],
  ['waits for what is no longer served', listing, failed('NOT_SERVED'), 'wait 800 listing'],
  ['waits as long as it is told', listing, failed('THROTTLED', 9_000), 'wait 9000 listing'],
  ['but not for ever', listing, failed('THROTTLED', 9e9), 'wait 300000 listing'],
  [
    'keeps confirming over a failure',
    { ...listing, confirming: true },
    failed('UNREACHABLE'),
    'wait 800 confirming',
  ],
  ['goes on at once after a long watch', watching, long, 'watching 9'],
  ['pauses after a short one', watching, quick, 'wait 800 watching 9'],
  [
    'pauses no longer for many short ones',
    { ...watching, trouble: troubled },
    quick,
    'wait 800 watching 9',
  ],
  [
    'pauses longer when they brought nothing',
    { ...watching, trouble: troubled },
    { ...quick, proved: false },
    'wait 3200 watching 9/1',
  ],
  ['counts watches without a word', watching, mute, 'watching 7/1'],
  ['relists after three of them', { ...watching, fruitless: 2 }, mute, 'expired'],
  ['forgets them after a useful one', { ...watching, fruitless: 2 }, long, 'watching 9'],
  ['checks a silent watch', watching, { type: 'Silent', at: '9', proved: false }, 'check 9/1'],
  [
    'relists after silence',
    { ...watching, fruitless: 2 },
    { type: 'Silent', at: '9', proved: false },
    'expired',
  ],
  ['relists what expired', watching, failed('EXPIRED'), 'expired'],
  [
    'waits before it relists again',
    { ...watching, trouble: troubled },
    failed('EXPIRED'),
    'wait 3200 expired',
  ],
  ['relists in doubt', watching, { type: 'Doubted' }, 'expired'],
  ['checks a version said to be too new', watching, failed('TOO_NEW'), 'wait 800 check 9'],
  ['checks after a break', watching, failed('UNREACHABLE'), 'wait 800 check 9'],
  [
    'checks again what it could not check',
    { ...watching, check: true },
    failed('UNAVAILABLE'),
    'wait 800 check 9',
  ],
  ['relists when asked', watching, { type: 'RelistAsked' }, 'expired'],
  ['lists once all is sent off', expired, { type: 'SentOff' }, 'listing'],
  ['does what it waited for', waitingToWatch, { type: 'Woke' }, 'watching 7'],
  [
    'relists after the wait when asked in it',
    waitingToWatch,
    { type: 'RelistAsked' },
    'wait 0 expired',
  ],
  [
    'lists once when asked while it waits to',
    waitingToList,
    { type: 'RelistAsked' },
    'wait 0 listing',
  ],
]

for (const [name, state, input, expected] of cases) {
  test(`a monitor that is ${show(state)} ${name}`, () => {
    equal(show(step(state, input, moment, CONFIG)), expected)
  })
}

test('a monitor starts with a list, or with a check of where it stood', () => {
  equal(show(startOf(null)), 'listing')
  equal(show(startOf('7')), 'check 7')
})

test('waits double with jitter from 0.8 s and never pass 30 s', () => {
  deepEqual(
    [1, 2, 3, 4, 5, 6, 7, 50].map((failures) => backoffMs(failures, 0, CONFIG)),
    [800, 1_600, 3_200, 6_400, 12_800, 15_000, 15_000, 15_000],
  )
  ok(backoffMs(50, 0.999, CONFIG) < 30_000)
  equal(backoffMs(1, 0.5, CONFIG), 1_200)
})

test('two minutes without a failure end the trouble', () => {
  const trouble = { failures: 6, lastMs: NOW - 121_000 }
  equal(
    show(step({ ...listing, trouble }, failed('UNREACHABLE'), moment, CONFIG)),
    'wait 800 listing',
  )
})

const shrunken: readonly (readonly [held: number, listed: number, suspicious: boolean])[] = [
  [0, 0, false],
  [1, 0, true],
  [300, 201, false],
  [300, 200, false],
  [300, 199, true],
  [1_000, 701, false],
  [1_000, 699, true],
  [100, 200, false],
]

for (const [held, listed, suspicious] of shrunken) {
  test(`a list of ${listed} where ${held} were held is ${suspicious ? 'taken twice' : 'believed'}`, () => {
    equal(isShrunken(held, listed, CONFIG), suspicious)
  })
}

const codes: readonly ClusterErrorCode[] = [
  'EXPIRED',
  'TOO_NEW',
  'NOT_SERVED',
  'FORBIDDEN',
  'THROTTLED',
]
const anyInput: fc.Arbitrary<MonitorInput> = fc.oneof(
  fc.constant<MonitorInput>({ type: 'Listed', version: '8' }),
  fc.constantFrom<MonitorInput>(quick, long, mute, { type: 'Silent', at: '9', proved: false }),
  fc.constantFrom<MonitorInput>({ type: 'Shrunken' }, { type: 'Doubted' }, { type: 'Woke' }),
  fc.constantFrom<MonitorInput>({ type: 'RelistAsked' }, { type: 'SentOff' }),
  fc.constantFrom(...codes).map((code) => failed(code)),
)

test('a watch never begins at a version that was neither listed nor gone on from', () => {
  fc.assert(
    fc.property(fc.array(anyInput, { maxLength: 40 }), (inputs) => {
      let state = startOf('7')
      const allowed = new Set(['7'])
      for (const input of inputs) {
        if (state.phase === 'listing' && input.type === 'Listed') allowed.add(input.version)
        if (state.phase === 'watching' && 'at' in input && input.at !== null) allowed.add(input.at)
        state = step(state, input, moment, CONFIG)
        if (state.phase === 'watching') ok(allowed.has(state.from))
        if (state.phase === 'waiting') ok(state.untilMs - NOW <= 30_000)
      }
    }),
  )
})
