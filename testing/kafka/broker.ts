/**
 * A real Kafka for one test: one broker, or three that replicate, on 127.0.0.1, with handles for
 * the faults a client has to survive.
 *
 * What must stay true: closing it leaves no process and no file. Own brokers are killed and their
 * files removed; on brokers that KAFKA_BROKERS names, which others use too, the topics and groups
 * of its application are deleted, and nothing else is touched.
 */
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Kafka as Client, type KafkaConfig, logLevel } from 'kafkajs'
import { freePort } from '../cluster/port.ts'
import { eventually } from '../eventually.ts'
import { BrokerProcess } from './broker-process.ts'
import { givenBrokers, kafkaCommand } from './jars.ts'
import { makeSecurity, type Security, type SecurityOptions } from './security.ts'
import {
  kafkaUuid,
  metaProperties,
  type NodePorts,
  type Properties,
  propertiesText,
  serverProperties,
} from './server-properties.ts'

const PROBE_WITHIN_MS = 2_000

export interface KafkaOptions {
  /** One unless given. */
  readonly brokers?: 1 | 3
  /**
   * Starts brokers even where KAFKA_BROKERS names some: for tests that kill, pause or restart them.
   */
  readonly own?: boolean
  /** Broker settings, which override the defaults. The test then has brokers of its own. */
  readonly properties?: Properties
  /** Without, anyone on this machine may do anything. Brokers are its own then. */
  readonly security?: SecurityOptions
}

export async function startKafka(options: KafkaOptions = {}): Promise<Kafka> {
  const given = givenBrokers()
  const { own = false, brokers: count = 1, properties, security } = options
  const isPlain = !own && count === 1 && properties === undefined && security === undefined
  if (isPlain && given !== undefined) return new Kafka(given)
  return await startOwn(count, options)
}

