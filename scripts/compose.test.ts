/**
 * docker-compose.yml agrees with the Dockerfile and with the code, shown without Docker.
 *
 * Not here: that the commands of docker-compose.yml work (cli/e2e/compose.kafka.test.ts).
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import type { Command } from 'commander'
import { upConfig } from '../cli/config/config.ts'
import { kafkaConfig } from '../cli/config/kafka-config.ts'
import { createProgram } from '../cli/program.ts'
import { parseAddress } from '../runtime/http/address.ts'
import { checkHttp } from '../runtime/http/endpoint.ts'
import { KAFKA_VERSION } from '../testing/kafka/jars.ts'
import {
  type ComposeService,
  flagOf,
  kafkaProperties,
  ownServices,
  readCompose,
} from '../testing/process/compose.ts'
import {
  argumentsOf,
  baseOf,
  environment,
  isIgnored,
  texts,
} from '../testing/process/dockerfile.ts'

const root = join(import.meta.dirname, '..')
const compose = readCompose()
const services = Object.entries(compose.services)
const own = ownServices(compose)

/**
 * Of the compose specification, what this file uses: a key that is misspelt would be an error
 * there, or do nothing.
 */
const KEYS = {
  top: ['name', 'services', 'secrets', 'volumes'],
  service: [
    'build',
    'cap_drop',
    'command',
    'depends_on',
    'deploy',
    'environment',
    'healthcheck',
    'hostname',
    'image',
    'logging',
    'ports',
    'pull_policy',
    'read_only',
    'restart',
    'secrets',
    'security_opt',
    'stop_grace_period',
    'tmpfs',
    'volumes',
  ],
  healthcheck: ['disable', 'interval', 'retries', 'start_period', 'test', 'timeout'],
  need: ['condition', 'restart'],
  deploy: ['replicas'],
  logging: ['driver', 'options'],
}
const CONDITIONS = ['service_started', 'service_healthy', 'service_completed_successfully']

