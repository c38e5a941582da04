/**
 * How Kafka is reached: flags, and the section `kafka` of the config file.
 *
 * What must stay true: secrets come from files alone, never from an argument that others can list;
 * files are read when they are needed, so one that is replaced counts at the next connection.
 */
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { Registry } from '../../adapters/avro/registry.ts'
import { COMPRESSIONS } from '../../adapters/kafka/protocol/record-batch.ts'
import type { KafkaSasl, KafkaSettings, KafkaTls } from '../../adapters/kafka/settings.ts'
import { isLoopback, refusalOf } from '../../adapters/kafka/settings.ts'
import { checkSecret } from '../../runtime/file-access.ts'
import { bad, checkKey, flag, flagOf, oneOf, type Setting, text, texts, whole } from './setting.ts'

export interface KafkaConfig {
  readonly settings: KafkaSettings
  readonly replicas: number | undefined
  readonly mayCreate: boolean
  /** Where public records' schemas are made known; undefined: nowhere. */
  readonly registry: Registry | undefined
  /** Whether public records have the headers of CloudEvents. */
  readonly cloudEvents: boolean
}

/** As commander gives them; undefined where not given. */
export interface KafkaFlags {
  readonly brokers?: string
  readonly application?: string
  readonly tls?: boolean
  readonly tlsCa?: string
  readonly tlsCert?: string
  readonly tlsKey?: string
  readonly sasl?: string
  readonly saslUsername?: string
  readonly saslPasswordFile?: string
  readonly saslTokenFile?: string
  readonly insecure?: boolean
  readonly compression?: string
  readonly replicas?: string
  readonly createTopics?: boolean
  readonly schemaRegistry?: string
  readonly schemaRegistryCredentialsFile?: string
  readonly cloudEvents?: boolean
}

const MECHANISMS = ['plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer'] as const
const MAX_REPLICAS = 32
/** Characters that topics, groups and transactional ids of ours begin with. */
const APPLICATION = /^[a-zA-Z0-9._-]{1,100}$/

const KEYS = [
  'brokers',
  'application',
  'tls',
  'tlsCa',
  'tlsCert',
  'tlsKey',
  'sasl',
  'saslUsername',
  'saslPasswordFile',
  'saslTokenFile',
  'insecure',
  'compression',
  'replicas',
  'createTopics',
  'schemaRegistry',
  'schemaRegistryCredentialsFile',
  'cloudEvents',
]

/** For commands that only read. */
export function addBrokerOptions(command: Command): Command {
  return addConnectionOptions(
    command.option(
      '--application <name>',
      'before all topics, groups and transactions (default: kinfold)',
    ),
  )
}

/** Of a topic that is not Kinfold's, too. */
export function addConnectionOptions(command: Command): Command {
  return command
    .option('--brokers <list>', 'Kafka brokers, HOST:PORT with commas between')
    .option('--tls', 'encrypt, trusting the system’s authorities')
    .option('--tls-ca <file>', 'encrypt, trusting these authorities (PEM)')
    .option('--tls-cert <file>', 'client certificate (PEM), with --tls-key')
    .option('--tls-key <file>', 'its key (PEM)')
    .option('--sasl <mechanism>', `authenticate with ${MECHANISMS.join(', ')}`)
    .option('--sasl-username <name>', 'for plain and scram')
    .option('--sasl-password-file <file>', 'for plain and scram')
    .option('--sasl-token-file <file>', 'for oauthbearer; read again whenever a token is needed')
    .option('--insecure', 'also without TLS and login beyond this machine')
}

export function addKafkaOptions(command: Command): Command {
  return addBrokerOptions(command)
    .option('--compression <codec>', `of new records: ${COMPRESSIONS.join(', ')} (default: zstd)`)
    .option('--replicas <n>', 'copies of new topics (default: 3, or one a broker if fewer)')
    .option('--no-create-topics', 'refuse to start while topics are missing or wrong')
}

