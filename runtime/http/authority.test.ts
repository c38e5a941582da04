/** For how long an answer of a cluster counts, and that no user is let in without one. */
import { deepEqual, equal, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../../adapters/memory/clock.ts'
import { type Access, type Review, ReviewError, type User } from '../../ports/review.ts'
import { AUDIENCE, createAuthority } from './authority.ts'

const ANN: User = { name: 'ann', uid: '1', groups: ['g'], extra: {} }
const GET: Access = { verb: 'get', group: '', resource: 'pods', namespace: 'ns', name: '' }
const SHOWN = { authorization: 'Bearer a-token-of-ann', source: '10.0.0.1' }

function rig() {
  const clock = new ManualClock()
  const asked: string[] = []
  const state = { user: ANN as User | null, allowed: true, isDown: false }
  const review = (id: string): Review => ({
    identify: async () => id,
    async authenticate(token, audience) {
      asked.push(`${id} who ${token} ${audience}`)
      if (state.isDown) throw new ReviewError('it is away')
      return state.user
    },
    async mayDo(user, access) {
      asked.push(`${id} may ${user.name} ${access.verb}`)
      if (state.isDown) throw new ReviewError('it is away')
      return state.allowed
    },
  })
  const authority = createAuthority({ reviews: [review('one'), review('two')], clock })
  return { clock, asked, state, authority }
}

test('whom a cluster knows is let in for 60 s on its word, and asked for with our audience', async () => {
  const { authority, asked, clock, state } = rig()
  deepEqual(await authority.identify(SHOWN, false), ANN)
  state.user = null
  await clock.advance(59_999)
  deepEqual(await authority.identify(SHOWN, false), ANN)
  await clock.advance(2)
  equal(await authority.identify(SHOWN, false), undefined)
  deepEqual(asked, Array(2).fill(`one who a-token-of-ann ${AUDIENCE}`))
})

test('whom it does not know is refused for 30 s', async () => {
  const { authority, asked, clock, state } = rig()
  state.user = null
  equal(await authority.identify(SHOWN, false), undefined)
  state.user = ANN
  await clock.advance(29_999)
  equal(await authority.identify(SHOWN, false), undefined)
  await clock.advance(2)
  deepEqual(await authority.identify(SHOWN, false), ANN)
  equal(asked.length, 2)
})

test('what changes anything is asked for anew', async () => {
  const { authority, state } = rig()
  deepEqual(await authority.identify(SHOWN, false), ANN)
  equal(await authority.may(ANN, null, GET, false), true)
  state.user = null
  state.allowed = false
  equal(await authority.identify(SHOWN, true), undefined)
  equal(await authority.may(ANN, null, GET, true), false)
  equal(await authority.may(ANN, null, GET, false), false)
})

test('rights are asked of the cluster that they are for, and of an unknown one there are none', async () => {
  const { authority, asked } = rig()
  equal(await authority.may(ANN, 'two', GET, false), true)
  equal(await authority.may(ANN, 'three', GET, false), false)
  deepEqual(asked, ['two may ann get'])
})

test('who shows no token is nobody, and while the cluster is away nobody is let in', async () => {
  const { authority, asked, state } = rig()
  for (const header of [undefined, '', 'Basic abc', 'Bearer ', `Bearer ${'x'.repeat(9_000)}`]) {
    equal(await authority.identify({ authorization: header, source: 'a' }, false), undefined)
  }
  deepEqual(asked, [])
  state.isDown = true
  const isTold = {
    status: 503,
    message: /no cluster can say just now who may ask here: it is away/,
  }
  await rejects(authority.identify(SHOWN, false), isTold)
  await rejects(authority.may(ANN, null, GET, false), isTold)
})

test('T15: a cluster that is silent costs who asks about another one nothing', async () => {
  const clock = new ManualClock()
  const silent = Promise.withResolvers<never>()
  const asked: string[] = []
  const review = (id: string, identify: () => Promise<string>): Review => ({
    identify,
    authenticate: async () => ANN,
    async mayDo() {
      asked.push(id)
      return true
    },
  })
  const authority = createAuthority({
    reviews: [
      review('a', async () => 'a'),
      review('b', async () => await silent.promise),
      review('c', async () => 'c'),
    ],
    clock,
  })
  // Both end though the promise of b never does.
  equal(await authority.may(ANN, 'c', GET, false), true)
  equal(await authority.may(ANN, 'a', GET, true), true)
  deepEqual(asked, ['c', 'a'])
  silent.reject(new ReviewError('silent'))
  equal(await authority.may(ANN, 'b', GET, false), false)
})

test('a cluster whose address leads to another one later is asked no more about the former', async () => {
  const clock = new ManualClock()
  let id = 'old'
  const review: Review = {
    identify: async () => id,
    authenticate: async () => ANN,
    mayDo: async () => true,
  }
  const authority = createAuthority({ reviews: [review], clock })
  equal(await authority.may(ANN, 'old', GET, true), true)
  id = 'new'
  await clock.advance(60_000)
  await authority.may(ANN, 'old', GET, true)
  equal(await authority.may(ANN, 'old', GET, true), false)
  equal(await authority.may(ANN, 'new', GET, true), true)
})

test('a user who asks about everything makes nobody else forget a right', async () => {
  const { authority, asked } = rig()
  const eve = { ...ANN, name: 'eve' }
  equal(await authority.may(ANN, 'one', GET, false), true)
  for (let index = 0; index < 10_100; index++) {
    await authority.may(eve, 'one', { ...GET, namespace: `ns-${index}` }, false)
  }
  const before = asked.length
  equal(await authority.may(ANN, 'one', GET, false), true)
  equal(asked.length, before)
})

test('a namespace with thousands of accounts makes nobody else forget a right', async () => {
  const { authority, asked } = rig()
  for (let index = 0; index < 50; index++) {
    await authority.may(ANN, 'one', { ...GET, namespace: `ns-${index}` }, false)
  }
  for (let index = 0; index < 10_100; index++) {
    const account = { ...ANN, name: `system:serviceaccount:evil:a${index}` }
    await authority.may(account, 'one', GET, false)
  }
  const before = asked.length
  equal(await authority.may(ANN, 'one', { ...GET, namespace: 'ns-0' }, false), true)
  equal(asked.length, before)
})

test('users who differ in one group among thousands have no right of each other', async () => {
  const { authority, state } = rig()
  const groups = Array.from({ length: 5_000 }, (_, index) => `group-${index}`)
  equal(await authority.may({ ...ANN, groups }, 'one', GET, false), true)
  state.allowed = false
  equal(await authority.may({ ...ANN, groups }, 'one', GET, false), true)
  equal(await authority.may({ ...ANN, groups: groups.with(4_999, 'x') }, 'one', GET, false), false)
})
