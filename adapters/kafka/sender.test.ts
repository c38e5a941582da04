/**
 * A retried deletion has its age at that time: the broker gives it the time of the try that
 * succeeded.
 */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../memory/clock.ts'
import type { Link } from './inside.ts'
import { Writer } from './protocol/wire.ts'
import { Sender } from './sender.ts'

test('a record that waits for a leader is sent as it is by then, and once', async () => {
  const clock = new ManualClock()
  let leader: number | undefined
  const sent: Buffer[] = []
  const broker = { initProducerId: async () => ({ producerId: '1', producerEpoch: 0 }) }
  const acknowledged = (): Buffer => {
    const out = new Writer(100)
    out.int32(1).text('events').int32(1).int32(0).int16(0)
    out.int64(0n).int64(-1n).int64(0n).int32(0)
    return out.written
  }
  const link = {
    leaderOf: () => leader,
    broker: async () => broker,
    controller: async () => broker,
    refresh: async () => undefined,
    send: async (_: unknown, request: { readonly body: Buffer }) => {
      sent.push(Buffer.from(request.body))
      return acknowledged()
    },
  } as unknown as Link
  const sender = new Sender({ link, compression: 'none', clock })
  let said = 'seen just now'
  const valueNow = (): Uint8Array => new TextEncoder().encode(said)
  const record = { key: 'a', value: valueNow(), valueNow }
  const appended = sender.append('events', 0, [record])
  for (let ms = 0; ms < 10_000; ms += 100) await clock.advance(100)
  said = 'seen long ago'
  leader = 1
  for (let ms = 0; ms < 2_000; ms += 100) await clock.advance(100)
  await appended
  deepEqual(
    sent.map((body) => [body.includes('seen long ago'), body.includes('seen just now')]),
    [[true, false]],
  )
})
