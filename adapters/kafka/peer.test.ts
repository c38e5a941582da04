/** Whom a process watches, and when it takes that one for dead. */
import { deepEqual, equal } from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { PeerWatch, peerOf } from './peer.ts'

const LIMIT_MS = 2_000

test('each process is watched by one other, whatever their order', () => {
  const members = ['c', 'a', 'b'].map((id) => ({ id, url: `http://${id}` }))
  const watched = members.map(({ url }) => peerOf(url, members)?.id)
  deepEqual(watched, ['a', 'b', 'c'])
  equal(peerOf('http://a', members.slice(1, 2)), undefined)
  equal(peerOf('http://a', []), undefined)
  equal(peerOf('http://other', members), undefined)
})

test('who never listened, or cannot be asked, is not gone', async () => {
  const port = await freePort()
  for (const url of ['', 'no url', 'http://name.invalid:1', `http://127.0.0.1:${port}`]) {
    const watch = new PeerWatch(LIMIT_MS)
    watch.watch({ id: 'a', url })
    for (let times = 0; times < 5; times++) equal(await watch.look(), undefined)
  }
})

test('who listened is gone once its port has refused three times in a row', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const peer = { id: 'a', url: `http://127.0.0.1:${port}` }
  const watch = new PeerWatch(LIMIT_MS)
  watch.watch(peer)
  equal(await watch.look(), undefined)
  equal(watch.isDoubted, false)
  server.close()
  await once(server, 'close')
  equal(await watch.look(), undefined)
  equal(watch.isDoubted, true)
  equal(await watch.look(), undefined)
  // The same one, reported again.
  watch.watch({ ...peer })
  deepEqual(await watch.look(), peer)
  equal(watch.isDoubted, false, 'it is said once, and doubted anew')
  // Another process at this address has to be seen first.
  watch.watch({ ...peer, id: 'b' })
  for (let times = 0; times < 5; times++) equal(await watch.look(), undefined)
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
