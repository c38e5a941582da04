/**
 * What is refused of Kafka's settings before anybody is connected to: exit code 2, and a sentence.
 */
import { equal, ok, throws } from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Command } from 'commander'
import { EXIT } from '../../runtime/lifecycle.ts'
import { createProgram } from '../program.ts'
import { type KafkaFlags, kafkaConfig } from './kafka-config.ts'

const folder = mkdtempSync(join(tmpdir(), 'kinfold-kafka-config-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, 'secret')
writeFileSync(file, 'secret\n', { mode: 0o600 })
const open = join(folder, 'open')
writeFileSync(open, 'secret\n')
chmodSync(open, 0o644)

const REMOTE = { brokers: 'kafka:9093' }
const PASSWORD = { saslUsername: 'ann', saslPasswordFile: file }
const ONE_MACHINE = { brokers: '127.0.0.1:9092' }

const refused: readonly [string, KafkaFlags, RegExp][] = [
  ['no broker', {}, /no broker is named: give --brokers HOST:PORT/],
  ['an address without a port', { brokers: 'kafka' }, /kafka is no broker's address/],
  [
    'neither TLS nor login beyond this machine',
    REMOTE,
    /kafka:9093 would be spoken to without TLS and login, .*: use --tls or --sasl, or say --insecure/,
  ],
  [
    'a password in clear beyond this machine',
    { ...REMOTE, ...PASSWORD, sasl: 'plain', insecure: true },
    /the password for kafka:9093 would be sent over the network in clear: use TLS/,
  ],
  [
    'a token in clear beyond this machine',
    { ...REMOTE, sasl: 'oauthbearer', saslTokenFile: file, insecure: true },
    /the token for kafka:9093 would be sent over the network in clear: use TLS/,
  ],
  [
    'a login without a mechanism',
    { ...ONE_MACHINE, ...PASSWORD },
    /--sasl-username: it needs --sasl with a mechanism/,
  ],
  [
    'certificates where TLS is off',
    { ...ONE_MACHINE, tls: false, tlsCa: file },
    /--tls-ca: nothing is spoken to over TLS, says --tls; leave one out/,
  ],
  [
    'another mechanism',
    { ...ONE_MACHINE, sasl: 'gssapi' },
    /--sasl: "gssapi" is none of plain, scram-sha-256, scram-sha-512, oauthbearer/,
  ],
  [
    'a login without a password',
    { ...ONE_MACHINE, sasl: 'scram-sha-512', saslUsername: 'ann' },
    /--sasl scram-sha-512 needs --sasl-username and --sasl-password-file/,
  ],
  [
    'a password file that is not there',
    { ...ONE_MACHINE, ...PASSWORD, sasl: 'plain', saslPasswordFile: '/nowhere' },
    /--sasl-password-file \/nowhere cannot be read/,
  ],
  [
    'a password that other users may read',
    { ...ONE_MACHINE, ...PASSWORD, sasl: 'plain', saslPasswordFile: open },
    /--sasl-password-file .*open: other users may read or change it \(mode 0644\); run "chmod 600 /,
  ],
  [
    'a token that other users may read',
    { ...ONE_MACHINE, sasl: 'oauthbearer', saslTokenFile: open },
    /--sasl-token-file .*open: other users may read/,
  ],
  [
    'a certificate’s key that other users may read',
    { ...ONE_MACHINE, tlsCert: file, tlsKey: open },
    /--tls-key .*open: other users may read/,
  ],
  [
    'a registry’s credentials that other users may read',
    {
      ...ONE_MACHINE,
      schemaRegistry: 'http://127.0.0.1:8081',
      schemaRegistryCredentialsFile: open,
    },
    /--schema-registry-credentials-file .*open: other users may read/,
  ],
  [
    'a certificate without its key',
    { ...ONE_MACHINE, tlsCert: file },
    /--tls-cert and --tls-key belong together/,
  ],
  [
    'a registry’s credentials in clear',
    {
      ...ONE_MACHINE,
      schemaRegistry: 'http://registry:8081',
      schemaRegistryCredentialsFile: file,
    },
    /--schema-registry: the credentials would be sent over the network in clear: use https/,
  ],
]

for (const [name, flags, message] of refused) {
  test(`${name} is refused`, () => {
    throws(() => kafkaConfig(flags, undefined, 'kafka'), { exitCode: EXIT.input, message })
  })
}

test('an unknown key of the section is refused by its name', () => {
  const section = { broker: 'kafka:9092' }
  const message = /config\.yaml: kafka: unknown key broker; known are brokers, /
  throws(() => kafkaConfig({}, section, 'config.yaml'), { exitCode: EXIT.input, message })
})

test('what is safe, or said to be, is taken', () => {
  const taken: readonly KafkaFlags[] = [
    ONE_MACHINE,
    { ...ONE_MACHINE, ...PASSWORD, sasl: 'plain' },
    { ...REMOTE, tls: true },
    { ...REMOTE, insecure: true },
    { ...REMOTE, ...PASSWORD, sasl: 'scram-sha-512' },
    { ...REMOTE, ...PASSWORD, sasl: 'plain', tls: true },
    { brokers: '[::1]:9092' },
  ]
  for (const flags of taken) {
    const { settings } = kafkaConfig(flags, undefined, 'kafka')
    equal(settings.brokers.join(), flags.brokers)
  }
})

test('commands that only read the brokers have no settings of what is written', async () => {
  const program = await createProgram()
  const named = (name: string): Command => program.commands.find((each) => each.name() === name)!
  const [verify] = named('audit').commands
  for (const command of [named('restore'), verify!]) {
    const flags = command.options.map(({ long }) => long)
    ok(flags.includes('--brokers'))
    for (const writing of ['--compression', '--replicas', '--no-create-topics']) {
      ok(!flags.includes(writing), `${command.name()} ${writing}`)
    }
  }
})
