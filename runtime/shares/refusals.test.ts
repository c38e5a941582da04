/**
 * Refused requests are counted one by one, and logged a line per address and minute, whatever their
 * number.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import type { Fields } from '../logger.ts'
import { Refusals } from './refusals.ts'

interface Rig {
  readonly refusals: Refusals
  readonly lines: Fields[]
  refuse(address: string, code?: number): void
  pass(ms: number): void
}

function rig(): Rig {
  let now = 0
  const lines: Fields[] = []
  const logger = { log: (_level: string, _message: string, fields = {}) => void lines.push(fields) }
  const refusals = new Refusals({ monotonicMs: () => now }, logger)
  return {
    refusals,
    lines,
    refuse: (address, code = 401) =>
      refusals.note({ address, method: 'GET', route: '/v1/tree', code }),
    pass(ms) {
      now += ms
    },
  }
}

test('an address has a line a minute, which says how many there were', () => {
  const { refuse, pass, lines, refusals } = rig()
  for (let time = 0; time < 100; time++) refuse('10.0.0.1')
  refuse('10.0.0.2', 403)
  pass(60_000)
  refuse('10.0.0.1')
  deepEqual(
    lines.map(({ address, code, times }) => [address, code, times]),
    [
      ['10.0.0.1', 401, 1],
      ['10.0.0.2', 403, 1],
      ['10.0.0.1', 401, 100],
    ],
  )
  deepEqual(
    [...refusals.counts()],
    [
      [401, 101],
      [403, 1],
    ],
  )
})

test('what is answered or wrong otherwise is no refusal', () => {
  const { refuse, lines, refusals } = rig()
  for (const code of [200, 404, 429, 500]) refuse('10.0.0.1', code)
  deepEqual([lines, [...refusals.counts().values()]], [[], [0, 0]])
})

test('addresses without end share a line a minute, and none of them is forgotten in the count', () => {
  const { refuse, pass, lines, refusals } = rig()
  for (let minute = 0; minute < 2; minute++) {
    for (let host = 0; host < 5_000; host++) refuse(`2001:db8::${minute}:${host}`)
    pass(60_000)
  }
  equal(refusals.counts().get(401), 10_000)
  ok(lines.length <= 2 * 1_001, String(lines.length))
})
