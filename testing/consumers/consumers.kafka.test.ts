/**
 * The examples of consumers, docs/integrate/examples, show one and the same table in every
 * language: hostile names, former schemas, both framings; and a graph process's own entries.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, type TestContext, test } from 'node:test'
import avsc from 'avsc'
import { avroCodec } from '../../adapters/avro/codec.ts'
import { registeredCodec } from '../../adapters/avro/registry.ts'
import { type ComplexSchema, fingerprintOf } from '../../adapters/avro/schema.ts'
import { loadRecordSchema } from '../../adapters/avro/schema-file.ts'
import { openKafkaLog } from '../../adapters/kafka/log.ts'
import type { OwnerReference } from '../../core/model/object.ts'
import type { Log, Produced, TaskLog } from '../../ports/log.ts'
import type { Codec } from '../../ports/record/codec.ts'
import type {
  HistoryRecord,
  KnownObject,
  Lineage,
  LineageOwner,
} from '../../ports/record/lineage.ts'
import { systemClock } from '../../runtime/clock.ts'
import { eventually } from '../eventually.ts'
import { HOSTILE_NAMES } from '../hostile.ts'
import { type Kafka, startKafka } from '../kafka/broker.ts'
import { missingKafka } from '../kafka/jars.ts'
import { startKinfold } from '../process/kinfold-command.ts'
import { appendAll, eventsOf } from '../rig/task-rig.ts'
import { SchemaRegistry } from '../schema-registry.ts'
import { CONSUMERS, type Consumer, missingConsumer, startConsumer } from './consumer.ts'

const ROOT = join(import.meta.dirname, '../..')
const SCHEMAS = join(ROOT, 'schemas')
const OWNER: LineageOwner = {
  ...{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'deployment' },
  ...{ controller: true, blocking: true },
  standing: 'solid',
}

suite('a consumer of lineage, of the examples', { skip: missingKafka() ?? false }, () => {
  let kafka: Kafka
  before(async () => {
    kafka = await startKafka()
  })
  after(async () => await kafka?.[Symbol.asyncDispose]())

  test('prints what exists, whatever it is called, and nothing that was aborted', async (t) => {
    const application = `${kafka.application}-table`
    await using log = await logOf(application)
    await using task = await log.openTask(0)
    const codec = avroCodec()
    await publish(task, 1, [
      entry(codec, 'deployment', { kind: 'Deployment', group: 'apps', name: 'web' }),
      entry(codec, 'pod', { name: 'web-1', phase: 'deleting' }),
      entry(codec, 'forgotten', {}),
      entry(codec, 'gone', {}),
    ])
    const hostile = HOSTILE_NAMES.map((name, index): Partial<Lineage> => {
      return {
        ...{ uid: `hostile-${index}`, name, kind: name, namespace: name, clusterName: name },
        owners: [OWNER, { ...OWNER, kind: name, name }],
      }
    })
    await publish(task, 0, [
      ...hostile.map((each) => entry(codec, each.uid!, each)),
      entry(codec, 'cluster-scoped', { kind: 'Namespace', namespace: '', name: 'größe' }),
    ])
    await publish(task, 1, [
      entry(codec, 'pod', { name: 'web-1', owners: [OWNER] }),
      { key: 'north/forgotten', value: null },
      { key: 'north/never-seen', value: null },
      entry(codec, 'gone', { phase: 'gone' }),
    ])
    await abort(application, [entry(codec, 'aborted', {}), { key: 'north/pod', value: null }])

    const expected = [
      'north\tDeployment.apps\tshop\tweb\tdeployment\tobserved',
      'north\tNamespace\t\tgr\\u{f6}\\u{df}e\tcluster-scoped\tobserved',
      'north\tPod\tshop\tweb-1\tpod\tobserved\tDeployment/web (solid)',
      ...hostile.map(({ uid, name }) => {
        const safe = escaped(name!)
        const owners = `Deployment/web (solid)\t${safe}/${safe} (solid)`
        return `${safe}\t${safe}\t${safe}\t${safe}\t${uid}\tobserved\t${owners}`
      }),
    ].sort()
    ok(expected.some((line) => line.startsWith('\\u{1b}[2J\\u{1b}[31mred\\u{1b}[0m\t')))
    await inEachLanguage(t, CONSUMERS, async (consumer, context) => {
      const { code, stdout, stderr } = await run(context, consumer, application)
      deepEqual([stdout.trimEnd().split('\n'), stderr, code], [expected, '', 0])
    })
  })

  test('prints when each object existed and referenced which owner, of history', async (t) => {
    const application = `${kafka.application}-spans`
    await using log = await logOf(application)
    await using task = await log.openTask(0)
    const codec = avroCodec()
    const [former, later] = [reference('a'), reference('b')]
    const hostile = HOSTILE_NAMES[0]!
    const entries: readonly Partial<HistoryRecord>[] = [
      { uid: 'pod', at: 10, change: 'created', object: known('observed', former) },
      { uid: 'pod', at: 11, change: 'verdict' },
      { uid: 'pod', at: 12, change: 'references', object: known('observed', former, later) },
      { uid: 'pod', at: 13, change: 'references', object: known('deleting', later) },
      { uid: 'pod', at: 14, change: 'gone', object: known(null) },
      { uid: 'pod', at: 15, change: 'created', object: known('observed', later) },
      { uid: 'old', at: 16, change: 'phase', object: known('deleting', former) },
      { uid: 'old', at: 17, change: 'gone', object: known(null) },
      { uid: 'odd', name: hostile, at: 18, change: 'created', object: known('observed') },
    ]
    const records = entries.map((each, index): Produced => {
      const value = codec.encode({ ...history(BigInt(index)), ...each })
      return { key: `north/${each.uid}`, value }
    })
    await publish(task, 0, records, 'history')
    // As kafkajs hands out entries of an aborted transaction.
    await publish(task, 0, records.slice(0, 2), 'history')
    const expected = [
      'north\tPod\tshop\tx\told\t?\t17',
      'north\tPod\tshop\tx\told\t?\t17\tDeployment/a (a)',
      'north\tPod\tshop\tx\tpod\t10\t13\tDeployment/a (a)',
      'north\tPod\tshop\tx\tpod\t10\t14',
      'north\tPod\tshop\tx\tpod\t12\t14\tDeployment/b (b)',
      'north\tPod\tshop\tx\tpod\t15\t',
      'north\tPod\tshop\tx\tpod\t15\t\tDeployment/b (b)',
      `north\tPod\tshop\t${escaped(hostile)}\todd\t18\t`,
    ].sort()
    await inEachLanguage(t, CONSUMERS, async (consumer, context) => {
      const { code, stdout, stderr } = await run(context, consumer, application, ['--spans'])
      deepEqual([linesIn(stdout), stderr, code], [expected, '', 0])
    })
  })

  test('prints nothing of a topic without entries, and ends', async (t) => {
    const application = `${kafka.application}-empty`
    await using _log = await logOf(application)
    await inEachLanguage(t, CONSUMERS, async (consumer, context) => {
      deepEqual(await run(context, consumer, application), { code: 0, stdout: '', stderr: '' })
    })
  })

  test('prints no table of a topic that does not exist, and fails', async (t) => {
    await inEachLanguage(t, CONSUMERS, async (consumer, context) => {
      const { code, stdout, stderr } = await run(context, consumer, `${kafka.application}-absent`)
      deepEqual([stdout, code === 0], ['', false], stderr)
    })
  })

  test('refuses a schema that it does not know, and reads it as soon as it has it', async (t) => {
    const application = `${kafka.application}-former`
    await using log = await logOf(application)
    await using task = await log.openTask(0)
    const former = formerSchema()
    const value = written(former, lineage('pod', { owners: [OWNER] }))
    await publish(task, 1, [{ key: 'north/pod', value }])
    const schemas = mkdtempSync(join(tmpdir(), 'kinfold-schemas-'))
    t.after(() => rmSync(schemas, { recursive: true, force: true }))
    cpSync(join(SCHEMAS, 'public'), join(schemas, 'public'), { recursive: true })
    const history = join(schemas, 'history/lineage')
    mkdirSync(history, { recursive: true })
    const fingerprint = fingerprintOf(former)
    writeFileSync(join(history, `${fingerprint}.avsc`), JSON.stringify(former))
    const refusal =
      `${application}.lineage[1]@0: no schema has the fingerprint ${fingerprint}. ` +
      'Another version of Kinfold wrote this: give the folder schemas of the newest one with --schemas.\n'
    await inEachLanguage(t, CONSUMERS, async (consumer, context) => {
      const refused = await run(context, consumer, application)
      deepEqual(refused, { code: 1, stdout: '', stderr: refusal })
      const read = await run(context, consumer, application, ['--schemas', schemas])
      const line = 'north\tPod\tshop\tpod\tpod\tobserved\tDeployment/web (solid)\n'
      deepEqual(read, { code: 0, stdout: line, stderr: '' })
    })
  })

  test('follows with --follow', async (t) => {
    await inEachLanguage(t, CONSUMERS, async (consumer, context) => {
      const application = `${kafka.application}-follow-${consumer.language}`
      await using log = await logOf(application)
      await using task = await log.openTask(0)
      const codec = avroCodec()
      await publish(task, 1, [entry(codec, 'pod', {}), entry(codec, 'other', {})])
      const child = start(context, consumer, application, ['--follow'])
      const output = textOf(child.stdout!)
      const linesAre = async (...lines: string[]): Promise<void> => {
        const expected = lines.map((line) => `${line}\n`).join('')
        await eventually('lines', async () => output() === expected || output())
      }
      const first = [
        'north\tPod\tshop\tother\tother\tobserved',
        'north\tPod\tshop\tpod\tpod\tobserved',
      ]
      await linesAre(...first)
      await publish(task, 0, [entry(codec, 'third', { phase: 'deleting' })])
      const third = 'north\tPod\tshop\tthird\tthird\tdeleting'
      await linesAre(...first, third)
      await publish(task, 1, [entry(codec, 'pod', { phase: 'gone' })])
      const gone = 'north\tPod\tshop\tpod\tpod\tgone'
      await linesAre(...first, third, gone)
      await publish(task, 1, [
        { key: 'north/pod', value: null },
        { key: 'north/other', value: null },
      ])
      await linesAre(...first, third, gone, 'north\tPod\tshop\tother\tother\tgone')
      child.kill('SIGTERM')
      await once(child, 'exit')
    })
  })

  test('reads both framings where there is a registry, or says what does', async (t) => {
    await using registry = await SchemaRegistry.start()
    const application = `${kafka.application}-registry`
    await using log = await logOf(application)
    await using task = await log.openTask(0)
    const registered = await registeredCodec(registry)
    await publish(task, 1, [
      entry(avroCodec(), 'before', {}),
      entry(registered, 'after', { owners: [OWNER] }),
    ])
    const refusal = (what: string) =>
      `${application}.lineage[1]@1: the schema is in a registry: ${what}\n`
    await inEachLanguage(t, CONSUMERS, async (consumer, context) => {
      const without = await run(context, consumer, application)
      if (consumer.language === 'java') {
        const what = "use Confluent's KafkaAvroDeserializer as the deserializer of values."
        return deepEqual(without, { code: 1, stdout: '', stderr: refusal(what) })
      }
      const what = 'give its URL with --registry.'
      deepEqual(without, { code: 1, stdout: '', stderr: refusal(what) })
      const read = await run(context, consumer, application, ['--registry', registry.url])
      const lines = [
        'north\tPod\tshop\tafter\tafter\tobserved\tDeployment/web (solid)',
        'north\tPod\tshop\tbefore\tbefore\tobserved',
      ]
      deepEqual(read, { code: 0, stdout: `${lines.join('\n')}\n`, stderr: '' })
    })
  })

  for (const isRegistered of [false, true]) {
    test(`reads what a graph process writes${isRegistered ? ' by a registry' : ''}`, async (t) => {
      await using registry = await SchemaRegistry.start()
      const application = `${kafka.application}-graph-${isRegistered}`
      await using log = await logOf(application, 1)
      await appendAll(log, eventsOf(['put deploy/web', 'put rs/a <- deploy/web', 'put rs/b']))
      const folder = mkdtempSync(join(tmpdir(), 'kinfold-lineage-'))
      t.after(() => rmSync(folder, { recursive: true, force: true }))
      const flags = isRegistered ? ['--schema-registry', registry.url] : []
      const where = ['--brokers', kafka.bootstrap.join(), '--application', application]
      const own = ['--data', folder, '--http', '127.0.0.1:0']
      const graph = startKinfold(['graph', ...where, ...own, ...flags])
      t.after(() => graph.child.kill('SIGKILL'))
      const graphOutput = outputOf(graph.child)
      await eventually('it has written lineage of three objects', async () => {
        const keys = new Set((await log.latest('lineage', 0)).map(({ key }) => key))
        return keys.size === 3 || graphOutput()
      })
      graph.child.kill('SIGTERM')
      equal((await graph.ended).code, 0, graphOutput())
      const { entries } = await log.read('lineage', 0, 0n, { limit: 1, waitMs: 1_000 })
      equal(entries[0]?.value?.[0], isRegistered ? 0 : 0xc3)
      deepEqual(registry.subjects, isRegistered ? ['kinfold.Lineage', 'kinfold.History'] : [])

      const tables = new Set<string>()
      const spans = new Set<string>()
      // The example in Java reads none; the test above shows what it says.
      const readers = CONSUMERS.filter(({ language }) => !isRegistered || language !== 'java')
      await inEachLanguage(t, readers, async (consumer, context) => {
        const registered = isRegistered ? ['--registry', registry.url] : []
        const { code, stdout, stderr } = await run(context, consumer, application, registered)
        deepEqual([stderr, code], ['', 0])
        match(stdout, /\tReplicaSet\.apps\t.*\tDeployment\/web \(solid\)\n/)
        tables.add(stdout)
        deepEqual([...tables], [stdout])
        const past = await run(context, consumer, application, ['--spans', ...registered])
        deepEqual([past.stderr, past.code], ['', 0])
        match(past.stdout, /\tReplicaSet\.apps\t.*\t\d+\t\tDeployment\/web \(\S+\)\n/)
        spans.add(linesIn(past.stdout).join('\n'))
        equal(spans.size, 1)
      })
    })
  }

  const logOf = async (application: string, partitions = 2): Promise<Log> => {
    const log = await openKafkaLog({
      settings: { brokers: kafka.bootstrap, application, compression: 'zstd' },
      clientId: 'example',
      partitions,
      mayCreate: true,
      clock: systemClock(),
    })
    // A broker has a new topic a moment before it leads its partitions; kafkajs gives up on one
    // that is asked in between.
    for (let partition = 0; partition < partitions; partition++) {
      await log.bounds('lineage', partition)
    }
    return log
  }

  /** The last that is in partition 1. */
  const abort = async (application: string, records: readonly Produced[]): Promise<void> => {
    const producer = kafka.client().producer({
      ...{ transactionalId: `${application}-aborted`, idempotent: true, maxInFlightRequests: 1 },
    })
    await producer.connect()
    const transaction = await producer.transaction()
    const messages = records.map(({ key, value }) => {
      return { key, value: value === null ? null : Buffer.from(value), partition: 1 }
    })
    await transaction.send({ topic: `${application}.lineage`, messages })
    await transaction.abort()
    await producer.disconnect()
  }

  const start = (
    t: TestContext,
    consumer: Consumer,
    application: string,
    flags: readonly string[],
  ): ChildProcess => {
    const schemas = flags.includes('--schemas') ? [] : ['--schemas', SCHEMAS]
    const where = ['--brokers', kafka.bootstrap.join(), '--application', application]
    const child = startConsumer(consumer, [...where, ...schemas, ...flags])
    t.after(() => child.kill('SIGKILL'))
    return child
  }

  const run = async (
    t: TestContext,
    consumer: Consumer,
    application: string,
    flags: readonly string[] = [],
  ): Promise<{ code: number; stdout: string; stderr: string }> => {
    const child = start(t, consumer, application, flags)
    const [stdout, stderr] = [textOf(child.stdout!), textOf(child.stderr!)]
    const [code] = await once(child, 'close')
    return { code, stdout: stdout(), stderr: withoutNoise(stderr()) }
  }
})