async function startOwn(count: number, options: KafkaOptions): Promise<Kafka> {
  const folder = await mkdtemp(join(tmpdir(), 'kinfold-kafka-'))
  const brokers: BrokerProcess[] = []
  try {
    const security = await makeSecurity(join(folder, 'certificates'), options.security ?? {})
    const settings = { ...security.properties, ...options.properties }
    const nodes = await nodePorts(count)
    const cluster = { folder, nodes, clusterId: kafkaUuid(), settings, security }
    brokers.push(...(await Promise.all(nodes.map((node) => prepare(node, cluster)))))
    await startAll(brokers)
    await eventually('each broker knows all', async () => {
      const known = await Promise.all(nodes.map(knownTo))
      return known.every((nodeIds) => nodeIds.length === nodes.length)
    })
    const inside = nodes.map((node) => `127.0.0.1:${node.inside}`)
    const bootstrap = brokers.map(({ address }) => address)
    return new Kafka(bootstrap, { brokers, folder, inside, security })
  } catch (error) {
    await Promise.all(brokers.map((broker) => broker.kill()))
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

interface Own {
  readonly brokers: readonly BrokerProcess[]
  readonly folder: string
  /** Addresses of the listener that is plain, and where everything is allowed. */
  readonly inside: readonly string[]
  readonly security: Security
}

/** Made by `startKafka` only. */
export class Kafka implements AsyncDisposable {
  /** `HOST:PORT` of each broker. */
  readonly bootstrap: readonly string[]
  /**
   * Used by this test only: it begins the names of topics (`APPLICATION.TOPIC`), groups and
   * transactions.
   */
  readonly application: string = `test-${randomUUID().slice(0, 8)}`
  readonly #own: Own | undefined

  constructor(bootstrap: readonly string[], own?: Own) {
    this.bootstrap = bootstrap
    this.#own = own
  }

  get brokers(): readonly BrokerProcess[] {
    return this.#ours().brokers
  }

  /** Users' logins, and the authority that clients must trust. */
  get security(): Security {
    return this.#ours().security
  }

  /** With all that its brokers write. */
  get folder(): string {
    return this.#ours().folder
  }

  /** By its node id: 1, or 1 to 3. */
  broker(nodeId: number): BrokerProcess {
    const broker = this.brokers.find((each) => each.nodeId === nodeId)
    if (broker === undefined) throw new Error(`there is no broker ${nodeId}`)
    return broker
  }

  /** A client that logs nothing; `config` overrides the defaults. */
  client(config: Partial<KafkaConfig> = {}): Client {
    return quietClient(this.bootstrap, config)
  }

  /** A client that may do everything, past all security. */
  superuser(): Client {
    return quietClient(this.#ours().inside)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#own === undefined) return await this.#leaveGivenBrokers()
    await Promise.all(this.#own.brokers.map((broker) => broker.kill()))
    await rm(this.#own.folder, { recursive: true, force: true })
  }

  #ours(): Own {
    if (this.#own !== undefined) return this.#own
    throw new Error('these brokers are those of KAFKA_BROKERS: start with `own: true`')
  }

  async #leaveGivenBrokers(): Promise<void> {
    const isOurs = (name: string) => name.startsWith(this.application)
    const admin = this.client().admin()
    await admin.connect()
    try {
      const topics = (await admin.listTopics()).filter(isOurs)
      if (topics.length > 0) await admin.deleteTopics({ topics })
      const listed = (await admin.listGroups()).groups.map(({ groupId }) => groupId)
      const { groups } = await admin.describeGroups(listed.filter(isOurs))
      // A group whose members were killed ends by itself.
      const ended = groups.filter(({ state }) => state === 'Empty').map(({ groupId }) => groupId)
      if (ended.length > 0) await admin.deleteGroups(ended)
    } finally {
      await admin.disconnect()
    }
  }
}

async function nodePorts(count: number): Promise<NodePorts[]> {
  const ports = new Set<number>()
  while (ports.size < 3 * count) ports.add(await freePort())
  const left = [...ports]
  const take = () => left.pop()!
  return Array.from({ length: count }, (_, index) => ({
    nodeId: index + 1,
    client: take(),
    inside: take(),
    controller: take(),
  }))
}

interface Cluster {
  readonly folder: string
  readonly nodes: readonly NodePorts[]
  readonly clusterId: string
  readonly settings: Properties
  readonly security: Security
}

/** Writes the files that the broker reads when it starts. */
async function prepare(node: NodePorts, cluster: Cluster): Promise<BrokerProcess> {
  const { nodeId } = node
  const { nodes, clusterId, security } = cluster
  const folder = join(cluster.folder, `broker-${nodeId}`)
  const data = join(folder, 'data')
  await mkdir(data, { recursive: true })
  const file = join(folder, 'server.properties')
  const settings = { ...serverProperties(node, nodes, data), ...cluster.settings }
  await writeFile(file, propertiesText(settings))
  const users = security.scramArguments
  if (users.length === 0) {
    const meta = propertiesText(metaProperties(nodeId, clusterId))
    await writeFile(join(data, 'meta.properties'), meta)
  } else {
    const format = ['format', '--cluster-id', clusterId, '--config', file, ...users]
    const { binary, args } = kafkaCommand('kafka.tools.StorageTool', ...format)
    await promisify(execFile)(binary, args)
  }
  const isReady = async () => {
    const known = await knownTo(node)
    return known.includes(nodeId) && known.length > nodes.length / 2
  }
  return new BrokerProcess({ nodeId, address: `127.0.0.1:${node.client}`, folder, isReady })
}

/**
 * All must run before one is ready; if one fails, the others are awaited first, so none escapes.
 */
async function startAll(brokers: readonly BrokerProcess[]): Promise<void> {
  const started = await Promise.allSettled(brokers.map((broker) => broker.start()))
  const failed = started.find((each) => each.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

/** The brokers in the cluster metadata of this one. */
async function knownTo(node: NodePorts): Promise<readonly number[]> {
  const admin = quietClient([`127.0.0.1:${node.inside}`], {
    connectionTimeout: PROBE_WITHIN_MS,
    requestTimeout: PROBE_WITHIN_MS,
    retry: { retries: 0 },
  }).admin()
  try {
    await admin.connect()
    const { brokers } = await admin.describeCluster()
    return brokers.map(({ nodeId }) => nodeId)
  } finally {
    await admin.disconnect()
  }
}

function quietClient(brokers: readonly string[], config: Partial<KafkaConfig> = {}): Client {
  return new Client({ brokers: [...brokers], logLevel: logLevel.NOTHING, ...config })
}
