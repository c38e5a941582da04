/**
 * Where Kafka cannot be used as asked, a command ends soon, with a sentence that says what to do,
 * and changes nothing (F41, F42).
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, type TestContext, test } from 'node:test'
import kafkajs, { type Admin } from 'kafkajs'
import { freePort } from '../../testing/cluster/port.ts'
import { eventually } from '../../testing/eventually.ts'
import { type Kafka, startKafka } from '../../testing/kafka/broker.ts'
import { missingKafka } from '../../testing/kafka/jars.ts'
import { OldBroker } from '../../testing/kafka/old-broker.ts'
import { makeTopic } from '../../testing/kafka/records.ts'
import { type Ran, runKinfold, startKinfold } from '../../testing/process/kinfold-command.ts'

const FEW = { concurrency: 2 }

let plain: Kafka
let secured: Kafka
let old: OldBroker
let mute: Server
let folder: string
let count = 0

const skip = missingKafka({ own: true }) ?? false

suite('Kafka that cannot be used as asked', { skip, ...FEW }, () => {
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'kinfold-kafka-input-'))
    mute = createServer(() => undefined).listen(await freePort(), '127.0.0.1')
    old = await OldBroker.start()
    plain = await startKafka({ own: true })
    const logins = ['scram-sha-512', 'oauthbearer'] as const
    secured = await startKafka({ security: { tls: true, users: ['ann'], logins } })
    keep('password', secured.security.passwordOf('ann'))
    keep('wrong', 'wrong')
    keep('token', secured.security.tokenOf('ann'))
    keep('old-token', secured.security.tokenOf('ann', -3_600))
  })
  after(async () => {
    mute?.close()
    await Promise.all([old, plain, secured].map((each) => each?.[Symbol.asyncDispose]()))
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  })

  const unreachable: readonly [string, () => readonly string[], RegExp][] = [
    [
      'an address where nobody listens',
      () => ['--brokers', '127.0.0.1:1'],
      /127\.0\.0\.1:1 .*ECONNREFUSED.*; check that the brokers run, and that their addresses/,
    ],
    [
      'a name that is nobody’s',
      () => ['--brokers', 'nowhere.invalid:9092', '--insecure'],
      /ENOTFOUND nowhere\.invalid; check that the brokers run/,
    ],
    [
      'a port where nobody answers',
      () => ['--brokers', `127.0.0.1:${(mute.address() as { port: number }).port}`],
      /no broker .*answers.*; check that/,
    ],
    ['a broker that is too old', () => ['--brokers', old.address], /too old .*Kafka 2\.8 to 4\.x/],
    [
      'TLS to a port without',
      () => ['--brokers', plain.bootstrap.join(), '--tls'],
      /the TLS connection failed .*whether the port speaks TLS/,
    ],
    [
      'no TLS to a port with it',
      () => ['--brokers', secured.bootstrap.join()],
      /closed the connection; .*may want TLS \(--tls-ca\)/,
    ],
    [
      'an authority that is not trusted',
      () => ['--brokers', secured.bootstrap.join(), '--tls'],
      /the TLS connection failed \(unable to verify the first certificate\); see --tls-ca/,
    ],
    [
      'another name than the certificate’s',
      () => [
        ...['--brokers', secured.bootstrap.join().replace('127.0.0.1', 'localhost')],
        ...['--tls-ca', secured.security.caFile],
      ],
      /the TLS connection failed \(Hostname\/IP does not match certificate's altnames/,
    ],
    ['no login', () => safe(), /closed the connection; .* or a login \(--sasl\)/],
    [
      'a wrong password',
      () => safe(...scram('wrong')),
      /the brokers refuse these credentials .*; see --sasl and its files/,
    ],
    [
      'a mechanism that is not offered',
      () => safe('--sasl', 'plain', ...scram('password').slice(2)),
      /do not offer this SASL mechanism|refuse these credentials/,
    ],
    [
      'a login to a port without',
      () => ['--brokers', plain.bootstrap.join(), ...scram('password')],
      /this port asks for no login; leave --sasl away/,
    ],
    [
      'a token that is over',
      () => safe('--sasl', 'oauthbearer', '--sasl-token-file', join(folder, 'old-token')),
      /the brokers refuse these credentials \(the token is refused: .*invalid_token/,
    ],
  ]

  for (const [name, flags, message] of unreachable) {
    test(`${name}: exit code 4 and a sentence`, async (t) => {
      await fails(t, ['topics', 'plan', ...flags()], 4, message)
    })
  }

  for (const login of ['scram', 'oauthbearer']) {
    test(`are reached with the right ${login}`, async () => {
      const flags =
        login === 'scram'
          ? scram('password')
          : ['--sasl', 'oauthbearer', '--sasl-token-file', join(folder, 'token')]
      const { code, stderr } = await runKinfold(['topics', 'plan', ...safe(...flags)])
      equal(code, 1, stderr)
    })
  }

  test('are reached by one address of several that is right', async () => {
    const brokers = ['127.0.0.1:1', ...plain.bootstrap].join()
    const { code, stderr } = await runKinfold(['topics', 'plan', '--brokers', brokers])
    equal(code, 1, stderr)
  })

  test('more copies than there are brokers', async (t) => {
    const { application, kafka, graph } = fresh()
    const message = new RegExp(`fewer brokers .*creating the topic ${application}.*--replicas`)
    await fails(t, ['topics', 'apply', ...kafka, '--replicas', '5'], 4, message)
    await fails(t, [...graph, '--replicas', '5'], 4, message)
  })

  test('topics that are missing, and may not be made', async (t) => {
    const { application, graph } = fresh()
    const message = /the topics .*\.events, .* are missing: kinfold topics apply makes them/
    await fails(t, [...graph, '--no-create-topics'], 4, message)
    await withAdmin(async (admin) => {
      deepEqual(
        (await admin.listTopics()).filter((name) => name.startsWith(application)),
        [],
      )
    })
  })

  test('topics that are missing are waited for by whoever does not make them, and a warning is said once', async (t) => {
    const { application, kafka } = fresh()
    const { child, ended, said } = await waitingReaper(t, kafka)
    equal((await runKinfold(['topics', 'apply', ...kafka])).code, 0, application)
    await eventually('it serves', async () => /"serving"/.test(said()) || said())
    child.kill('SIGTERM')
    const { stderr } = await ended
    equal(stderr.match(/waiting for topics/g)?.length, 1, stderr)
    equal(stderr.match(/1 copy of each topic on 1 broker/g)?.length, 1, stderr)
  })

  test('whoever waits for topics ends when it is told to, as one that was stopped', async (t) => {
    const { kafka } = fresh()
    const { child, ended } = await waitingReaper(t, kafka)
    child.kill('SIGTERM')
    const { code, stderr } = await ended
    deepEqual([code, /error: stopped by SIGTERM/.test(stderr)], [143, true], stderr)
  })

  const wrong: readonly [string, string, Readonly<Record<string, string>>, RegExp][] = [
    ['that is compacted', 'events', { 'cleanup.policy': 'compact' }, /cleanup\.policy is compact/],
    [
      'that takes clients’ times',
      'commands',
      { 'message.timestamp.type': 'CreateTime' },
      /message\.timestamp\.type is CreateTime/,
    ],
    [
      'that keeps old values',
      'changelog',
      { 'cleanup.policy': 'delete', 'message.timestamp.type': 'LogAppendTime' },
      /cleanup\.policy is delete/,
    ],
  ]
  for (const [name, topic, config, message] of wrong) {
    test(`a topic ${name} is refused and left alone`, async (t) => {
      const { application, graph } = fresh()
      const configEntries = Object.entries(config).map(([key, value]) => ({ name: key, value }))
      await makeTopic(plain.client(), `${application}.${topic}`, { configEntries })
      await fails(t, graph, 4, message)
      await withAdmin(async (admin) => {
        const there = (await admin.listTopics()).filter((each) => each.startsWith(application))
        deepEqual(there, [`${application}.${topic}`])
      })
    })
  }

  test('of topics that are there, only what is wrong and may be set is set', async () => {
    const { application, kafka } = fresh()
    const events = `${application}.events`
    const type = kafkajs.ConfigResourceTypes.TOPIC
    const given = {
      'cleanup.policy': 'compact',
      'message.timestamp.type': 'LogAppendTime',
      'max.message.bytes': '9999999',
      'retention.ms': '1000',
      'segment.bytes': '1048576',
    }
    const configEntries = Object.entries(given).map(([name, value]) => ({ name, value }))
    await makeTopic(plain.client(), events, { configEntries })
    equal((await runKinfold(['topics', 'apply', ...kafka])).code, 3)
    // A broker shows for a moment what was there before.
    await eventually('the plan has what was refused, and nothing else', async () => {
      const { code, stdout } = await runKinfold(['topics', 'plan', ...kafka])
      const told = stdout.split('\n').filter((line) => line.includes(application))
      const isRefused = /refuse +cleanup\.policy is compact, not delete/.test(stdout)
      return (code === 1 && told.length === 1 && isRefused) || `${code}: ${stdout}`
    })
    await withAdmin(async (admin) => {
      const resources = [{ type, name: events, configNames: Object.keys(given) }]
      const described = await admin.describeConfigs({ includeSynonyms: false, resources })
      const held = described.resources[0]?.configEntries ?? []
      deepEqual(
        Object.fromEntries(held.map(({ configName, configValue }) => [configName, configValue])),
        { ...given, 'retention.ms': '-1' },
      )
    })
  })

  test('the one topic with other partitions is named, and no number that could not be either', async () => {
    const { application, kafka } = fresh()
    equal((await runKinfold(['topics', 'apply', ...kafka])).code, 0)
    await withAdmin(async (admin) => {
      const topicPartitions = [{ topic: `${application}.events`, count: 4 }]
      await admin.createPartitions({ topicPartitions })
    })
    const says = /\.events +refuse +has 4 partitions, not 1: .*make it anew with 1 if it is empty/
    await eventually('the plan has that topic, and nothing else', async () => {
      const { stdout } = await runKinfold(['topics', 'plan', ...kafka])
      const told = stdout.split('\n').filter((line) => line.includes(application))
      return (told.length === 1 && says.test(stdout)) || stdout
    })
  })

  test('graph processes with different policies each say so, and which', async (t) => {
    const { graph, data } = fresh()
    const others = ['--mode', 'enforce', '--data', `${data}-other`]
    const all = [startKinfold(graph), startKinfold([...graph, ...others])]
    const said = all.map(({ child }) => {
      t.after(() => child.kill('SIGKILL'))
      const lines: string[] = []
      child.stderr?.on('data', (chunk) => lines.push(String(chunk)))
      return lines
    })
    const differing =
      /different policies: dry-run guarded \(\w+\) at (\S+); enforce guarded \(\w+\) at ([^\s"]+)/
    for (const lines of said) {
      await eventually('it says so', async () => differing.test(lines.join('')) || lines.join(''))
    }
    const [, ...urls] = differing.exec(said[0]?.join('') ?? '') ?? []
    equal(urls.length, 2)
    for (const url of urls) {
      const told = await (await fetch(`${url}/readyz?verbose`)).text()
      match(told, new RegExp(`\\[!\\]group warning: its processes go by ${differing.source}`))
    }
  })

  test('a directory that is in use, other partitions, and topics made anew', async (t) => {
    const { application, graph, data } = fresh()
    const { child, ended } = startKinfold(graph)
    t.after(() => child.kill('SIGKILL'))
    let said = ''
    child.stdout?.on('data', (chunk) => {
      said += chunk
    })
    child.stderr?.on('data', (chunk) => {
      said += chunk
    })
    await eventually('it folds', async () => /"url"/.test(said) || said)

    const about = (): string => readFileSync(join(data, 'http.json'), 'utf8')
    await eventually('it says where it is', async () => existsSync(join(data, 'http.json')))
    const written = about()
    const inUse = /The directory \S+ is in use by another process: stop that one/
    await fails(t, graph, 4, inUse)
    await fails(t, [...graph, '--application', `${application}-other`], 4, inUse)
    equal(about(), written)
    const partitions = [...graph, '--partitions', '3']
    await fails(t, partitions, 4, /\.events has 1 partition, not 3: .*give --partitions 1/)

    child.kill('SIGTERM')
    equal((await ended).code, 0, said)
    const endsBefore = await endsOf(application, ['events', 'changelog'])
    await withAdmin(async (admin) => {
      const topic = `${application}.history`
      await admin.deleteTopics({ topics: [topic] })
      await eventually('it is gone', async () => !(await admin.listTopics()).includes(topic))
    })
    await fails(t, graph, 4, /the topic .*\.history was deleted and created again.*--application/)
    deepEqual(await endsOf(application, ['events', 'changelog']), endsBefore)
  })
})

function keep(name: string, text: string): void {
  writeFileSync(join(folder, name), text, { mode: 0o600 })
}

function safe(...login: readonly string[]): string[] {
  return ['--brokers', secured.bootstrap.join(), '--tls-ca', secured.security.caFile, ...login]
}

function scram(file: string): string[] {
  const password = ['--sasl-password-file', join(folder, file)]
  return ['--sasl', 'scram-sha-512', '--sasl-username', 'ann', ...password]
}

/** A reaper that has no topics yet, once it says so. */
async function waitingReaper(t: TestContext, kafka: readonly string[]) {
  keep('kubeconfig', NOWHERE)
  const nowhere = ['--kubeconfig', join(folder, 'kubeconfig'), '--http', '127.0.0.1:0']
  const { child, ended } = startKinfold(['reaper', ...kafka, ...nowhere])
  t.after(() => child.kill('SIGKILL'))
  let said = ''
  child.stderr?.on('data', (chunk) => {
    said += chunk
  })
  await eventually('it waits', async () => /waiting for topics/.test(said) || said)
  return { child, ended, said: () => said }
}

