/**
 * Topics and users as resources of Strimzi: what `kinfold topics print` prints.
 *
 * What must stay true: the rights are those of docs/operate/kafka.md, line by line, with which
 * cli/e2e/rights.kafka.test.ts runs the services.
 *
 * Not here: which settings a topic needs (adapters/kafka/topics.ts).
 */
import type { Manifest } from './role-manifest.ts'

export type KafkaService = 'watcher' | 'graph' | 'reaper'

/** Of a topic, a group, or what transactional ids begin with; names without the application. */
export interface KafkaRight {
  readonly on: 'topic' | 'group' | 'transactionalId'
  readonly name: string
  readonly isPrefix?: true
  readonly operations: readonly string[]
}

interface WantedTopic {
  readonly topic: string
  readonly partitions: number
  readonly config: Readonly<Record<string, string>>
}

interface StrimziOptions {
  readonly application: string
  /** Of Strimzi's Kafka resource. */
  readonly cluster: string
  readonly replicas: number
  readonly authentication: string
  readonly topics: readonly WantedTopic[]
}

/** Since Strimzi 0.49. */
const API_VERSION = 'kafka.strimzi.io/v1'

const EVERY: readonly KafkaRight[] = [
  { on: 'topic', name: '.', isPrefix: true, operations: ['Describe', 'DescribeConfigs'] },
  topic('positions', 'Read', 'Write'),
]

export const KAFKA_RIGHTS: Readonly<Record<KafkaService, readonly KafkaRight[]>> = {
  watcher: [
    ...EVERY,
    // It reads events, lineage and the changelog of clusters that owners are imported from.
    topic('events', 'Read', 'Write'),
    topic('lineage', 'Read'),
    topic('changelog', 'Read'),
    topic('orders', 'Read'),
    topic('control', 'Read', 'Write'),
    topic('watermarks', 'Read', 'Write'),
    topic('archive', 'Write'),
  ],
  graph: [
    ...EVERY,
    ...[
      ...['events', 'commands', 'history', 'digests', 'former', 'dead-letter', 'snapshots'],
      'actors',
    ].map((name) => topic(name, 'Read', 'Write', 'Delete')),
    topic('archive', 'Read', 'Delete'),
    ...['lineage', 'changelog', 'orders', 'control'].map((name) => topic(name, 'Read', 'Write')),
    { on: 'group', name: '.graph', operations: ['Read'] },
    { on: 'transactionalId', name: '-', isPrefix: true, operations: ['Write'] },
  ],
  reaper: [
    ...EVERY,
    ...['commands', 'orders', 'control'].map((name) => topic(name, 'Read')),
    ...['events', 'dead-letter', 'archive'].map((name) => topic(name, 'Write')),
    { on: 'group', name: '.reaper', operations: ['Read'] },
  ],
}

function topic(name: string, ...operations: readonly string[]): KafkaRight {
  return { on: 'topic', name: `.${name}`, operations }
}

export function strimziManifests(options: StrimziOptions): readonly Manifest[] {
  const { application, topics, replicas, authentication } = options
  const services = Object.entries(KAFKA_RIGHTS)
  return [
    ...topics.map(({ topic: topicName, partitions, config }) =>
      resource(options, 'KafkaTopic', topicName, { topicName, partitions, replicas, config }),
    ),
    ...services.map(([service, rights]) =>
      resource(options, 'KafkaUser', `${application}-${service}`, {
        authentication: { type: authentication },
        authorization: { type: 'simple', acls: rights.map((right) => aclOf(application, right)) },
      }),
    ),
  ]
}

function aclOf(application: string, { on, name, isPrefix, operations }: KafkaRight): unknown {
  const patternType = isPrefix ? 'prefix' : 'literal'
  return {
    resource: { type: on, name: `${application}${name}`, patternType },
    operations,
    host: '*',
  }
}

function resource(
  { cluster }: StrimziOptions,
  kind: string,
  name: string,
  spec: Readonly<Record<string, unknown>>,
): Manifest {
  // A name of Kubernetes, which allows less than Kafka.
  const metadata = { name: name.toLowerCase().replaceAll('_', '-') }
  const labels = { 'strimzi.io/cluster': cluster }
  return { apiVersion: API_VERSION, kind, metadata: { ...metadata, labels }, spec }
}
