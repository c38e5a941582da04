/**
 * A passing failure is distinguished from one that a person has to mend, where kafkajs makes them
 * look alike.
 */
import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import { BrokerError, CODE, isPassing, logErrorOf } from './failure.ts'

/** kafkajs exports no such class; it is known by its name. */
function saslError(message: string): Error {
  return Object.assign(new Error(message), { name: 'KafkaJSSASLAuthenticationError' })
}

const CASES: readonly [text: string, mayPass: boolean][] = [
  ['SASL SCRAM SHA512 authentication failed: Closed connection', true],
  ['SASL SCRAM SHA512 authentication failed: Connection closed by the server', true],
  ['SASL SCRAM SHA512 authentication failed: Connection error: read ECONNRESET', true],
  ['SASL OAUTHBEARER authentication failed: Request SaslAuthenticate(key: 36) timed out', true],
  [
    'SASL SCRAM SHA512 authentication failed: Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-512',
    false,
  ],
  ['SASL PLAIN authentication failed: Authentication failed: Invalid username or password', false],
  ['SASL SCRAM-SHA-256 mechanism is not supported by the server', false],
]

for (const [text, mayPass] of CASES) {
  test(`"${text}" ${mayPass ? 'is a broker that goes away' : 'is for a person'}`, () => {
    const error = saslError(text)
    equal(isPassing(error), mayPass)
    equal(logErrorOf(error, 'reading', 'UNAVAILABLE').remedy, mayPass ? 'retry' : 'stop')
  })
}

/** As kafkajs converts a socket error of Node. */
function connectionError(text: string, code: string): Error {
  const message = `Connection error: ${text}`
  return Object.assign(new Error(message), { name: 'KafkaJSConnectionError', code })
}

const AFTER_NAMES: readonly [what: string, error: Error, mayPass: boolean][] = [
  [
    'a topic that is new and is called after certificates',
    new BrokerError(CODE.unknownTopicOrPartition, 'looking at the topic certificate.events'),
    true,
  ],
  [
    'topics not yet known that are called after certificates',
    Object.assign(new Error('Topic certificate.events has no metadata yet'), {
      name: 'KafkaJSTopicMetadataNotLoaded',
    }),
    true,
  ],
  [
    'a host that no name server knows and is called after certificates',
    connectionError('getaddrinfo ENOTFOUND certificate.invalid', 'ENOTFOUND'),
    true,
  ],
  [
    'a broker that goes away during the handshake',
    connectionError(
      'Client network socket disconnected before secure TLS connection was established',
      'ECONNRESET',
    ),
    true,
  ],
  [
    'a certificate of nobody known',
    connectionError('self-signed certificate', 'DEPTH_ZERO_SELF_SIGNED_CERT'),
    false,
  ],
  [
    'a port that speaks something else',
    connectionError('write EPROTO 00E8: error:0A00010B:SSL routines::wrong version', 'EPROTO'),
    false,
  ],
]

for (const [what, error, mayPass] of AFTER_NAMES) {
  test(`${what} ${mayPass ? 'may pass' : 'is for a person'}`, () => {
    equal(isPassing(error), mayPass)
    equal(logErrorOf(error, 'reading', 'UNAVAILABLE').remedy, mayPass ? 'retry' : 'stop')
  })
}
