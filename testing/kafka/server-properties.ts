/**
 * The settings of a test's broker, and the file that marks its data folder as formatted.
 *
 * Three listeners: CLIENT is for tests and the code under test; INSIDE is for the brokers among
 * themselves, and for the fixture; CONTROLLER for the controllers. The last two stay plain whatever
 * security the first has.
 */
import { randomBytes } from 'node:crypto'

export interface NodePorts {
  readonly nodeId: number
  readonly client: number
  readonly inside: number
  readonly controller: number
}

export type Properties = Readonly<Record<string, string | number | boolean>>

export function serverProperties(
  node: NodePorts,
  nodes: readonly NodePorts[],
  dataFolder: string,
): Properties {
  const voters = nodes.map(({ nodeId, controller }) => `${nodeId}@127.0.0.1:${controller}`)
  return {
    'node.id': node.nodeId,
    'process.roles': 'broker,controller',
    'controller.quorum.voters': voters.join(','),
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'INSIDE',
    listeners: [
      `CLIENT://127.0.0.1:${node.client}`,
      `INSIDE://127.0.0.1:${node.inside}`,
      `CONTROLLER://127.0.0.1:${node.controller}`,
    ].join(','),
    'listener.security.protocol.map': 'CLIENT:PLAINTEXT,INSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'log.dirs': dataFolder,
    ...SMALL_AND_QUICK,
    ...replication(nodes.length),
  }
}

/** Defaults are for machines of their own and for groups that last; tests have neither. */
const SMALL_AND_QUICK: Properties = {
  'auto.create.topics.enable': false,
  'offsets.topic.num.partitions': 4,
  'transaction.state.log.num.partitions': 4,
  'group.initial.rebalance.delay.ms': 0,
  'group.min.session.timeout.ms': 1000,
  'log.cleaner.dedupe.buffer.size': 16_777_216,
  'num.network.threads': 2,
  'num.io.threads': 4,
  'num.recovery.threads.per.data.dir': 1,
  'background.threads': 2,
  // A killed broker counts as dead after 2 s instead of 9 s, and is not admitted again before.
  'broker.session.timeout.ms': 2000,
  'broker.heartbeat.interval.ms': 500,
}

/** With three, one may be missing and acknowledged records survive it. */
function replication(brokers: number): Properties {
  const factor = Math.min(brokers, 3)
  const inSync = Math.max(1, factor - 1)
  return {
    'default.replication.factor': factor,
    'min.insync.replicas': inSync,
    'offsets.topic.replication.factor': factor,
    'transaction.state.log.replication.factor': factor,
    'transaction.state.log.min.isr': inSync,
    'share.coordinator.state.topic.replication.factor': factor,
    'share.coordinator.state.topic.min.isr': inSync,
  }
}

/**
 * The file that formatting writes, and its only one if no users are created with it: this saves a
 * Java process.
 */
export function metaProperties(nodeId: number, clusterId: string): Properties {
  return { version: 1, 'cluster.id': clusterId, 'node.id': nodeId, 'directory.id': kafkaUuid() }
}

/** 16 bytes in base64url; a leading dash would be taken for an option. */
export function kafkaUuid(): string {
  const uuid = randomBytes(16).toString('base64url')
  return uuid.startsWith('-') ? `k${uuid.slice(1)}` : uuid
}

export function propertiesText(properties: Properties): string {
  return Object.entries(properties)
    .map(([key, value]) => `${key}=${value}\n`)
    .join('')
}