test('docs/integrate/consumers.md installs and runs each example by the commands that are tested', () => {
  const document = readFileSync(join(ROOT, 'docs/integrate/consumers.md'), 'utf8')
  for (const { language, install, run } of CONSUMERS) {
    const lines = [
      `cd docs/integrate/examples/${language}`,
      ...(install === undefined ? [] : [install]),
      `${run} --brokers localhost:9092`,
    ]
    ok(document.includes(`\`\`\`\n${lines.join('\n')}\n\`\`\`\n`), lines.join('\n'))
  }
})

async function inEachLanguage(
  t: TestContext,
  consumers: readonly Consumer[],
  body: (consumer: Consumer, context: TestContext) => Promise<void>,
): Promise<void> {
  for (const consumer of consumers) {
    const skip = missingConsumer(consumer) ?? false
    await t.test(consumer.language, { skip }, async (context) => await body(consumer, context))
  }
}

async function publish(
  task: TaskLog,
  partition: number,
  records: readonly Produced[],
  topic: 'lineage' | 'history' = 'lineage',
): Promise<void> {
  await task.commit({ outputs: [{ topic, partition, records }], changelog: [] })
}

/** Ended spans come as they end, those of several objects at once in any order. */
function linesIn(stdout: string): readonly string[] {
  return stdout.trimEnd().split('\n').sort()
}

