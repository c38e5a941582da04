/** A process says again what it is ready for, and what it folds, where that moves something. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { Report } from '../../ports/share-out.ts'
import { SettableClock } from '../../testing/settable-clock.ts'
import { OwnClaim } from './own-claim.ts'

const NOBODY = { owners: [], policies: [], members: [], loads: [] }
const GIVEN = { ...NOBODY, active: [0], standby: [1, 2], next: [2] }
const WHO = { url: 'http://a', policy: '' }

test('who is ready for what it waits for says so, and for nothing else', () => {
  const report: { ready: number[]; loads: Report['loads'] } = { ready: [0], loads: [] }
  const claim = new OwnClaim(WHO, new SettableClock(), () => report)
  claim.say()
  claim.given({ ...GIVEN, active: [], next: [0, 2] }, 3)
  equal(claim.isPreparing, true)
  claim.given(GIVEN, 4)
  equal(claim.isPreparing, false)
  report.ready = [0, 1]
  equal(claim.isOutdated, false)
  report.ready = [0, 1, 2]
  equal(claim.isOutdated, true)
  deepEqual(claim.say(), {
    ...{ ...WHO, generation: 4, active: [0], standby: [1, 2] },
    ...{ ready: [0, 1, 2], loads: [] },
  })
  equal(claim.isOutdated, false)
})

test('who was ready a moment ago is ready for the group', () => {
  const clock = new SettableClock()
  const report: { ready: number[]; loads: Report['loads'] } = { ready: [0, 2], loads: [] }
  const claim = new OwnClaim(WHO, clock, () => report)
  claim.given(GIVEN, 4)
  equal(claim.isOutdated, true)
  report.ready = [0]
  clock.pass(500)
  deepEqual(claim.say().ready, [0, 2])
  claim.given(GIVEN, 5)
  clock.pass(6_000)
  deepEqual(claim.say().ready, [0])
})

test('of a partition that it was just given a process says what the group knows', () => {
  const report: Report = { ready: [0, 2], loads: [[0, 7]] }
  const claim = new OwnClaim(WHO, new SettableClock(), () => report)
  claim.given(
    {
      ...GIVEN,
      active: [0, 2],
      loads: [
        [0, 90],
        [2, 400],
        [5, 10],
      ],
    },
    4,
  )
  deepEqual(claim.say().loads, [
    [0, 7],
    [2, 400],
  ])
})

test('a load that is twice another for minutes is said', () => {
  const clock = new SettableClock()
  const report: { ready: number[]; loads: [number, number][] } = { ready: [0], loads: [[0, 20]] }
  const claim = new OwnClaim(WHO, clock, () => report)
  claim.say()
  claim.given(GIVEN, 4)
  report.loads = [[0, 400]]
  equal(claim.isOutdated, false)
  clock.pass(300_000)
  equal(claim.isOutdated, true)
  claim.say()
  clock.pass(300_000)
  report.loads = [[0, 300]]
  equal(claim.isOutdated, false)
})

test('who does not report has nothing to say again', () => {
  const clock = new SettableClock()
  const claim = new OwnClaim(WHO, clock, undefined)
  claim.say()
  claim.given(GIVEN, 4)
  clock.pass(3_000_000)
  equal(claim.isOutdated, false)
  deepEqual(claim.say(), { ...WHO, generation: 4, active: [0], standby: [1, 2] })
})
