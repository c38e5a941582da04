/**
 * However many streams and clients there are, who has few gets one, and all together are bounded
 * (T14).
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../../adapters/memory/clock.ts'
import { holderOf, OPERATORS, sourceOf, USERS } from '../http/client.ts'
import type { Problem } from '../http/problem.ts'
import { Cuts } from './cuts.ts'
import type { Holder } from './grouped-shares.ts'
import { MOST_STREAMS, Streams } from './streams.ts'

const user = (name: string): Holder => ({ group: USERS, name })
const OPERATOR: Holder = { group: OPERATORS, name: 'at 10.0.0.1' }

function rig() {
  const cuts = new Cuts(new ManualClock())
  const streams = new Streams(cuts)
  /** Clients whose stream ended for another one, in that order. */
  const ended: string[] = []
  const reasons: Problem[] = []
  const take = (client: Holder): Disposable | undefined =>
    streams.take(client, (reason) => {
      ended.push(client.name)
      reasons.push(reason)
    })
  const fill = (client: Holder, count: number): (Disposable | undefined)[] =>
    Array.from({ length: count }, () => take(client))
  return { cuts, streams, ended, reasons, take, fill }
}

test('T14: six clients that take all leave the seventh one, and an operator, theirs', () => {
  const { streams, ended, reasons, fill, take, cuts } = rig()
  for (const [index, count] of [32, 16, 8, 4, 2, 2].entries()) fill(user(`u${index}`), count)
  equal(streams.open, MOST_STREAMS)
  ok(take(user('seventh')))
  ok(take(OPERATOR))
  deepEqual(ended, ['u0', 'u0'])
  deepEqual(
    reasons.map(({ status }) => status),
    [429, 429],
  )
  match(reasons[0]?.message ?? '', /go on behind the last line/)
  equal(streams.open, MOST_STREAMS)
  equal(cuts.of('streams', `${USERS} u0`)?.count, 2)
})

test('T14: users without end leave operators their sixteen, and each other one', () => {
  const { streams, fill, take } = rig()
  for (let index = 0; index < 2 * MOST_STREAMS; index++) take(user(`u${index}`))
  equal(streams.open, MOST_STREAMS)
  equal(fill(OPERATOR, 16).filter((each) => each !== undefined).length, 16)
  equal(streams.open, MOST_STREAMS)
})

test('T14: one account after another of one namespace is one client', () => {
  const { fill, take, ended } = rig()
  fill(user(holderOf({ name: 'ann' })), 8)
  for (let index = 0; index < 10 * MOST_STREAMS; index++) {
    take(user(holderOf({ name: `system:serviceaccount:evil:a${index}` })))
  }
  ok(take(user(holderOf({ name: 'system:serviceaccount:good:a1' }))))
  ok(take(user(holderOf({ name: 'ann' }))))
  deepEqual(new Set(ended), new Set(['accounts of evil']))
})

test('who may name itself like an account of a namespace is none', () => {
  equal(holderOf({ name: 'accounts of good' }), 'user accounts of good')
  equal(holderOf({ name: 'system:serviceaccount:good' }), 'user system:serviceaccount:good')
  equal(holderOf({ name: 'oidc:system:serviceaccount:a:b' }), 'user oidc:system:serviceaccount:a:b')
})

test('the oldest of the largest ends, once, and a client that has most is refused', () => {
  const { streams, fill, take, ended } = rig()
  const [first, second] = fill(user('a'), MOST_STREAMS)
  equal(take(user('a')), undefined)
  ok(take(user('b')))
  deepEqual(ended, ['a'])
  first?.[Symbol.dispose]()
  equal(streams.open, MOST_STREAMS)
  second?.[Symbol.dispose]()
  second?.[Symbol.dispose]()
  equal(streams.open, MOST_STREAMS - 1)
  ok(take(user('a')))
})

test('addresses of one machine are one source', () => {
  equal(sourceOf('10.1.2.3'), '10.1.2.3')
  equal(sourceOf('::ffff:10.1.2.3'), '10.1.2.3')
  equal(sourceOf('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64')
  equal(sourceOf('2001:0db8:1:2::7'), sourceOf('2001:db8:1:2:ffff::'))
  equal(sourceOf('::1'), '0:0:0:0::/64')
  equal(sourceOf('fe80::1%eth0'), 'fe80:0:0:0::/64')
})
