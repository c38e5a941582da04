/** What may pass is told apart from what a person has to mend, where kafkajs makes them look alike. */
import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import { isPassing, logErrorOf } from './failure.ts'

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