function history(position: bigint): HistoryRecord {
  return {
    type: 'History',
    ...{ cluster: 'north', uid: '', group: '', kind: 'Pod', namespace: 'shop', name: 'x' },
    ...{ change: 'created', text: '', phase: null, evidence: null, command: null },
    ...{ partition: 0, position, basis: [], at: 0, admission: null, object: null },
  }
}

function known(phase: string | null, ...owners: readonly OwnerReference[]): KnownObject {
  const times = { createdAt: null, deletedAt: null }
  return { phase: phase as KnownObject['phase'], ...times, owners, held: null, long: null }
}

function reference(name: string): OwnerReference {
  const flags = { controller: null, blockOwnerDeletion: null }
  return { apiVersion: 'apps/v1', kind: 'Deployment', name, uid: name, ...flags }
}

function entry(codec: Codec, uid: string, of: Partial<Lineage>): Produced {
  return { key: `north/${uid}`, value: codec.encode(lineage(uid, of)) }
}

function lineage(uid: string, of: Partial<Lineage>): Lineage {
  return {
    type: 'Lineage',
    ...{ cluster: 'north', clusterName: 'north', uid, group: '', version: 'v1', kind: 'Pod' },
    ...{ scope: 'Namespaced', namespace: 'shop', name: uid, phase: 'observed', owners: [] },
    ...{ createdAt: null, deletedAt: null, why: '', verdict: null, heldBy: null },
    ...{ doubt: null, deletion: null, admission: null },
    ...{ held: null, evidence: null, position: 1n, at: 1, moreOwners: 0 },
    ...{ resource: '', departure: null },
    ...of,
  }
}

