/**
 * What a graph process writes with --cloud-events is CloudEvents to another program: the SDK of
 * that standard, over a real Kafka.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, suite, type TestContext, test } from 'node:test'
import { Kafka as Binding, CloudEvent } from 'cloudevents'
import type { IHeaders } from 'kafkajs'
import { openKafkaLog } from '../../adapters/kafka/log.ts'
import { POSITION_KEY } from '../../core/graph/key.ts'
import { systemClock } from '../../runtime/clock.ts'
import { withCloudEvents } from '../../services/graph/cloud-events.ts'
import { eventually } from '../../testing/eventually.ts'
import { type Kafka, startKafka } from '../../testing/kafka/broker.ts'
import { missingKafka } from '../../testing/kafka/jars.ts'
import { startKinfold } from '../../testing/process/kinfold-command.ts'
import { appendAll, codec, eventsOf } from '../../testing/rig/task-rig.ts'
import { SchemaRegistry } from '../../testing/schema-registry.ts'

const STORY = ['put deploy/web', 'put rs/a <- deploy/web', 'put rs/b']

interface Message {
  readonly key: string
  readonly value: Buffer | null
  readonly headers: Readonly<Record<string, string>>
}

suite('headers of CloudEvents over a real Kafka', { skip: missingKafka() ?? false }, () => {
  let kafka: Kafka
  before(async () => {
    kafka = await startKafka()
  })
  after(async () => await kafka?.[Symbol.asyncDispose]())

  for (const isRegistered of [false, true]) {
    test(`are valid${isRegistered ? ', with a registry' : ''}`, async (t) => {
      await using registry = await SchemaRegistry.start()
      const application = `${kafka.application}-events-${isRegistered}`
      const flags = isRegistered ? ['--schema-registry', registry.url] : []
      await fold(t, application, ['--cloud-events', ...flags])
      for (const topic of ['lineage', 'history'] as const) {
        const messages = await read(`${application}.${topic}`, 3)
        const events = messages.map(eventOf)
        for (const event of events) {
          ok(event.validate())
          equal(event.type, `dev.kinfold.${topic}.v1`)
          match(event.source, new RegExp(`^/applications/${application}/clusters/.`))
          equal(event.datacontenttype, 'application/vnd.apache.avro')
          match(event.subject ?? '', /^(Deployment|ReplicaSet)\.apps\//)
          ok(Date.parse(event.time ?? '') > 0)
          const schema = event.dataschema
          equal(schema === undefined, !isRegistered)
          if (schema !== undefined) {
            const answer = (await (await fetch(schema)).json()) as { readonly schema: string }
            equal(JSON.parse(answer.schema).name, topic === 'lineage' ? 'Lineage' : 'History')
          }
        }
        equal(new Set(events.map(({ id }) => id)).size, events.length)
        // The value is what it is without.
        deepEqual(
          messages.map(({ value }) => value?.[0]),
          messages.map(() => (isRegistered ? 0 : 0xc3)),
        )
      }
    })
  }

  test('are absent unless asked for', async (t) => {
    const application = `${kafka.application}-without`
    await fold(t, application, [])
    const [message] = await read(`${application}.lineage`, 1)
    deepEqual(message?.headers, {})
  })

  test('of a null value are an event without data', async () => {
    const application = `${kafka.application}-null`
    const plain = await logOf(application)
    await using log = withCloudEvents(plain, { codec, application, registry: undefined })
    await using task = await log.openTask(0)
    const position = codec.encode({
      ...{ type: 'Position', partition: 0, partitions: 1, position: 8n, state: '', outputs: '' },
      ...{ foldVersion: 1, last: '', inForce: [] },
    })
    await task.commit({
      outputs: [{ topic: 'lineage', partition: 0, records: [{ key: 'north/u', value: null }] }],
      changelog: [{ key: POSITION_KEY, value: position }],
    })
    const [message] = await read(`${application}.lineage`, 1)
    equal(message?.value, null)
    ok(Binding.isEvent({ ...message, body: null }))
    equal(message?.headers['ce_type'], 'dev.kinfold.lineage.forgotten.v1')
  })

  const logOf = async (application: string) =>
    await openKafkaLog({
      settings: { brokers: kafka.bootstrap, application, compression: 'zstd' },
      ...{ clientId: 'test', partitions: 1, mayCreate: true, clock: systemClock() },
    })

  /** Until a graph process has written lineage of all that is in the story. */
  const fold = async (
    t: TestContext,
    application: string,
    flags: readonly string[],
  ): Promise<void> => {
    await using log = await logOf(application)
    await appendAll(log, eventsOf(STORY))
    const folder = mkdtempSync(join(tmpdir(), 'kinfold-cloud-events-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const where = ['--brokers', kafka.bootstrap.join(), '--application', application]
    const own = ['--data', folder, '--http', '127.0.0.1:0', '--compression', 'none']
    const graph = startKinfold(['graph', ...where, ...own, ...flags])
    t.after(() => graph.child.kill('SIGKILL'))
    const output = [text(graph.child.stdout!), text(graph.child.stderr!)]
    await eventually('it has written lineage of three objects', async () => {
      const keys = new Set((await log.latest('lineage', 0)).map(({ key }) => key))
      return keys.size === 3 || `${keys.size} of 3`
    })
    graph.child.kill('SIGTERM')
    equal((await graph.ended).code, 0, (await Promise.all(output)).join('\n'))
  }

  /** The first ones, by kafkajs: another program than ours. */
  const read = async (topic: string, count: number): Promise<readonly Message[]> => {
    const consumer = kafka.client().consumer({ groupId: `${topic}.test`, maxWaitTimeInMs: 100 })
    await consumer.connect()
    const messages: Message[] = []
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      if (!payload.restart) reject(payload.error)
    })
    try {
      await consumer.subscribe({ topic, fromBeginning: true })
      await consumer.run({
        eachMessage: async ({ message: { key, value, headers } }) => {
          messages.push({ key: String(key), value, headers: textsOf(headers ?? {}) })
          if (messages.length >= count) resolve()
        },
      })
      await promise
      return messages
    } finally {
      await consumer.disconnect()
    }
  }
})

function eventOf(message: Message): CloudEvent<unknown> {
  const event = Binding.toEvent({ ...message, body: message.value })
  ok(event instanceof CloudEvent)
  return event
}

function textsOf(headers: IHeaders): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}
