/**
 * Everything that reaches into kafkajs' inside, pinned to 2.2.4: a `Cluster` of our own, raw
 * requests on its connections, and its group calls.
 *
 * What must stay true: no other file touches a private part of kafkajs; if its inside is not as
 * expected, `openLink` says so at once (inside.test.ts). Every request has a time limit.
 *
 * Why: kafkajs has no way to read a partition without a group, its filter of aborted records lets
 * some through, its producer does not handle a commit with an unknown outcome, and its encoders
 * cost more than the fold.
 */
import { createRequire } from 'node:module'
import { Kafka, type KafkaConfig, logLevel } from 'kafkajs'
import { LogError } from '../../ports/log.ts'
import { BrokerError, CODE } from './failure.ts'
import { oauthBearer } from './protocol/oauth-bearer.ts'
import { Reader, Writer } from './protocol/wire.ts'
import type { KafkaSettings } from './settings.ts'

const KAFKAJS_VERSION = '2.2.4'
/** A connection that is not made in this time is not. */
const CONNECT_MS = 3_000
const AUTHENTICATE_MS = 10_000
/**
 * kafkajs retries for minutes if no broker answers. A process that starts without a broker fails
 * before that.
 */
const CONNECT_WITHIN_MS = 12_000
/** Longest wait for an answer, unless a request says otherwise. */
export const REQUEST_MS = 10_000
/** A broker that hangs is not waited for at the end. */
const CLOSE_MS = 1_000
/**
 * kafkajs itself repeats its lookups: coordinators, connections. Small steps: most waits are for a
 * predecessor's transaction.
 */
const RETRY = { initialRetryTime: 20, factor: 0, multiplier: 1.3, maxRetryTime: 300, retries: 12 }

export interface Request {
  readonly apiKey: number
  readonly apiVersion: number
  readonly apiName: string
  readonly body: Buffer
  readonly timeoutMs?: number
}

export interface JoinedMember {
  readonly memberId: string
  readonly memberMetadata: Buffer
}

/** kafkajs' `Broker`, as far as we use it. Its calls reject with kafkajs' errors (failure.ts). */
export interface Broker {
  readonly nodeId: number
  initProducerId(options: {
    transactionalId?: string
    transactionTimeout?: number
  }): Promise<{ producerId: string | bigint; producerEpoch: number }>
  endTxn(options: object): Promise<unknown>
  listOffsets(options: object): Promise<{
    responses: { partitions: { partition: number; errorCode: number; offset: string }[] }[]
  }>
  deleteRecords(options: object): Promise<unknown>
  joinGroup(options: object): Promise<{
    generationId: number
    leaderId: string
    memberId: string
    members: readonly JoinedMember[]
  }>
  syncGroup(options: object): Promise<{ memberAssignment: Buffer }>
  heartbeat(options: object): Promise<unknown>
  leaveGroup(options: object): Promise<unknown>
  readonly connectionPool: { send(request: object): Promise<Buffer> }
  readonly versions: Readonly<Record<number, { minVersion: number; maxVersion: number }>>
}

interface PartitionMetadata {
  readonly partitionId: number
  readonly leader: number
  readonly partitionErrorCode: number
}

interface Cluster {
  connect(): Promise<void>
  disconnect(): Promise<void>
  isConnected(): boolean
  addMultipleTargetTopics(topics: readonly string[]): Promise<void>
  refreshMetadata(): Promise<void>
  findTopicPartitionMetadata(topic: string): readonly PartitionMetadata[]
  findBroker(options: { nodeId: number }): Promise<Broker>
  findControllerBroker(): Promise<Broker>
  removeBroker(address: { host: string; port: number }): void
}

/** The kinds of FindCoordinator. */
const COORDINATOR = { group: 0, transaction: 1 } as const
const FIND_COORDINATOR = { apiKey: 10, apiVersion: 1, apiName: 'FindCoordinator' } as const

/**
 * Connections of its own to every broker that it needs: one request after the other on each, so a
 * waiting request blocks those after it.
 */
export interface Link extends AsyncDisposable {
  /** Also resolves after a failure: connects again when the connections are lost. */
  connect(topics: readonly string[]): Promise<void>
  /** The leader as last known; undefined when there is none just now. */
  leaderOf(topic: string, partition: number): number | undefined
  partitionsOf(topic: string): number
  broker(nodeId: number): Promise<Broker>
  controller(): Promise<Broker>
  coordinator(type: keyof typeof COORDINATOR, id: string): Promise<Broker>
  refresh(): Promise<void>
  /** The bytes of the answer's body. */
  send(broker: Broker, request: Request): Promise<Buffer>
}

export function openLink(settings: KafkaSettings, clientId: string): Link {
  return new ClusterLink(clusterOf(createKafka(settings, clientId)), settings.brokers)
}