/** Today's without a field that has a default, and with one that today's lacks. */
function formerSchema(): ComplexSchema {
  const current = loadRecordSchema(SCHEMAS, 'Lineage').current as ComplexSchema
  const fields = current.fields!.filter(({ name }) => name !== 'heldBy')
  return { ...current, fields: [{ name: 'removed', type: 'string' }, ...fields] }
}

function written(schema: ComplexSchema, { position, ...fields }: Lineage): Uint8Array {
  const type = avsc.Type.forSchema(schema as avsc.Schema)
  const frame = Buffer.alloc(10)
  frame.writeUInt16BE(0xc301)
  frame.writeBigUInt64LE(BigInt(`0x${fingerprintOf(schema)}`), 2)
  const body = type.toBuffer({ ...fields, removed: 'x', position: Number(position) })
  return Buffer.concat([frame, body])
}

/** kafkajs logs its retries, and gives Node 24 a delay below zero. */
function withoutNoise(stderr: string): string {
  return stderr.replaceAll(
    /^(\{.*"logger":"kafkajs".*|.*TimeoutNegativeWarning.*|Timeout duration was set to 1\.|\(Use `node --trace-warnings.*)\n/gm,
    '',
  )
}

/** Lone surrogates are no text: records have U+FFFD for them. */
function escaped(text: string): string {
  return Array.from(text.toWellFormed(), (char) => {
    const code = char.codePointAt(0)!
    return code >= 0x20 && code < 0x7f && char !== '\\' ? char : `\\u{${code.toString(16)}}`
  }).join('')
}

function textOf(stream: NodeJS.ReadableStream): () => string {
  let text = ''
  stream.on('data', (chunk) => {
    text += chunk
  })
  return () => text
}

function outputOf(child: ChildProcess): () => string {
  const [stdout, stderr] = [textOf(child.stdout!), textOf(child.stderr!)]
  return () => stdout() + stderr()
}
