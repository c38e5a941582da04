/**
 * `kinfold audit follow` on a real Kafka that lets in by SASL PLAIN over TLS, as Event Hubs do:
 * what it sends, where it goes on, and what it says of what it could not read.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, type TestContext, test } from 'node:test'
import { documentOf } from '../../services/graph/api/document.ts'
import { auditEvent } from '../../testing/audit-event.ts'
import { eventually } from '../../testing/eventually.ts'
import { type Kafka, startKafka } from '../../testing/kafka/broker.ts'
import { missingKafka } from '../../testing/kafka/jars.ts'
import { makeTopic, produce } from '../../testing/kafka/records.ts'
import { type Running, runKinfold, startKinfold } from '../../testing/process/kinfold-command.ts'
import { GraphGroup, type GraphProcess, tell } from '../../testing/rig/graph-group.ts'
import { eventsOf } from '../../testing/rig/task-rig.ts'

const KEY = 'c2VjcmV0LW9mLXRoZS1odWI='
const CONNECTION = `Endpoint=sb://example.servicebus.windows.net/;SharedAccessKeyName=kinfold;SharedAccessKey=${KEY}`
const SOURCE = '/subscriptions/s/managedclusters/north'
const folder = mkdtempSync(join(tmpdir(), 'kinfold-follow-'))
const secret = join(folder, 'connection')
writeFileSync(secret, `${CONNECTION}\n`, { mode: 0o600 })
after(() => rmSync(folder, { recursive: true }))

let kafka: Kafka

function record(log: string, resourceId = SOURCE.toUpperCase()): object {
  return { time: new Date().toISOString(), resourceId, category: 'kube-audit', properties: { log } }
}

function written(name: string, at: number, more: object = {}): string {
  const event = auditEvent(name, at, { auditID: `id-${name}-${at}`, ...more })
  return JSON.stringify({ kind: 'Event', apiVersion: 'audit.k8s.io/v1', ...event })
}

const hubRecord = (...records: readonly object[]): string => JSON.stringify({ records })

async function client() {
  return kafka.client(await kafka.security.login('$ConnectionString', 'plain'))
}

async function hub(name: string, ...values: readonly string[]): Promise<string> {
  const topic = `${kafka.application}-${name}`
  await makeTopic(await client(), topic)
  await send(topic, ...values)
  return topic
}

async function send(topic: string, ...values: readonly string[]): Promise<void> {
  if (values.length > 0) await produce(await client(), topic, values)
}

const AKS = readFileSync(new URL('../../docs/operate/audit-aks.md', import.meta.url), 'utf8')
const PRINTED = /^ *kinfold (audit follow .*) --connection-string-file \S+ (--source .*)$/m.exec(
  AKS,
)

/**
 * As docs/operate/audit-aks.md prints it, with what a reader fills in, and the test's own brokers.
 */
function words(topic: string, url: string): readonly string[] {
  const printed = `${PRINTED?.[1]} ${PRINTED?.[2]}`
    .replace('insights-logs-kube-audit-admin', topic)
    .replace('CLUSTER_ID', SOURCE)
    .replace('--cluster north', '--cluster test')
  const brokers = ['--brokers', kafka.bootstrap.join(','), '--tls-ca', kafka.security.caFile]
  return [...printed.split(' '), '--server', url, ...brokers]
}

function follow(t: TestContext, topic: string, url: string): Running {
  const running = startKinfold([...words(topic, url), '--connection-string-file', secret])
  t.after(() => running.child.kill('SIGKILL'))
  running.child.stderr?.on('data', (part) => t.diagnostic(String(part)))
  return running
}

async function stopped({ child, ended }: Running): Promise<string> {
  child.kill('SIGTERM')
  const { code, stdout, stderr } = await ended
  deepEqual([code, `${stdout}${stderr}`.includes(KEY)], [0, false], stderr)
  return `${stdout}${stderr}`
}

/** Where the group of the source is, in partition 0. */
async function committed(topic: string): Promise<string> {
  const admin = (await client()).admin()
  await admin.connect()
  try {
    const { groups } = await admin.listGroups()
    const own = groups.find(({ groupId }) => groupId.startsWith('kinfold-audit-'))
    if (own === undefined) return 'no group'
    const [found] = await admin.fetchOffsets({ groupId: own.groupId, topics: [topic] })
    return found?.partitions[0]?.offset ?? 'none'
  } finally {
    await admin.disconnect()
  }
}

