/** A process that is asked answers, or it is told within the time why not: gone elsewhere, or of no use. */
import { deepEqual, match, rejects } from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createPeer, PeerError, type PeerErrorCode } from './peer.ts'

const RANGE = { gte: 'a', lt: 'b', limit: 10 }

/** Answers every request so; `undefined`: never. */
async function serve(t: TestContext, status: number, body: string | undefined): Promise<string> {
  const server = createServer((_request, response) => {
    response.writeHead(status, { location: '/elsewhere' })
    if (body !== undefined) response.end(body)
    else response.flushHeaders()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('values and pages come as they were', async (t) => {
  const peer = createPeer(() => undefined)
  const state = { state: 'folding', position: '12345678901234567890' }
  const value = Buffer.from([0, 255, 10])
  const values = [null, value.toString('base64'), '']
  const got = await serve(t, 200, JSON.stringify({ ...state, values }))
  const answer = await peer.get(got, 3, ['a', 'b', 'c', 'd'])
  deepEqual(answer.position, 12345678901234567890n)
  deepEqual(
    answer.values.map((each) => each && [...each]),
    [null, [0, 255, 10], []],
  )
  const entries = [['a/1', value.toString('base64')]]
  const paged = await serve(t, 200, JSON.stringify({ ...state, entries, isCut: true }))
  const page = await peer.page(paged, 3, RANGE)
  deepEqual([page.entries[0]?.[0], page.isCut, page.state], ['a/1', true, 'folding'])
})

const refusals: readonly [string, number, string | undefined, PeerErrorCode, RegExp][] = [
  ['has it no more', 409, '{}', 'MOVED', /does not have it any more/],
  ['wants another token', 401, '{}', 'UNREACHABLE', /answered 401: all graph processes need the/],
  ['fails', 500, 'oh', 'UNREACHABLE', /answered 500$/],
  ['sends elsewhere', 302, '', 'UNREACHABLE', /cannot be asked: /],
  ['never ends its answer', 200, undefined, 'UNREACHABLE', /cannot be asked: .*timeout/],
  ['speaks another language', 200, '<html>', 'UNREACHABLE', /cannot be asked: .*JSON/],
  ['answers something else', 200, '{"state":"folding"}', 'UNREACHABLE', /cannot be asked: /],
  ['answers null', 200, 'null', 'UNREACHABLE', /cannot be asked: /],
  [
    'answers nothing again and again',
    200,
    '{"state":"folding","position":"1","values":[],"entries":[],"isCut":true}',
    'UNREACHABLE',
    /cannot be asked: it answered /,
  ],
]

for (const [what, status, body, code, message] of refusals) {
  test(`a process that ${what} is told as ${code}`, async (t) => {
    const url = await serve(t, status, body)
    const peer = createPeer(() => undefined, 300)
    const isTold = (error: unknown): boolean => {
      match(String(error), message)
      return error instanceof PeerError && error.code === code
    }
    await rejects(peer.get(url, 0, ['k']), isTold)
    await rejects(peer.page(url, 0, RANGE), isTold)
    if (what !== 'answers nothing again and again') await rejects(peer.counts(url, 0), isTold)
  })
}

test('a process that is not there is told as UNREACHABLE', async () => {
  const peer = createPeer(() => undefined)
  await rejects(
    peer.get('http://127.0.0.1:1', 0, ['k']),
    (error) => error instanceof PeerError && error.code === 'UNREACHABLE',
  )
})
