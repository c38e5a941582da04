/** However many streams one client opens, another one gets some, and all of them together are bounded. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { MOST_STREAMS, StreamLimit } from './stream-limit.ts'

function takeAll(limit: StreamLimit, client: string): Disposable[] {
  const taken: Disposable[] = []
  for (let one = limit.take(client); one !== undefined; one = limit.take(client)) taken.push(one)
  return taken
}

test('no client has more than half of what the others have left', () => {
  const limit = new StreamLimit()
  const clients = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
  const shares = clients.map((client) => takeAll(limit, client).length)
  deepEqual(shares, [32, 16, 8, 4, 2, 1, 0, 0])
  ok(limit.open < MOST_STREAMS)
})

test('what is given back is there for anybody, once', () => {
  const limit = new StreamLimit()
  for (const stream of takeAll(limit, 'a')) stream[Symbol.dispose]()
  equal(limit.open, 0)
  equal(takeAll(limit, 'b').length, MOST_STREAMS / 2)
})