async function isAt(topic: string, offset: number): Promise<void> {
  await eventually(`the position is ${offset}`, async () => {
    const now = await committed(topic)
    return now === String(offset) || now
  })
}

interface Kinfold {
  readonly url: string
  /** When the record says that cm/NAME was deleted. */
  at(name: string): Promise<number>
  why(name: string): Promise<{ readonly users: readonly string[]; readonly partial: string }>
}

/** In it a and b were deleted. */
async function kinfold(t: TestContext): Promise<Kinfold> {
  const group = new GraphGroup(1, 0, Date.now())
  t.after(async () => await group.stop())
  const process: GraphProcess = await group.start()
  await tell(group.log, eventsOf(['put cm/a', 'put cm/b', 'delete cm/a', 'delete cm/b']))
  await group.caughtUp()
  const asked = async (name: string) =>
    (await (await fetch(`${process.url}/v1/why?uid=cm-${name}`)).json()) as {
      readonly history: readonly { readonly at: string }[]
      readonly deletedBy: readonly { readonly user: string }[]
      readonly partial: string
    }
  return {
    url: process.url,
    at: async (name) => Date.parse((await asked(name)).history.at(-1)?.at ?? ''),
    async why(name) {
      const { deletedBy, partial } = await asked(name)
      return { users: deletedBy.map(({ user }) => user), partial }
    },
  }
}