suite('docker-compose.yml', () => {
  test('has keys that compose knows', () => {
    const unknown = (keys: readonly string[], value: object = {}): string[] =>
      Object.keys(value).filter((key) => !keys.includes(key) && !key.startsWith('x-'))
    deepEqual(unknown(KEYS.top, compose), [])
    for (const [name, service] of services) {
      const parts = service as ComposeService & { readonly logging?: object }
      deepEqual(unknown(KEYS.service, service), [], name)
      deepEqual(unknown(KEYS.healthcheck, parts.healthcheck), [], name)
      deepEqual(unknown(KEYS.deploy, parts.deploy), [], name)
      const needs = Object.values(service.depends_on ?? {})
      deepEqual(
        needs.flatMap((need) => unknown(KEYS.need, need)),
        [],
        name,
      )
      deepEqual(unknown(KEYS.logging, parts.logging), [], name)
    }
  })

  test('depends on services that are there, and that can be healthy or complete', () => {
    for (const [name, { depends_on: needs = {} }] of services) {
      for (const [needed, { condition }] of Object.entries(needs)) {
        const service = compose.services[needed]
        ok(service !== undefined && CONDITIONS.includes(condition), `${name}: ${needed}`)
        if (condition === 'service_healthy') ok(service.healthcheck.test !== undefined, needed)
        if (condition.includes('completed')) equal(service.restart, 'no', needed)
      }
    }
  })

  test('builds its image once, and takes it from nowhere else', () => {
    equal(own.length, 6)
    const policies = own.map(([name, { build, pull_policy }]) => [name, build, pull_policy])
    const expected = (name: string): unknown[] =>
      name === 'topics' ? ['.', 'build'] : [undefined, 'never']
    deepEqual(
      policies,
      own.map(([name]) => [name, ...expected(name)]),
    )
  })

  test('mounts volumes and secrets that it declares, and declares none in vain', () => {
    const mounted = services.flatMap(([, { volumes = [] }]) =>
      volumes.map((each) => each.split(':')[0]),
    )
    deepEqual([...new Set(mounted)].toSorted(), Object.keys(compose.volumes).toSorted())
    const shown = services.flatMap(([, { secrets = [] }]) => secrets)
    deepEqual([...new Set(shown)], Object.keys(compose.secrets))
  })

  test('keeps its secrets out of the repository and out of the image', () => {
    const ignored = readFileSync(join(root, '.gitignore'), 'utf8').split('\n')
    for (const { file } of Object.values(compose.secrets)) {
      ok(ignored.includes(file.replace('./', '/')), file)
      ok(isIgnored(file.replace('./', '')), file)
    }
  })

  test('publishes on loopback only, each port once', () => {
    const ports = services.flatMap(([, each]) => each.ports ?? [])
    deepEqual(
      ports.filter((port) => !/^127\.0\.0\.1:\d+:\d+$/.test(port)),
      [],
    )
    equal(new Set(ports.map((port) => port.split(':')[1])).size, ports.length)
  })

  test('gives no service more than it needs', () => {
    for (const [name, service] of services) {
      deepEqual(service.cap_drop, ['ALL'], name)
      deepEqual(service.security_opt, ['no-new-privileges:true'], name)
      equal(service.restart, name === 'topics' ? 'no' : 'unless-stopped')
      const { digest } = baseOf(service.image)
      const isOwn = own.some(([each]) => each === name)
      equal(
        digest === undefined,
        isOwn,
        `${name}: what comes from a registry is pinned by a digest`,
      )
    }
    const writable = services.filter(([, each]) => each.read_only !== true).map(([name]) => name)
    deepEqual(writable, ['kafka'])
  })

  test('mounts what Kinfold writes for the user of the image', () => {
    const [uid, gid] = (texts('USER').at(-1) ?? '').split(':')
    const cache = `${environment()['XDG_CACHE_HOME']}/kinfold`
    const made = texts('RUN').join(' ')
    for (const [name, { tmpfs = [], volumes = [] }] of own) {
      ok(tmpfs[0]?.startsWith(`${cache}:uid=${uid},gid=${gid},`), name)
      // A new volume takes its owner from the folder of the image that it is mounted on.
      for (const volume of volumes)
        ok(
          made.includes(`-o ${uid} -g ${gid}`) && made.includes(volume.split(':')[1] ?? ''),
          volume,
        )
    }
  })
})

suite('the commands of docker-compose.yml', () => {
  for (const [name, service] of own) {
    test(`${name}: its flags exist and have values that are taken`, async () => {
      const flags = await flagsOf(service.command ?? [])
      upConfig(flags)
      for (const address of (flags['listen'] ?? []) as string[]) parseAddress(address)
      if (flags['brokers'] === undefined) return
      const { settings } = kafkaConfig(flags, undefined, 'kafka')
      const { hostname, port } = new URL(`kafka://${settings.brokers[0]}`)
      equal(kafkaProperties(compose)['advertised.listeners'], `PLAINTEXT://${hostname}:${port}`)
    })

    test(`${name}: its health is asked where it listens`, () => {
      const { test: command, disable } = service.healthcheck
      const listens = flagOf(service, 'http') ?? flagOf(service, 'listen')
      if (disable) return equal(listens, undefined)
      const [cmd, ...words] = command ?? []
      equal(cmd, 'CMD')
      deepEqual(words.slice(0, 2), argumentsOf(texts('HEALTHCHECK')[0] ?? '').slice(0, 2))
      equal(words[2], `http://${listens?.replace('0.0.0.0', '127.0.0.1')}`)
    })

    test(`${name}: what is published is listened on`, () => {
      const addresses = (service.command ?? []).flatMap(
        (word) => /^--(?:http|listen)=(.*)/.exec(word)?.[1] ?? [],
      )
      const reachable = addresses
        .filter((each) => !each.startsWith('127.'))
        .map((each) => each.split(':')[1])
      deepEqual(
        (service.ports ?? []).map((port) => port.split(':')[2]),
        reachable,
      )
    })
  }

  test('who is listened to by others wants a token, and is found by its name', () => {
    for (const [name, service] of own.filter(([, { command }]) => command?.[0] === 'graph')) {
      const advertise = flagOf(service, 'http-advertise')
      const address = flagOf(service, 'http') ?? ''
      equal(advertise, `${name}:${parseAddress(address).port}`)
      equal(flagOf(service, 'http-token-file'), `/run/secrets/${service.secrets?.[0]}`)
      const token = { isShown: (): boolean => false, failure: (): string => '' }
      checkHttp({ address, advertise, token, isShared: true })
    }
  })

  test('graph-2 is graph-1 under another name', () => {
    const [one, two] = ['graph-1', 'graph-2'].map((name) =>
      compose.services[name]?.command?.map((word) => word.replace(name, 'graph')),
    )
    deepEqual(one, two)
  })

  test('data and kubeconfig lie on volumes', () => {
    for (const [name, service] of own) {
      const mounts = (service.volumes ?? []).map((volume) => volume.split(':')[1])
      for (const path of [
        flagOf(service, 'data'),
        flagOf(service, 'kubeconfig')?.replace(/\/kubeconfig$/, ''),
      ]) {
        if (path !== undefined) ok(mounts.includes(path), `${name}: ${path}`)
      }
    }
  })

  test('all that act do it in one mode, and no others have one', () => {
    const modes = own.map(([, each]) => [
      each.command?.[0],
      flagOf(each, 'mode'),
      flagOf(each, 'preset'),
    ])
    const acting = modes.filter(([command]) => command === 'graph' || command === 'reaper')
    deepEqual(
      acting.map(([, ...rest]) => rest),
      acting.map(() => ['enforce', 'parity']),
    )
  })
})

