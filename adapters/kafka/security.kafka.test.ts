/**
 * The log over every login that it supports: written records are read, and an unknown user gets an
 * error that says so.
 */
import { deepEqual, rejects } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, suite, test } from 'node:test'
import { systemClock } from '../../runtime/clock.ts'
import { eventually } from '../../testing/eventually.ts'
import { allow } from '../../testing/kafka/acl.ts'
import { type Kafka, startKafka } from '../../testing/kafka/broker.ts'
import { missingKafka } from '../../testing/kafka/jars.ts'
import { type KafkaLog, openKafkaLog } from './log.ts'
import type { KafkaSasl, KafkaSettings } from './settings.ts'

let byPassword: Kafka
let byCertificate: Kafka

suite('the log on brokers with security', { skip: missingKafka({ own: true }) ?? false }, () => {
  before(async () => {
    const shared = { tls: true, acls: true, users: ['ann', 'bob'] } as const
    const logins = ['scram-sha-512', 'plain', 'oauthbearer'] as const
    byPassword = await startKafka({ security: { ...shared, logins } })
    byCertificate = await startKafka({ security: { ...shared, logins: ['certificate'] } })
    for (const kafka of [byPassword, byCertificate]) {
      await allow(
        kafka,
        { user: 'ann', on: 'TOPIC', name: 'anns*', operations: ['ALL'] },
        { user: 'ann', on: 'TRANSACTIONAL_ID', name: 'anns*', operations: ['WRITE'] },
      )
    }
  })
  after(async () => {
    await Promise.all([byPassword, byCertificate].map((each) => each?.[Symbol.asyncDispose]()))
  })

  for (const mechanism of ['scram-sha-512', 'plain', 'oauthbearer', 'certificate'] as const) {
    test(`works by ${mechanism}`, async () => {
      await using log = await open('ann', mechanism)
      await works(log)
    })
  }

  test('asks for a token at every login', async () => {
    let asked = 0
    const token = async (): Promise<string> => {
      asked += 1
      return byPassword.security.tokenOf('ann')
    }
    const sasl = { mechanism: 'oauthbearer', token } as const
    await using log = await openAs(byPassword, { sasl }, 'anns-tokens')
    await works(log)
    deepEqual(asked > 1, true, `${asked} times`)
  })

  test('is refused who has no certificate', async () => {
    await rejects(openAs(byCertificate, {}, 'anns'), { name: 'LogError' })
  })

  test('is refused who may do nothing, by the name of what was asked for', async () => {
    await rejects(open('bob', 'certificate'), {
      code: 'INVALID',
      message: /this account lacks a right \(looking at the topic anns-certificate\.\w+/,
    })
  })
})

async function works(log: KafkaLog): Promise<void> {
  await log.append('events', 0, [{ key: 'one', value: Buffer.from('1') }])
  await using task = await log.openTask(0)
  await task.commit({ outputs: [], changelog: [{ key: 'two', value: Buffer.from('2') }] })
  let keys: readonly (string | null)[] = []
  // A page may be empty: a broker that is new to the topic first returns the leader.
  await eventually('what was appended is read', async () => {
    const { entries } = await log.read('events', 0, 0n, { limit: 10, waitMs: 5_000 })
    keys = entries.map(({ key }) => key)
    return keys.length > 0
  })
  deepEqual(keys, ['one'])
}

async function open(
  user: string,
  login: 'scram-sha-512' | 'plain' | 'oauthbearer' | 'certificate',
): Promise<KafkaLog> {
  const application = `anns-${login}`
  if (login === 'certificate') {
    const { certificateFile, keyFile } = byCertificate.security.certificateOf(user)
    const [cert, key] = [readFileSync(certificateFile, 'utf8'), readFileSync(keyFile, 'utf8')]
    return await openAs(byCertificate, { cert, key }, application)
  }
  const { security } = byPassword
  const sasl: KafkaSasl =
    login === 'oauthbearer'
      ? { mechanism: login, token: async () => security.tokenOf(user) }
      : { mechanism: login, username: user, password: security.passwordOf(user) }
  return await openAs(byPassword, { sasl }, application)
}

async function openAs(
  { bootstrap: brokers, security }: Kafka,
  { cert = null, key = null, sasl }: Login,
  application: string,
): Promise<KafkaLog> {
  const tls = { ca: readFileSync(security.caFile, 'utf8'), cert, key }
  const settings: KafkaSettings = { brokers, application, tls, sasl, compression: 'zstd' }
  const clock = systemClock()
  return await openKafkaLog({ settings, clientId: 'security', mayCreate: true, clock })
}

interface Login {
  readonly cert?: string | null
  readonly key?: string | null
  readonly sasl?: KafkaSasl
}
