/**
 * However much is left out, each moment of it has a record, and there is a bounded number of them.
 */
import { equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ActorGap } from '../../../ports/record/service-record.ts'
import { AuditGaps, GAP_MS, type LeftOut } from './audit-gap.ts'

const DAY_MS = 86_400_000

interface Rig {
  readonly written: ActorGap[]
  leaveOut(left: Partial<LeftOut>): void
  wait(ms: number): void
}

function rig(): Rig {
  let now = 0
  const gaps = new AuditGaps({ monotonicMs: () => now })
  const written: ActorGap[] = []
  return {
    written,
    leaveOut(left) {
      const gap = gaps.missing('c', { namespace: 'ns', user: 'u', cause: 'share', at: 0, ...left })
      if (gap === undefined) return
      written.push(gap)
      gaps.wrote(gap)
    },
    wait(ms) {
      now += ms
    },
  }
}

test('whatever is left out is covered by a record about it', () => {
  const LEFT = fc.record({
    namespace: fc.constantFrom('a', 'b', null),
    user: fc.constantFrom(...Array.from({ length: 30 }, (_, index) => `user-${index}`)),
    cause: fc.constantFrom('share' as const, 'unreadable' as const),
    at: fc.integer({ min: 0, max: 20 * GAP_MS }),
  })
  fc.assert(
    fc.property(fc.array(LEFT, { maxLength: 300 }), (all) => {
      const { written, leaveOut } = rig()
      for (const left of all) {
        leaveOut(left)
        const isCovered = written.some((gap) => {
          const isOf = gap.namespace === null || gap.namespace === left.namespace
          const isHis = gap.user === null || gap.user === left.user
          return (
            isOf && isHis && gap.from <= left.at && left.at < gap.to && gap.cause === left.cause
          )
        })
        ok(isCovered, JSON.stringify(left))
      }
      equal(new Set(written.map((gap) => JSON.stringify(gap))).size, written.length)
    }),
  )
})

test('a thousand users of one five minutes are twenty records and one for all of them', () => {
  const { written, leaveOut } = rig()
  for (let each = 0; each < 1_000; each++) leaveOut({ user: `u-${each}` })
  equal(written.length, 21)
})

test('a hundred thousand moments are five thousand records a day and one for all times', () => {
  const { written, leaveOut, wait } = rig()
  for (let each = 0; each < 100_000; each++) leaveOut({ at: each * GAP_MS })
  equal(written.length, 5_001)
  equal(written.at(-1)?.from, 0)
  wait(DAY_MS)
  leaveOut({ at: 7 * GAP_MS })
  equal(written.length, 5_002)
})
