/**
 * Which fields of a review's answer admit a user: only all of them together; and no error contains
 * the token.
 */
import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import type { Exchange, ExchangeRequest } from '../../ports/exchange.ts'
import { ReviewError } from '../../ports/review.ts'
import { kubernetesReview } from './review.ts'

const TOKEN = 'a-very-secret-token'
const USER = { username: 'ann', uid: '1', groups: ['g', 7], extra: { key: ['v'] } }
const GOOD = { authenticated: true, audiences: ['kinfold'], user: USER }
const { signal } = new AbortController()

function answering(status: number, body: unknown, sent: ExchangeRequest[] = []) {
  const exchange: Exchange = {
    async request(request) {
      sent.push(request)
      const bytes = new TextEncoder().encode(JSON.stringify(body))
      async function* chunks(): AsyncGenerator<Uint8Array> {
        yield bytes
      }
      return { status, headers: { 'content-type': 'application/json' }, body: chunks() }
    },
    [Symbol.asyncDispose]: async () => undefined,
  }
  return kubernetesReview(exchange, { identify: async () => 'id' })
}

test('a user whom the server authenticated for our audience is let in', async () => {
  const sent: ExchangeRequest[] = []
  const user = await answering(201, { status: GOOD }, sent).authenticate(TOKEN, 'kinfold', signal)
  deepEqual(user, { name: 'ann', uid: '1', groups: ['g'], extra: { key: ['v'] } })
  const [request] = sent
  deepEqual(JSON.parse(request?.body ?? '').spec, { token: TOKEN, audiences: ['kinfold'] })
  ok(!request?.path.includes(TOKEN) && !JSON.stringify(request?.headers).includes(TOKEN))
})

const nobody: readonly (readonly [string, object])[] = [
  ['is not authenticated', { ...GOOD, authenticated: false }],
  ['is authenticated by a text', { ...GOOD, authenticated: 'true' }],
  ['is known to a server that knows no audiences', { authenticated: true, user: USER }],
  ['is known for another audience', { ...GOOD, audiences: ['https://kubernetes.default.svc'] }],
  ['has no name', { ...GOOD, user: { ...USER, username: '' } }],
  ['is anybody', { ...GOOD, user: { ...USER, username: 'system:anonymous' } }],
  ['is missing', { ...GOOD, user: undefined }],
]

for (const [what, status] of nobody) {
  test(`a user who ${what} is nobody`, async () => {
    equal(await answering(201, { status }).authenticate(TOKEN, 'kinfold', signal), null)
  })
}

for (const [status, body] of [
  [403, { kind: 'Status' }],
  [500, {}],
  [201, {}],
  [201, 'no'],
] as const) {
  test(`an answer ${status} ${JSON.stringify(body)} is none, and its error has no token`, async () => {
    await rejects(answering(status, body).authenticate(TOKEN, 'kinfold', signal), (error) => {
      return error instanceof ReviewError && !error.message.includes(TOKEN)
    })
  })
}

const user = { name: 'ann', uid: '', groups: [], extra: {} }
const access = { verb: 'get', group: '', resource: 'pods', namespace: '', name: '' }

for (const [status, isAllowed] of [
  [{ allowed: true }, true],
  [{ allowed: true, denied: true }, false],
  [{ allowed: false }, false],
  [{ allowed: 'true' }, false],
] as const) {
  test(`${JSON.stringify(status)} ${isAllowed ? 'allows' : 'does not allow'}`, async () => {
    equal(await answering(201, { status }).mayDo(user, access, signal), isAllowed)
  })
}
