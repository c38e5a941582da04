/**
 * Offsets that are asked for at once are one request to each broker, and each partition has its own
 * answer, or its own failure.
 */
import { deepEqual, equal, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type BrokerError, CODE, isPassing } from './failure.ts'
import type { Link, Request } from './inside.ts'
import { OffsetRequests } from './offset-requests.ts'
import { EARLIEST, LATEST } from './protocol/list-offsets.ts'
import { Reader, Writer } from './protocol/wire.ts'

interface Sent {
  readonly broker: number
  readonly asked: readonly (readonly [topic: string, partition: number, timestamp: number])[]
}

/** Partitions are led by the brokers 0 and 1 in turn. */
class Brokers {
  readonly sent: Sent[] = []
  readonly codes = new Map<string, number>()
  leaderOf = (_topic: string, partition: number): number | undefined => partition % 2
  failure: Error | undefined

  get link(): Link {
    return {
      leaderOf: (topic: string, partition: number) => this.leaderOf(topic, partition),
      broker: async (nodeId: number) => ({ nodeId }),
      send: async ({ nodeId }: { nodeId: number }, request: Request) => {
        if (this.failure !== undefined) throw this.failure
        return this.#answer(nodeId, request)
      },
    } as unknown as Link
  }

  #answer(broker: number, { apiKey, apiVersion, body }: Request): Buffer {
    deepEqual([apiKey, apiVersion], [2, 2])
    const read = new Reader(body)
    deepEqual([read.int32(), read.int8()], [-1, 1])
    const asked: [string, number, number][] = []
    const topics = read.int32()
    const out = new Writer().int32(0).int32(topics)
    for (let left = topics; left > 0; left--) {
      const topic = read.text()
      const partitions = read.int32()
      out.text(topic).int32(partitions)
      for (let each = partitions; each > 0; each--) {
        const [partition, timestamp] = [read.int32(), Number(read.int64())]
        asked.push([topic, partition, timestamp])
        const offset = timestamp === EARLIEST ? 1n : timestamp === LATEST ? 100n : -1n
        const code = this.codes.get(`${topic}/${partition}`) ?? CODE.none
        out.int32(partition).int16(code).int64(0n)
        out.int64(offset < 0n ? offset : offset + BigInt(partition))
      }
    }
    equal(read.left, 0)
    this.sent.push({ broker, asked })
    return out.written
  }
}

test('offsets of all partitions and topics are one request to each broker', async () => {
  const brokers = new Brokers()
  const offsets = new OffsetRequests(brokers.link)
  const asked = ['history', 'lineage'].flatMap((topic) =>
    [0, 1, 2].map((partition) => ({ topic, partition, timestamp: LATEST })),
  )
  const found = await Promise.all(asked.map((each) => offsets.ask(each)))
  deepEqual(found, [100n, 101n, 102n, 100n, 101n, 102n])
  deepEqual(
    brokers.sent.map(({ broker, asked: all }) => [broker, all.length]),
    [
      [0, 4],
      [1, 2],
    ],
  )
})

test('offsets that are asked for by several in one turn of the event loop are gathered', async () => {
  const brokers = new Brokers()
  const offsets = new OffsetRequests(brokers.link)
  const later = async (partition: number): Promise<bigint | undefined> => {
    for (let each = 0; each < 20; each++) await undefined
    return await offsets.ask({ topic: 't', partition, timestamp: LATEST })
  }
  const first = offsets.ask({ topic: 't', partition: 0, timestamp: LATEST })
  deepEqual(await Promise.all([first, later(2), later(0)]), [100n, 102n, 100n])
  equal(brokers.sent.length, 1)
  equal(brokers.sent[0]?.asked.length, 2)
})

test('both ends of a partition are two requests: a broker takes it once in each', async () => {
  const brokers = new Brokers()
  const offsets = new OffsetRequests(brokers.link)
  const both = [0, 2].flatMap((partition) =>
    [EARLIEST, LATEST].map((timestamp) => offsets.ask({ topic: 't', partition, timestamp })),
  )
  deepEqual(await Promise.all(both), [1n, 100n, 3n, 102n])
  deepEqual(
    brokers.sent.map(({ asked }) => asked.map(([, partition]) => partition)),
    [
      [0, 2],
      [0, 2],
    ],
  )
})

test('who asks after a request was sent is in the next one', async () => {
  const brokers = new Brokers()
  const offsets = new OffsetRequests(brokers.link)
  const first = offsets.ask({ topic: 't', partition: 0, timestamp: LATEST })
  while (brokers.sent.length === 0) await setImmediate()
  const second = offsets.ask({ topic: 't', partition: 0, timestamp: LATEST })
  deepEqual(await Promise.all([first, second]), [100n, 100n])
  equal(brokers.sent.length, 2)
})

test('a time after the last record has no offset', async () => {
  const offsets = new OffsetRequests(new Brokers().link)
  equal(await offsets.ask({ topic: 't', partition: 0, timestamp: 1_000 }), undefined)
})

test('a partition that is refused fails alone, with the name of its topic', async () => {
  const brokers = new Brokers()
  brokers.codes.set('other/0', CODE.topicAuthorization).set('moved/0', CODE.notLeader)
  const offsets = new OffsetRequests(brokers.link)
  const ask = (topic: string) => offsets.ask({ topic, partition: 0, timestamp: LATEST })
  const [own, other, moved] = await Promise.allSettled([ask('own'), ask('other'), ask('moved')])
  deepEqual(own, { status: 'fulfilled', value: 100n })
  equal(brokers.sent.length, 1)
  const reasonOf = (each: PromiseSettledResult<unknown>): BrokerError =>
    (each as PromiseRejectedResult).reason as BrokerError
  const { code, what } = reasonOf(other)
  deepEqual([code, what], [CODE.topicAuthorization, 'asking for the offsets of other'])
  equal(isPassing(reasonOf(moved)), true)
})

test('a partition without a leader fails alone, and may be asked for again', async () => {
  const brokers = new Brokers()
  brokers.leaderOf = (_, partition) => (partition === 1 ? undefined : 0)
  const offsets = new OffsetRequests(brokers.link)
  const ask = (partition: number) => offsets.ask({ topic: 't', partition, timestamp: LATEST })
  const [found, none] = await Promise.allSettled([ask(0), ask(1)])
  equal(found.status, 'fulfilled')
  equal(none.status === 'rejected' && isPassing(none.reason), true)
  brokers.leaderOf = () => 1
  equal(await ask(1), 101n)
})

test('a connection that fails is the failure of all that asked over it', async () => {
  const brokers = new Brokers()
  brokers.failure = new Error('the connection ended')
  const offsets = new OffsetRequests(brokers.link)
  const asked = [0, 2].map((partition) => offsets.ask({ topic: 't', partition, timestamp: LATEST }))
  for (const each of asked) await rejects(each, /the connection ended/)
})
