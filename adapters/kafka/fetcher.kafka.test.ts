/** What a read fetches: whole pages for a reader that reads on, one batch for a single entry. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { systemClock } from '../../runtime/clock.ts'
import { type Kafka, startKafka } from '../../testing/kafka/broker.ts'
import { missingKafka } from '../../testing/kafka/jars.ts'
import { makeTopic } from '../../testing/kafka/records.ts'
import { Fetcher } from './fetcher.ts'
import { type Link, openLink } from './inside.ts'

const TRANSACTIONS = 12
const VALUE = Buffer.alloc(20_000, 7)

suite('a fetcher', { skip: missingKafka() ?? false }, () => {
  let kafka: Kafka
  let topic: string
  let fetched: number[] = []
  const fetcher = new Fetcher(counted, systemClock())

  before(async () => {
    kafka = await startKafka()
    topic = `${kafka.application}.fetcher`
    await makeTopic(kafka.client(), topic)
    const producer = kafka.client().producer({ transactionalId: topic, maxInFlightRequests: 1 })
    await producer.connect()
    // Each one lies between two markers.
    for (let each = 0; each < TRANSACTIONS; each++) {
      const transaction = await producer.transaction()
      const messages = [0, 1].map((n) => ({ key: `${each}-${n}`, value: VALUE, partition: 0 }))
      await transaction.send({ topic, messages })
      await transaction.commit()
    }
    await producer.disconnect()
  })
  after(async () => {
    await fetcher[Symbol.asyncDispose]()
    await kafka?.[Symbol.asyncDispose]()
  })

  async function counted(): Promise<Link> {
    const { bootstrap: brokers, application } = kafka
    const link = openLink({ brokers, application, compression: 'none' }, 'fetcher')
    await link.connect([topic])
    const send: Link['send'] = async (...asked) => {
      const answer = await link.send(...asked)
      fetched.push(answer.length)
      return answer
    }
    return Object.assign(Object.create(link) as Link, {
      send,
      broker: async (id: number) => await link.broker(id),
      leaderOf: (name: string, partition: number) => link.leaderOf(name, partition),
      refresh: async () => await link.refresh(),
      [Symbol.asyncDispose]: async () => await link[Symbol.asyncDispose](),
    })
  }

  test('looks at a place for one batch, also behind a marker, and keeps nothing of it', async () => {
    fetched = []
    const keys: (string | undefined)[] = []
    // The third of each three offsets is a marker.
    for (const from of [0n, 1n, 2n, 3n, 30n, 32n]) {
      const { entries } = await fetcher.read({ topic, partition: 0, from, limit: 1, waitMs: 0 })
      keys.push(entries[0]?.key)
    }
    deepEqual(keys, ['0-0', '0-1', '1-0', '1-0', '10-0', '11-0'])
    ok(Math.max(...fetched) < 3 * VALUE.length, `${fetched}`)
    equal(fetched.length, 6 + 2)
  })

  test('reads on from what it has fetched', async () => {
    fetched = []
    let from = 0n
    let count = 0
    while (count < 2 * TRANSACTIONS) {
      const page = await fetcher.read({ topic, partition: 0, from, limit: 5, waitMs: 0 })
      count += page.entries.length
      from = page.next
    }
    equal(fetched.length, 1)
  })
})
