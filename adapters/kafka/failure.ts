/**
 * What went wrong at a broker, as the port's errors: a sentence, and what is to be done.
 *
 * What must stay true: only what certainly had no effect is `retry`; what a commit became of after any other failure is unknown. Two codes say
 * that somebody else owns a task, no others.
 */
import { LogError, type LogErrorCode } from '../../ports/log.ts'

/** Of Kafka's protocol; only those that are told apart. */
export const CODE = {
  none: 0,
  offsetOutOfRange: 1,
  unknownTopicOrPartition: 3,
  leaderNotAvailable: 5,
  notLeader: 6,
  requestTimedOut: 7,
  messageTooLarge: 10,
  coordinatorLoading: 14,
  coordinatorNotAvailable: 15,
  notCoordinator: 16,
  recordListTooLarge: 18,
  unknownMember: 25,
  rebalanceInProgress: 27,
  topicAuthorization: 29,
  groupAuthorization: 30,
  clusterAuthorization: 31,
  unsupportedSasl: 33,
  unsupportedVersion: 35,
  duplicateSequence: 46,
  invalidProducerEpoch: 47,
  concurrentTransactions: 51,
  transactionalIdAuthorization: 53,
  saslAuthentication: 58,
  invalidRecord: 87,
  producerFenced: 90,
} as const

/** Nothing happened, or the same may be done again: the broker knows a repeated batch by its number. */
const PASSING: ReadonlySet<number> = new Set([
  2, 3, 5, 6, 7, 8, 9, 13, 14, 15, 16, 19, 20, 41, 56, 72, 74, 75, 76, 78,
])

export class BrokerError extends Error {
  override readonly name = 'BrokerError'
  readonly code: number

  constructor(code: number, what: string) {
    super(`${what}: Kafka's error ${code}`)
    this.code = code
  }
}

/** Kafka's code, if the error is an answer of a broker. */
export function codeOf(error: unknown): number | undefined {
  if (error instanceof BrokerError) return error.code
  if (!(error instanceof Error)) return undefined
  const cause = rootOf(error)
  const { code } = cause as { code?: unknown }
  if (typeof code === 'number' && code >= 0) return code
  // kafkajs' table ends at 88.
  const unknown = /Unknown error code (\d+)/.exec(cause.message)
  return unknown === null ? undefined : Number(unknown[1])
}

export function isFenced(error: unknown): boolean {
  const code = codeOf(error)
  return code === CODE.invalidProducerEpoch || code === CODE.producerFenced
}

/** The same call may help later, perhaps at another broker. */
export function isPassing(error: unknown): boolean {
  if (error instanceof LogError) return error.remedy === 'retry'
  if (permanentOf(error, '') !== undefined) return false
  const code = codeOf(error)
  return code === undefined ? isNetwork(error) : PASSING.has(code)
}

/** As the port tells it. What no rule knows is `otherwise`. */
export function logErrorOf(error: unknown, doing: string, otherwise: LogErrorCode): LogError {
  if (error instanceof LogError) return error
  const permanent = permanentOf(error, doing)
  if (permanent !== undefined) return permanent
  return new LogError(otherwise, `${doing} failed: ${textOf(error)}${HINTS[otherwise] ?? ''}`, {
    cause: error,
  })
}

const HINTS: { readonly [Code in LogErrorCode]?: string } = {
  UNAVAILABLE:
    '; check that the brokers run, and that their addresses are right and reachable from here',
  UNKNOWN_OUTCOME: '; whether it took effect is unknown, so the task is opened again',
}

/** What no waiting mends: a person has to. */
function permanentOf(error: unknown, doing: string): LogError | undefined {
  const stop = (what: string): LogError =>
    new LogError('INVALID', `${doing}: ${what}`, { cause: error })
  switch (codeOf(error)) {
    case CODE.topicAuthorization:
      return stop(
        `${textOf(error)}; give this account the ACLs that docs/kafka.md lists for topics`,
      )
    case CODE.groupAuthorization:
      return stop(
        'this account may not use its group; give it the ACLs that docs/kafka.md lists for groups',
      )
    case CODE.clusterAuthorization:
      return stop(
        'this account lacks a right on the cluster; give it the ACLs that docs/kafka.md lists',
      )
    case CODE.transactionalIdAuthorization:
      return stop(
        'this account may not use its transactional id; give it the ACLs that docs/kafka.md lists for transactional ids',
      )
    case CODE.messageTooLarge:
    case CODE.recordListTooLarge:
      return stop(
        "a record is larger than the topic's max.message.bytes; kinfold topics apply raises it, and the broker's message.max.bytes must allow it",
      )
    case CODE.invalidRecord:
      return stop('the broker refuses a record as invalid; see its log')
    case CODE.unsupportedVersion:
      return stop('the broker is too old: Kinfold needs Kafka 2.8 or newer')
    case CODE.unsupportedSasl:
      return stop('the brokers do not offer this SASL mechanism; give one of theirs with --sasl')
    case CODE.saslAuthentication:
      return stop('the brokers refuse these credentials; see --sasl and its files')
    default:
  }
  return permanentByText(error, stop)
}

function permanentByText(error: unknown, stop: (what: string) => LogError): LogError | undefined {
  if (!(error instanceof Error)) return undefined
  const cause = rootOf(error)
  const text = cause.message
  if (cause.name === 'KafkaJSSASLAuthenticationError' && !isCutOff(text)) {
    return stop(`the brokers refuse these credentials (${text}); see --sasl and its files`)
  }
  if (cause.name === 'KafkaJSServerDoesNotSupportApiKey' || /not supported.*api key/i.test(text)) {
    return stop(`the broker is too old or too new (${text}): Kinfold speaks to Kafka 2.8 to 4.x`)
  }
  if (/certificate|self-signed|altname|SSL routines|EPROTO/i.test(text)) {
    return stop(
      `the TLS connection is refused (${text}); see --tls-ca, and whether the port speaks TLS`,
    )
  }
  return undefined
}

/** kafkajs calls it a refusal of the credentials, too, when the connection ends or the broker falls silent in the middle of the exchange. */
function isCutOff(text: string): boolean {
  return /timed? ?out|connection (closed|error)|closed connection|not connected|ECONN|EPIPE/i.test(
    text,
  )
}

function isNetwork(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const cause = rootOf(error)
  if (cause.name === 'KafkaJSSASLAuthenticationError') return isCutOff(cause.message)
  if (cause.message === 'Broker not connected') return true
  return /^KafkaJS(Connection|ConnectionClosed|RequestTimeout|BrokerNotFound|LockTimeout|MetadataNotLoaded|TopicMetadataNotLoaded|GroupCoordinatorNotFound|NumberOfRetriesExceeded)/.test(
    cause.name,
  )
}

/** kafkajs wraps what it repeated in vain. */
function rootOf(error: Error): Error {
  const { cause, originalError } = error as { cause?: unknown; originalError?: unknown }
  for (const inner of [cause, originalError]) if (inner instanceof Error) return rootOf(inner)
  return error
}

function textOf(error: unknown): string {
  return error instanceof Error ? rootOf(error).message : String(error)
}
