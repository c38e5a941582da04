/**
 * Failures at a broker, as the port's errors: a sentence, and the remedy.
 *
 * What must stay true: only what certainly had no effect is `retry`; the outcome of a commit after
 * any other failure is unknown. Two codes say that another process owns a task, no others.
 */
import { LogError, type LogErrorCode } from '../../ports/log.ts'

/** Of Kafka's protocol; only those that are distinguished. */
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
  illegalSaslState: 34,
  unsupportedVersion: 35,
  invalidReplication: 38,
  duplicateSequence: 46,
  invalidProducerEpoch: 47,
  concurrentTransactions: 51,
  transactionalIdAuthorization: 53,
  operationNotAttempted: 55,
  saslAuthentication: 58,
  invalidRecord: 87,
  producerFenced: 90,
} as const

/**
 * Nothing happened, or the same may be done again: the broker knows a repeated batch by its number.
 */
const PASSING: ReadonlySet<number> = new Set([
  2, 3, 5, 6, 7, 8, 9, 13, 14, 15, 16, 19, 20, 41, 56, 72, 74, 75, 76, 78,
])

/** `what`: the request, with the name of its resource. */
export class BrokerError extends Error {
  override readonly name = 'BrokerError'
  readonly code: number
  readonly what: string

  constructor(code: number, what: string, options?: ErrorOptions) {
    super(`${what}: Kafka's error ${code}`, options)
    this.code = code
    this.what = what
  }
}

/**
 * A refusal by the broker is reported with the name of the requested resource: kafkajs leaves it
 * out.
 */
export async function asking<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const code = codeOf(error)
    if (code === undefined || error instanceof BrokerError) throw error
    throw new BrokerError(code, what, { cause: error })
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

/** As an error of the port. A failure that no rule knows is `otherwise`. */
export function logErrorOf(error: unknown, doing: string, otherwise: LogErrorCode): LogError {
  if (error instanceof LogError) return error
  const permanent = permanentOf(error, doing)
  if (permanent !== undefined) return permanent
  const text = textOf(error)
  const hint = text === HUNG_UP || text === NO_HANDSHAKE ? '' : (HINTS[otherwise] ?? '')
  return new LogError(otherwise, `${doing} failed: ${text}${hint}`, { cause: error })
}

const HINTS: { readonly [Code in LogErrorCode]?: string } = {
  UNAVAILABLE:
    '; check that the brokers run, and that their addresses are right and reachable from here',
  UNKNOWN_OUTCOME: '; whether it took effect is unknown, so the task is opened again',
}

/** Some refuse in this way alone. */
const HUNG_UP =
  'the broker closed the connection; if it always does, the port may want TLS (--tls-ca) or a login (--sasl), or be no port for clients'

const NO_HANDSHAKE =
  'the TLS connection failed (the broker closed it during the handshake); if it always does, see --tls-cert, and whether the port speaks TLS'

/** Kafka's texts for these say less than the name of the requested resource. */
const SENTENCES: Readonly<Record<number, (what: string) => string>> = {
  [CODE.topicAuthorization]: (what) => lacking('topics', what),
  [CODE.groupAuthorization]: (what) => lacking('groups', what),
  [CODE.clusterAuthorization]: (what) => lacking('the cluster', what),
  [CODE.transactionalIdAuthorization]: (what) => lacking('transactional ids', what),
  [CODE.messageTooLarge]: tooLarge,
  [CODE.recordListTooLarge]: tooLarge,
  [CODE.invalidRecord]: () => 'the broker refuses a record as invalid; see its log',
  [CODE.unsupportedVersion]: (what) =>
    `the broker is too old or too new (${what}): Kinfold speaks to Kafka 2.8 to 4.x`,
  [CODE.unsupportedSasl]: () =>
    'the brokers do not offer this SASL mechanism; give one of theirs with --sasl',
  [CODE.illegalSaslState]: () =>
    'this port asks for no login; leave --sasl away, or give the address of a port that does',
  [CODE.invalidReplication]: (what) =>
    `there are fewer brokers than copies asked for (${what}); give --replicas no more than there are, or start more brokers`,
  [CODE.saslAuthentication]: (what) =>
    `the brokers refuse these credentials (${what}); see --sasl and its files`,
}