export function kafkaConfig(flags: KafkaFlags, section: unknown, file: string): KafkaConfig {
  const from = mapping(section, file)
  const pick = (key: keyof KafkaFlags): Setting => ({
    key,
    value: flags[key] ?? from[key],
    from: flags[key] === undefined ? `${file}: kafka.${key}` : `${flagOf(key)}`,
  })
  // Commander gives true for a negated flag that was not given.
  const creates =
    flags.createTopics === false
      ? false
      : (flag({ ...pick('createTopics'), value: from['createTopics'] }) ?? true)
  const application = text(pick('application')) ?? 'kinfold'
  if (!APPLICATION.test(application)) {
    throw bad(
      `${pick('application').from}: ${application} is no name for topics: take letters, digits, dots, _ and -`,
    )
  }
  const settings: KafkaSettings = {
    brokers: brokersOf(pick('brokers')),
    application,
    tls: tlsOf(pick),
    sasl: saslOf(pick),
    insecure: flag(pick('insecure')),
    compression: oneOf(pick('compression'), COMPRESSIONS) ?? 'zstd',
  }
  const refusal = refusalOf(settings)
  if (refusal !== undefined) throw bad(refusal)
  return {
    settings,
    replicas: whole(pick('replicas'), 1, MAX_REPLICAS),
    mayCreate: creates,
    registry: registryOf(pick),
    cloudEvents: flag(pick('cloudEvents')) ?? false,
  }
}

function mapping(section: unknown, file: string): Record<string, unknown> {
  if (section === undefined) return {}
  if (typeof section !== 'object' || section === null || Array.isArray(section)) {
    throw bad(`${file}: kafka: expected a mapping with brokers`)
  }
  for (const key of Object.keys(section)) checkKey(key, KEYS, `${file}: kafka`)
  return section as Record<string, unknown>
}

function brokersOf(setting: Setting): readonly string[] {
  const { value } = setting
  if (typeof value !== 'string') return texts(setting)
  return value.split(',').map((broker) => broker.trim())
}

type Pick = (key: keyof KafkaFlags) => Setting

function tlsOf(pick: Pick): KafkaTls | undefined {
  const files = (['tlsCa', 'tlsCert', 'tlsKey'] as const).map(pick)
  const [ca, cert] = files.map(contentOf)
  const key = secretOf(pick('tlsKey'))
  const given = files.find(({ value }) => value !== undefined)
  const setting = pick('tls')
  const isAsked = flag(setting) ?? given !== undefined
  if (!isAsked && given !== undefined) {
    throw bad(`${given.from}: nothing is spoken to over TLS, says ${setting.from}; leave one out`)
  }
  if (!isAsked) return undefined
  if ((cert === undefined) !== (key === undefined)) {
    throw bad('--tls-cert and --tls-key belong together: give both or neither')
  }
  return { ca: ca ?? null, cert: cert ?? null, key: key ?? null }
}

function saslOf(pick: Pick): KafkaSasl | undefined {
  const mechanism = oneOf(pick('sasl'), MECHANISMS)
  if (mechanism === undefined) {
    const files = (['saslUsername', 'saslPasswordFile', 'saslTokenFile'] as const).map(pick)
    const given = files.find(({ value }) => value !== undefined)
    if (given === undefined) return undefined
    throw bad(`${given.from}: it needs --sasl with a mechanism`)
  }
  if (mechanism === 'oauthbearer') {
    const setting = pick('saslTokenFile')
    const path = text(setting)
    if (path === undefined) throw bad('--sasl oauthbearer needs --sasl-token-file')
    secretOf(setting)
    return { mechanism, token: async () => (contentOf(setting) ?? '').trim() }
  }
  const username = text(pick('saslUsername'))
  const password = secretOf(pick('saslPasswordFile'))
  if (username === undefined || password === undefined) {
    throw bad(`--sasl ${mechanism} needs --sasl-username and --sasl-password-file`)
  }
  return { mechanism, username, password: password.replace(/\r?\n$/, '') }
}

function registryOf(pick: Pick): Registry | undefined {
  const setting = pick('schemaRegistry')
  const url = text(setting)
  if (url === undefined) return undefined
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol)) {
    throw bad(`${setting.from}: ${url} is no address: give http://HOST:PORT or https://…`)
  }
  if (parsed.username !== '' || parsed.password !== '') {
    throw bad(`${setting.from}: credentials come from --schema-registry-credentials-file only`)
  }
  const credentials = secretOf(pick('schemaRegistryCredentialsFile'))?.trim()
  if (credentials !== undefined && parsed.protocol === 'http:' && !isLoopback(parsed.host)) {
    throw bad(`${setting.from}: the credentials would be sent over the network in clear: use https`)
  }
  return { url, credentials }
}

/** Refused where other users may read it. */
function secretOf(setting: Setting): string | undefined {
  const content = contentOf(setting)
  if (content !== undefined) checkSecret(text(setting) ?? '', setting.from)
  return content
}

function contentOf(setting: Setting): string | undefined {
  const path = text(setting)
  if (path === undefined) return undefined
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw bad(
      `${setting.from} ${path} cannot be read: ${error instanceof Error ? error.message : error}`,
    )
  }
}