suite('the Kafka of docker-compose.yml', () => {
  const {
    image,
    environment: variables = {},
    hostname,
  } = compose.services['kafka'] as ComposeService & {
    hostname: string
  }
  const properties = kafkaProperties(compose)

  test('is the version that tests run', () => {
    const { name, tag } = baseOf(image)
    deepEqual([name, tag], ['apache/kafka', KAFKA_VERSION])
  })

  test('is a controller of its own, on a listener apart', () => {
    const controller = properties['controller.listener.names']
    const listeners = new Map(
      (properties['listeners'] ?? '')
        .split(',')
        .map((each) => each.split('://') as [string, string]),
    )
    const protocols = (properties['listener.security.protocol.map'] ?? '')
      .split(',')
      .map((each) => each.split(':')[0])
    deepEqual(protocols.toSorted(), [...listeners.keys()].toSorted())
    equal(properties['process.roles'], 'broker,controller')
    equal(
      properties['controller.quorum.voters'],
      `${properties['node.id']}@${hostname}${listeners.get(controller ?? '')}`,
    )
    ok(listeners.has(properties['inter.broker.listener.name'] ?? ''))
    ok(!properties['advertised.listeners']?.includes(controller ?? ''))
  })

  test('keeps one copy of what it keeps, on its volume', () => {
    const copies = Object.entries(properties).filter(([name]) =>
      /replication\.factor$|min\.isr$/.test(name),
    )
    deepEqual(
      copies.filter(([, value]) => value !== '1'),
      [],
    )
    equal(compose.services['kafka']?.volumes?.[0], `kafka:${properties['log.dirs']}`)
  })

  test('has an identity as Kafka wants it: 16 bytes', () =>
    equal(Buffer.from(variables['CLUSTER_ID'] ?? '', 'base64url').length, 16))
})

/** How Kinfold's own program reads a command line; throws where it would refuse it. */
async function flagsOf(line: readonly string[]): Promise<Record<string, unknown>> {
  const program = await createProgram()
  let flags: Record<string, unknown> | undefined
  const all: Command[] = [program]
  for (const command of all) {
    command.exitOverride().configureOutput({ writeErr: () => undefined })
    all.push(...(command.commands as Command[]))
    if (command.commands.length > 0) continue
    command.action((...args: unknown[]) => {
      flags = (args.at(-1) as Command).opts()
    })
  }
  await program.parseAsync(line, { from: 'user' })
  ok(flags !== undefined, 'no such command')
  return flags
}