function lacking(rights: string, what: string): string {
  return `this account lacks a right (${what}); give it the ACLs that docs/operate/kafka.md lists for ${rights}`
}

function tooLarge(what: string): string {
  return `a record is larger than the topic's max.message.bytes (${what}); kinfold topics apply raises it, and no record is lost: start again then`
}

/** Failures that no waiting mends: a person has to. */
function permanentOf(error: unknown, doing: string): LogError | undefined {
  const text = sentenceOf(error)
  if (text === undefined) return undefined
  return new LogError('INVALID', `${doing}: ${text}`, { cause: error })
}

function sentenceOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const cause = rootOf(error)
  // The meaning of an answer is its code alone: its text contains names that any user may choose.
  const code = codeOf(error)
  if (code !== undefined) return SENTENCES[code]?.(whatOf(error) ?? wordsOf(cause))
  const text = wordsOf(cause)
  if (cause.name === 'KafkaJSSASLAuthenticationError' && !isCutOff(text)) {
    return `the brokers refuse these credentials (${text}); see --sasl and its files`
  }
  if (cause.name === 'KafkaJSServerDoesNotSupportApiKey' || /not supported.*api key/i.test(text)) {
    return `the broker is too old or too new (${text}): Kinfold speaks to Kafka 2.8 to 4.x`
  }
  if (isRefusedHandshake(cause)) {
    return `the TLS connection failed (${text}); see --tls-ca, --tls-cert, and whether the port speaks TLS`
  }
  return undefined
}

/**
 * A network error may contain the name of a host, and passes; a connection that ends in the midst
 * of the handshake may be a broker that restarts.
 */
function isRefusedHandshake(cause: Error): boolean {
  if (cause.name.startsWith('KafkaJS') && cause.name !== 'KafkaJSConnectionError') return false
  const { code } = cause as { code?: unknown }
  if (typeof code === 'string' && NETWORK.has(code)) return false
  return /certificate|self-signed|altname|SSL routines|EPROTO/i.test(cause.message)
}

const NETWORK: ReadonlySet<string> = new Set([
  ...['EAI_AGAIN', 'ECONNABORTED', 'ECONNREFUSED', 'ECONNRESET', 'EHOSTUNREACH'],
  ...['ENETUNREACH', 'ENOTFOUND', 'EPIPE', 'ETIMEDOUT'],
])

/** With the name of the requested resource, where an error in the chain has it. */
function whatOf(error: Error): string | undefined {
  for (let at: unknown = error; at instanceof Error; at = innerOf(at)) {
    if (at instanceof BrokerError) return at.what
    const { topic } = at as { topic?: unknown }
    if (at.name === 'KafkaJSCreateTopicError') return `creating the topic ${topic}`
  }
  return undefined
}

/**
 * kafkajs calls it a refusal of the credentials, too, when the connection ends or the broker falls
 * silent in the middle of the exchange.
 */
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

/** kafkajs wraps the error of repeated calls, and gathers the errors of concurrent ones. */
function rootOf(error: Error): Error {
  const inner = innerOf(error)
  return inner === undefined ? error : rootOf(inner)
}

function innerOf(error: Error): Error | undefined {
  const { cause, originalError, errors } = error as {
    cause?: unknown
    originalError?: unknown
    errors?: unknown
  }
  const all = [cause, originalError, ...(Array.isArray(errors) ? errors : [])]
  return all.find((each) => each instanceof Error)
}

function textOf(error: unknown): string {
  return error instanceof Error ? wordsOf(rootOf(error)) : String(error)
}

/** Without the additions of kafkajs and Node. */
function wordsOf({ name, message }: Error): string {
  if (name === 'KafkaJSConnectionClosedError') return HUNG_UP
  if (/before secure TLS connection was established/.test(message)) return NO_HANDSHAKE
  if (message === 'Broker not connected') return 'no broker answers there'
  return message
    .replace(/^Connection error: /, '')
    .replace(/; if the root CA is installed locally, .*$/, '')
}
