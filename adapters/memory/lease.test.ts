/** The memory lease: one holder at a time, in the order asked, with growing epochs. */
import { equal, ok, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryLease } from './lease.ts'

const never = new AbortController().signal

test('each holder gets a higher epoch than the last and than what is known', async () => {
  const lease = new MemoryLease()
  const first = await lease.acquire('c', 0, never)
  await first[Symbol.asyncDispose]()
  const second = await lease.acquire('c', 41, never)
  await second[Symbol.asyncDispose]()
  const third = await lease.acquire('c', 7, never)
  equal(first.epoch, 1)
  equal(second.epoch, 42)
  equal(third.epoch, 43)
})

test('a second caller waits, and one that gives up waiting does not bar the third', async () => {
  const lease = new MemoryLease()
  const held = await lease.acquire('c', 0, never)
  const impatient = new AbortController()
  const second = lease.acquire('c', 0, impatient.signal)
  let third = false
  const waiting = lease.acquire('c', 0, never).then((mine) => {
    third = true
    return mine
  })
  impatient.abort(new Error('enough'))
  await rejects(second, /enough/)
  equal(third, false)
  await held[Symbol.asyncDispose]()
  ok((await waiting).epoch > held.epoch)
})

test('a revoked holder is told', async () => {
  const lease = new MemoryLease()
  const held = await lease.acquire('c', 0, never)
  lease.revoke('c')
  equal(held.lost.aborted, true)
})