export function createKafka({ brokers, tls, sasl }: KafkaSettings, clientId: string): Kafka {
  checkVersion()
  return new Kafka({
    brokers: [...brokers],
    clientId,
    connectionTimeout: CONNECT_MS,
    authenticationTimeout: AUTHENTICATE_MS,
    requestTimeout: REQUEST_MS,
    enforceRequestTimeout: true,
    retry: RETRY,
    logLevel: logLevel.NOTHING,
    ...(tls && {
      ssl: {
        minVersion: 'TLSv1.2',
        ...(tls.ca !== null && { ca: tls.ca }),
        ...(tls.cert !== null && { cert: tls.cert }),
        ...(tls.key !== null && { key: tls.key }),
      },
    }),
    ...(sasl && { sasl: saslOf(sasl) }),
  })
}

function saslOf(sasl: NonNullable<KafkaSettings['sasl']>): NonNullable<KafkaConfig['sasl']> {
  if (sasl.mechanism === 'oauthbearer') {
    return { mechanism: 'oauthbearer', authenticationProvider: oauthBearer(sasl.token) }
  }
  const { mechanism, username, password } = sasl
  switch (mechanism) {
    case 'plain':
      return { mechanism, username, password }
    case 'scram-sha-256':
      return { mechanism, username, password }
    case 'scram-sha-512':
      return { mechanism, username, password }
  }
}

/** The calls of a kafkajs cluster that are used. */
export const CLUSTER_CALLS = [
  'connect',
  'disconnect',
  'addMultipleTargetTopics',
  'findTopicPartitionMetadata',
  'findBroker',
  'findControllerBroker',
  'refreshMetadata',
  'removeBroker',
] as const

function clusterOf(kafka: Kafka): Cluster {
  const symbol = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  )
  const create = symbol && (kafka as unknown as Record<symbol, unknown>)[symbol]
  if (typeof create !== 'function') throw changed('its client makes no clusters')
  const cluster = create({
    metadataMaxAge: 60_000,
    allowAutoTopicCreation: false,
    isolationLevel: 1,
  }) as Cluster
  for (const name of CLUSTER_CALLS) {
    if (typeof cluster[name] !== 'function') throw changed(`a cluster has no ${name}`)
  }
  return cluster
}

let isChecked = false

function checkVersion(): void {
  if (isChecked) return
  const require = createRequire(import.meta.url)
  const { version } = require('kafkajs/package.json') as { version: string }
  if (version !== KAFKAJS_VERSION) throw changed(`it is version ${version}`)
  stopIdleTimers(require('kafkajs/src/network/requestQueue'))
  leaveGoneSockets(require('kafkajs/src/network/connection'))
  askForNoTopics(
    require('kafkajs/src/cluster/brokerPool'),
    require('kafkajs/src/protocol/requests/metadata'),
  )
  isChecked = true
}

interface RequestQueue {
  readonly prototype: { scheduleCheckPendingRequests?: (this: QueueState) => void }
}

interface QueueState {
  readonly pending: readonly unknown[]
}

/**
 * After its first answer each connection of kafkajs checks every millisecond whether requests wait,
 * for ever: only connections with waiting requests need that.
 */
function stopIdleTimers({ prototype }: RequestQueue): void {
  const schedule = prototype.scheduleCheckPendingRequests
  if (schedule === undefined) throw changed('a queue of requests schedules nothing')
  prototype.scheduleCheckPendingRequests = function (this: QueueState): void {
    if (this.pending.length > 0) schedule.call(this)
  }
}

interface Connection {
  readonly prototype: { disconnect?: (this: ConnectionState) => Promise<unknown> }
}

interface ConnectionState {
  readonly socket?: { readonly destroyed: boolean; unref: () => unknown }
}

/**
 * A connection that failed is ended again and again, each time with an `unref` of its former
 * socket: for a closed socket Node then waits for a connection that never comes, and warns at the
 * eleventh wait.
 */
function leaveGoneSockets({ prototype }: Connection): void {
  const disconnect = prototype.disconnect
  if (disconnect === undefined) throw changed('a connection does not disconnect')
  prototype.disconnect = async function (this: ConnectionState): Promise<unknown> {
    const { socket } = this
    if (socket?.destroyed) socket.unref = () => socket
    return await disconnect.call(this)
  }
}

interface BrokerPool {
  readonly prototype: { refreshMetadata?: (topics: readonly string[]) => Promise<void> }
}

interface MetadataRequests {
  protocol?: (of: object) => (options: { readonly topics: readonly string[] }) => MetadataRequest
}

interface MetadataRequest {
  readonly request: { encode(): Promise<{ readonly buf: Buffer }> }
}

/**
 * The very list by which a request is known to be for none; kafkajs passes lists of less than two
 * on as they are.
 */
const NO_TOPICS: readonly string[] = []

/**
 * If a cluster of kafkajs needs its brokers and no topics, it asks for all existing topics, and
 * fails if any of them has no leader: a topic of another program that is down would block joining
 * the group. Of Metadata from version 1 on, -1 names all topics and 0 none.
 */