/** A kubeconfig of a cluster whose server does not answer. */
const NOWHERE = `{ apiVersion: v1, kind: Config, current-context: blue,
  clusters: [{ name: blue, cluster: { server: 'http://127.0.0.1:1' } }],
  contexts: [{ name: blue, context: { cluster: blue, user: '' } }] }`

/** An application that has nothing yet, and a graph process of it. */
function fresh(): {
  readonly application: string
  readonly kafka: readonly string[]
  readonly graph: readonly string[]
  readonly data: string
} {
  count += 1
  const application = `input-${count}`
  const brokers = ['--brokers', plain.bootstrap.join(), '--application', application]
  const data = join(folder, application)
  const own = ['--data', data, '--http', '127.0.0.1:0']
  return { application, kafka: brokers, graph: ['graph', ...brokers, ...own], data }
}

async function fails(
  t: TestContext,
  args: readonly string[],
  code: number,
  message: RegExp,
): Promise<Ran> {
  const before = performance.now()
  const ran = await runKinfold(args)
  const tookMs = performance.now() - before
  t.diagnostic(`ended after ${(tookMs / 1000).toFixed(1)} s`)
  equal(ran.code, code, ran.stderr)
  match(ran.stderr, message)
  const errors = ran.stderr.split('\n').filter((line) => line.startsWith('error: '))
  equal(errors.length, 1, ran.stderr)
  ok(!ran.stderr.includes('    at '), ran.stderr)
  return ran
}

async function withAdmin(work: (admin: Admin) => Promise<void>): Promise<void> {
  const admin = plain.client().admin()
  await admin.connect()
  try {
    await work(admin)
  } finally {
    await admin.disconnect()
  }
}

async function endsOf(application: string, topics: readonly string[]): Promise<unknown> {
  const ends: unknown[] = []
  await withAdmin(async (admin) => {
    for (const topic of topics) ends.push(await admin.fetchTopicOffsets(`${application}.${topic}`))
  })
  return ends
}
