/** For how long an answer of a cluster counts, and that nobody is let in without one. */
import { deepEqual, equal, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../adapters/memory/clock.ts'
import { type Access, type Review, ReviewError, type User } from '../ports/review.ts'
import { AUDIENCE, createAuthority } from './authority.ts'

const ANN: User = { name: 'ann', uid: '1', groups: ['g'], extra: {} }
const GET: Access = { verb: 'get', group: '', resource: 'pods', namespace: 'ns', name: '' }
const HEADER = 'Bearer a-token-of-ann'

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
  deepEqual(await authority.identify(HEADER, false), ANN)
  state.user = null
  await clock.advance(59_999)
  deepEqual(await authority.identify(HEADER, false), ANN)
  await clock.advance(2)
  equal(await authority.identify(HEADER, false), undefined)
  deepEqual(asked, Array(2).fill(`one who a-token-of-ann ${AUDIENCE}`))
})

test('whom it does not know is refused for 30 s', async () => {
  const { authority, asked, clock, state } = rig()
  state.user = null
  equal(await authority.identify(HEADER, false), undefined)
  state.user = ANN
  await clock.advance(29_999)
  equal(await authority.identify(HEADER, false), undefined)
  await clock.advance(2)
  deepEqual(await authority.identify(HEADER, false), ANN)
  equal(asked.length, 2)
})

test('what changes anything is asked for anew', async () => {
  const { authority, state } = rig()
  deepEqual(await authority.identify(HEADER, false), ANN)
  equal(await authority.may(ANN, null, GET, false), true)
  state.user = null
  state.allowed = false
  equal(await authority.identify(HEADER, true), undefined)
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
    equal(await authority.identify(header, false), undefined)
  }
  deepEqual(asked, [])
  state.isDown = true
  const isTold = {
    status: 503,
    message: /no cluster can say just now who may ask here: it is away/,
  }
  await rejects(authority.identify(HEADER, false), isTold)
  await rejects(authority.may(ANN, null, GET, false), isTold)
})
