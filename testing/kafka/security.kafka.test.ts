/**
 * Shows that brokers with security admit the users that have access, no others, and only as far as
 * their rights allow.
 */
import { deepEqual, rejects } from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Kafka as Client, KafkaConfig, SASLOptions } from 'kafkajs'
import { allow } from './acl.ts'
import { type Kafka, startKafka } from './broker.ts'
import { missingKafka } from './jars.ts'
import { makeTopic, produce, readAll } from './records.ts'
import type { Login } from './security.ts'

const REFUSED = { name: 'KafkaJSSASLAuthenticationError' }
const NO_RETRY = { retry: { retries: 0 } }

let byPassword: Kafka
let byCertificate: Kafka

suite('brokers with security', { skip: missingKafka({ own: true }) ?? false }, () => {
  before(async () => {
    const shared = { tls: true, acls: true, users: ['ann', 'bob'] } as const
    byPassword = await startKafka({
      security: { ...shared, logins: ['scram-sha-512', 'plain', 'oauthbearer'] },
    })
    byCertificate = await startKafka({ security: { ...shared, logins: ['certificate'] } })
    for (const kafka of [byPassword, byCertificate]) await allowSome(kafka)
  })
  after(async () => {
    await byPassword?.[Symbol.asyncDispose]()
    await byCertificate?.[Symbol.asyncDispose]()
  })

  for (const login of ['scram-sha-512', 'plain', 'oauthbearer', 'certificate'] as const) {
    test(`let a user work who comes by ${login}`, async () => {
      const topic = `anns.${login}`
      const client = await clientOf('ann', login)
      await makeTopic(client, topic)
      await produce(client, topic, ['one'])
      deepEqual(await readAll(client, topic, 1), ['one'])
    })

    test(`refuse what a user was not allowed who comes by ${login}`, async () => {
      const client = await clientOf('bob', login)
      const sent = produce(client, `anns.${login}`, ['one'])
      await rejects(sent, isForbidden)
    })
  }

  for (const login of ['scram-sha-512', 'plain'] as const) {
    test(`refuse a wrong password by ${login}`, async () => {
      const password = byPassword.security.passwordOf('bob')
      const sasl = { mechanism: login, username: 'ann', password } as SASLOptions
      await rejects(connected(byPassword, { ...byPassword.security.trust(), sasl }), REFUSED)
    })
  }

  test('refuse a token that is over', async () => {
    const value = byPassword.security.tokenOf('ann', -3600)
    const oauthBearerProvider = async () => ({ value })
    const sasl = { mechanism: 'oauthbearer', oauthBearerProvider } as const
    // kafkajs treats the refusal as an acceptance, and only then finds the connection closed.
    await rejects(connected(byPassword, { ...byPassword.security.trust(), sasl }))
  })

  test('refuse who has no certificate', async () => {
    await rejects(connected(byCertificate, byCertificate.security.trust()))
  })

  test('are not believed by who does not know their authority', async () => {
    const { sasl } = await byPassword.security.login('ann')
    const stranger = connected(byPassword, { ssl: true, ...(sasl && { sasl }) })
    await rejects(stranger, /certificate/)
  })

  test('are not believed by another name', async () => {
    const brokers = byPassword.bootstrap.map((address) => address.replace('127.0.0.1', 'localhost'))
    const config = await byPassword.security.login('ann')
    await rejects(connected(byPassword, { ...config, brokers }), /altnames/)
  })

  test('hang up on who speaks without TLS', async () => {
    await rejects(connected(byPassword, {}))
  })
})

async function allowSome(kafka: Kafka): Promise<void> {
  const operations = ['CREATE', 'READ', 'WRITE', 'DESCRIBE'] as const
  const name = 'anns.*'
  await allow(
    kafka,
    { user: 'ann', on: 'TOPIC', name, operations },
    { user: 'ann', on: 'GROUP', name, operations: ['READ'] },
    // A user that may write nowhere is refused a step earlier, when the producer requests its id.
    { user: 'bob', on: 'TOPIC', name: 'bobs', operations: ['WRITE'] },
  )
}

async function clientOf(user: string, login: Login): Promise<Client> {
  const kafka = login === 'certificate' ? byCertificate : byPassword
  return kafka.client(await kafka.security.login(user, login))
}

/** kafkajs wraps some refusals, by when it meets them. */
function isForbidden({ type, cause }: { type?: string; cause?: { type?: string } }): boolean {
  return (type ?? cause?.type) === 'TOPIC_AUTHORIZATION_FAILED'
}

async function connected(kafka: Kafka, config: Partial<KafkaConfig>): Promise<void> {
  const admin = kafka.client({ ...config, ...NO_RETRY }).admin()
  try {
    await admin.connect()
    await admin.listTopics()
  } finally {
    await admin.disconnect()
  }
}