function askForNoTopics({ prototype }: BrokerPool, requests: MetadataRequests): void {
  const refresh = prototype.refreshMetadata
  if (refresh === undefined) throw changed('a pool of brokers refreshes no metadata')
  const protocol = requests.protocol
  if (protocol === undefined) throw changed('requests for metadata have no protocol')
  prototype.refreshMetadata = async function (topics): Promise<void> {
    await refresh.call(this, topics.length === 0 ? NO_TOPICS : topics)
  }
  requests.protocol = (of) => (options) => {
    const made = protocol(of)(options)
    if (options.topics !== NO_TOPICS) return made
    const encode = async (): Promise<{ readonly buf: Buffer }> => {
      const encoded = await made.request.encode()
      encoded.buf.writeInt32BE(0, 0)
      return encoded
    }
    return { ...made, request: { ...made.request, encode } }
  }
}

function changed(what: string): Error {
  return new Error(`kafkajs is not as adapters/kafka/inside.ts knows ${KAFKAJS_VERSION}: ${what}`)
}

class ClusterLink implements Link {
  readonly #cluster: Cluster
  readonly #addresses: readonly string[]
  /** Brokers and topics were read just now, and nothing was asked since. */
  #isFresh = false

  constructor(cluster: Cluster, addresses: readonly string[]) {
    this.#cluster = cluster
    this.#addresses = addresses
  }

  async connect(topics: readonly string[]): Promise<void> {
    await this.#within(CONNECT_WITHIN_MS, this.#cluster.connect())
    await this.#within(CONNECT_WITHIN_MS, this.#cluster.addMultipleTargetTopics(topics))
    this.#isFresh = topics.length > 0
  }

  async #within(timeoutMs: number, work: Promise<void>): Promise<void> {
    const { promise, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => {
      const where = this.#addresses.join(', ')
      const hint = 'check that these are brokers, and that they are reachable from here'
      reject(new LogError('UNAVAILABLE', `no broker at ${where} answers in time; ${hint}`))
    }, timeoutMs)
    try {
      await Promise.race([work, promise])
    } finally {
      clearTimeout(timer)
    }
  }

  leaderOf(topic: string, partition: number): number | undefined {
    const all = this.#cluster.findTopicPartitionMetadata(topic)
    const found = all.find(({ partitionId }) => partitionId === partition)
    return found === undefined || found.leader < 0 ? undefined : found.leader
  }

  partitionsOf(topic: string): number {
    return this.#cluster.findTopicPartitionMetadata(topic).length
  }

  async broker(nodeId: number): Promise<Broker> {
    return await this.#cluster.findBroker({ nodeId })
  }

  async controller(): Promise<Broker> {
    return await this.#cluster.findControllerBroker()
  }

  /** kafkajs' own search hides why it finds none. */
  async coordinator(type: keyof typeof COORDINATOR, id: string): Promise<Broker> {
    // A task that is taken over has just connected: each answer that it waits for delays it.
    if (!this.#isFresh) await this.refresh()
    this.#isFresh = false
    const body = new Writer(64).text(id).int8(COORDINATOR[type]).written
    const answer = await this.send(await this.controller(), { ...FIND_COORDINATOR, body })
    const read = new Reader(answer)
    read.int32()
    const code = read.int16()
    if (code !== CODE.none)
      throw new BrokerError(code, `the ${type === 'group' ? 'group' : 'transactional id'} ${id}`)
    read.text()
    return await this.broker(read.int32())
  }

  async refresh(): Promise<void> {
    if (!this.#cluster.isConnected()) await this.#cluster.connect()
    await this.#cluster.refreshMetadata()
  }

  async send(broker: Broker, request: Request): Promise<Buffer> {
    const { apiKey, apiVersion, apiName, body, timeoutMs = REQUEST_MS } = request
    const known = broker.versions[apiKey]
    if (known === undefined || known.maxVersion < apiVersion || known.minVersion > apiVersion) {
      // Brokers close the connection for requests that they do not know.
      throw new BrokerError(CODE.unsupportedVersion, `it has no ${apiName} ${apiVersion}`)
    }
    // kafkajs writes the bytes of `encode` after the request's header, and passes those after the
    // answer's header to `decode`.
    const encoded = { buf: body, buffer: body }
    return await broker.connectionPool.send({
      request: { apiKey, apiVersion, apiName, encode: async () => encoded },
      response: {
        decode: async (raw: Buffer) => ({ raw, clientSideThrottleTime: 0 }),
        parse: async ({ raw }: { raw: Buffer }) => raw,
      },
      requestTimeout: timeoutMs,
      logResponseError: false,
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, CLOSE_MS)
    // An answer that still comes, or a connection that fails while it is closed, concerns no
    // caller.
    const closed = this.#cluster.disconnect().catch(() => undefined)
    await Promise.race([closed, promise])
    clearTimeout(timer)
  }
}