suite('audit follow', { skip: missingKafka({ own: true }) ?? false }, () => {
  before(async () => {
    const passwords = { $ConnectionString: CONNECTION }
    const security = {
      tls: true,
      users: Object.keys(passwords),
      passwords,
      logins: ['plain'],
    } as const
    kafka = await startKafka({ security })
  })
  after(async () => await kafka?.[Symbol.asyncDispose]())

  test('names who deleted, resumes where it left off, and sends nothing twice', async (t) => {
    const to = await kinfold(t)
    const topic = await hub('resumes', hubRecord(record(written('a', await to.at('a')))))
    const first = follow(t, topic, to.url)
    await isAt(topic, 1)
    deepEqual(await to.why('a'), { users: ['alice'], partial: '' })
    ok(!readFileSync(`/proc/${first.child.pid}/cmdline`, 'utf8').includes(KEY))
    match(await stopped(first), /^1 events of cluster \S+ read, 1 of them say who deleted/)
    const user = { username: 'bob' }
    await send(topic, hubRecord(record(written('b', await to.at('b'), { user }))))
    const second = follow(t, topic, to.url)
    await isAt(topic, 2)
    deepEqual(await to.why('b'), { users: ['bob'], partial: '' })
    match(await stopped(second), /^1 events of cluster/)
  })

  test('what is damaged costs itself alone, is said and is a gap; other clusters are left out', async (t) => {
    const to = await kinfold(t)
    const at = await to.at('a')
    const requestURI = `/?${'x'.repeat(900_000)}`
    const topic = await hub(
      'damaged',
      'no JSON',
      hubRecord(record(written('b', at, { user: { username: 'eve' } }), '/another')),
      hubRecord(
        record('no JSON'),
        record(written('b', at)),
        record(written('x', at, { requestURI })),
      ),
      '{"records":[',
      hubRecord(record(written('a', at))),
    )
    const running = follow(t, topic, to.url)
    await isAt(topic, 5)
    const a = await to.why('a')
    deepEqual(a.users, ['alice'])
    match(
      a.partial,
      /^names of \S+Z to \S+Z are incomplete: events of the audit log could not be read$/,
    )
    deepEqual((await to.why('b')).users, ['alice'])
    const text = await stopped(running)
    match(text, /3 could not be read, 1 of other logs or clusters left out/)
    match(text, /partition 0, offset 0: 1 of 1 events cannot be read/)
  })

  test('its position moves only after Kinfold has answered: killed before, it sends all again', async (t) => {
    const bodies: string[] = []
    let isAnswering = false
    const server = createServer((request, response) => {
      let body = ''
      request.on('data', (part) => {
        body += part
      })
      request.on('end', () => {
        const { items } = JSON.parse(body) as { items: unknown[] }
        if (items.length > 0) bodies.push(body)
        if (items.length > 0 && !isAnswering) return
        const answer = { received: items.length, kept: items.length, overShare: 0, unreadable: 0 }
        const cluster = { name: 'north', id: 'c', scope: 'north' }
        const document = documentOf('AuditEventsResult', { answer, partial: '', cluster })
        response.setHeader('content-type', 'application/json').end(JSON.stringify(document))
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.after(() => server.close().closeAllConnections())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const topic = await hub('killed', hubRecord(record(written('a', Date.now()))))
    const first = follow(t, topic, url)
    await eventually('it was sent', async () => bodies.length === 1)
    first.child.kill('SIGKILL')
    await first.ended
    ok(['-1', 'no group'].includes(await committed(topic)), 'nothing is committed')
    isAnswering = true
    const second = follow(t, topic, url)
    await isAt(topic, 1)
    equal(bodies.length, 2)
    equal(bodies[0], bodies[1])
    await stopped(second)
  })

  test('waits for a Kinfold that is away, and says so once', async (t) => {
    const to = await kinfold(t)
    const topic = await hub('away', hubRecord(record(written('a', await to.at('a')))))
    const running = follow(t, topic, 'http://127.0.0.1:9')
    let said = ''
    running.child.stderr?.on('data', (part) => {
      said += part
    })
    await eventually('it says so', async () => said.includes('trying again'))
    running.child.kill('SIGTERM')
    equal((await running.ended).code, 143)
    equal(said.split('trying again').length, 2)
  })

  test('what the brokers removed before it was read is a gap', async (t) => {
    const to = await kinfold(t)
    const at = await to.at('a')
    const topic = await hub('removed', hubRecord(record(written('a', at))))
    const first = follow(t, topic, to.url)
    await isAt(topic, 1)
    await stopped(first)
    equal((await to.why('a')).partial, '')
    await send(topic, hubRecord(record(written('b', at))), hubRecord(record(written('c', at))))
    const admin = (await client()).admin()
    await admin.connect()
    await admin.fetchTopicMetadata({ topics: [topic] })
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '2' }] })
    await admin.disconnect()
    const second = follow(t, topic, to.url)
    await isAt(topic, 3)
    match((await to.why('a')).partial, /are incomplete: events of the audit log could not be read$/)
    match(await stopped(second), /partition 0: the brokers removed records of \S+Z to \S+Z before/)
  })

  test('bad input is refused with what to do, and nothing secret in it', async (t) => {
    const { url } = await kinfold(t)
    const topic = await hub('refused')
    const fileOf = (name: string, text: string, mode = 0o600): string => {
      writeFileSync(join(folder, name), text, { mode })
      return join(folder, name)
    }
    const other = CONNECTION.replace(KEY, 'wrong')
    const cases: readonly (readonly [readonly string[], number, RegExp])[] = [
      [
        ['--connection-string-file', fileOf('wrong', other)],
        4,
        /the brokers refuse these credentials/,
      ],
      [
        ['--connection-string-file', fileOf('none', 'x')],
        2,
        /none holds no connection string: expected Endpoint=sb/,
      ],
      [['--connection-string-file', join(folder, 'no')], 2, /cannot be read/],
      [
        ['--connection-string-file', secret, '--sasl', 'plain'],
        2,
        /the connection string is the login/,
      ],
      [
        ['--connection-string-file', secret, '--cluster', 'nowhere'],
        2,
        /there is no cluster nowhere/,
      ],
    ]
    for (const [more, code, expected] of cases) {
      const ran = await runKinfold([...words(topic, url), ...more])
      match(ran.stderr, expected)
      deepEqual([ran.code, ran.stderr.includes(KEY)], [code, false])
    }
    const env = { KINFOLD_EVENTHUB_CONNECTION_STRING: CONNECTION }
    const missing = await runKinfold(words(`${topic}-none`, url), env)
    deepEqual([missing.code, missing.stderr.includes(KEY)], [4, false])
    match(missing.stderr, /there is no topic or event hub \S+-none: check its name/)
  })
})
