/**
 * The topics that Kinfold needs, the faults of existing ones, and their correction.
 *
 * What must stay true: a topic that would lose, reorder or re-time what the fold rests on is
 * refused, with a sentence that says what to do; the number of partitions of a topic with entries
 * is never changed (F40, F42).
 */
import kafkajs, { type Admin, type ITopicConfig } from 'kafkajs'
import { COMPACTED, LogError, SINGLE_PARTITION } from '../../ports/log.ts'
import { asking } from './failure.ts'
import type { Broker, Link } from './inside.ts'
import type { ClusterMetadata, TopicMetadata } from './protocol/metadata.ts'
import { describeTopics } from './protocol/metadata.ts'
import {
  allTopicNames,
  KAFKA_TOPICS,
  type KafkaTopic,
  POSITIONS,
  topicName,
} from './protocol/topic-name.ts'

const TOPIC = kafkajs.ConfigResourceTypes.TOPIC

/** Batches hold up to 900 KiB, or one record of 7 MiB and what surrounds it. */
const MAX_MESSAGE_BYTES = 8 * 1024 * 1024
const WANTED_REPLICAS = 3
/** A null value is kept at least this long. Stores that were away for longer are rebuilt. */
export const DELETE_RETENTION_MS: number = 24 * 3_600_000

export interface TopicChange {
  readonly topic: string
  readonly what: string
  /** `create` and `configure` can be done; `refuse` needs a person. */
  readonly action: 'create' | 'configure' | 'refuse'
  /** What `configure` sets: nothing else of the topic is touched. */
  readonly setting?: readonly [key: string, value: string]
}

export interface TopicPlan {
  readonly changes: readonly TopicChange[]
  /** Findings that do not prevent a start and yet are worth a warning. */
  readonly warnings: readonly string[]
  readonly partitions: number
  readonly replicas: number
  /** Name to id, of the existing topics. */
  readonly ids: Readonly<Record<string, string>>
  readonly configs: ReadonlyMap<string, Readonly<Record<string, string>>>
}

export interface TopicsWanted {
  readonly application: string
  /** Undefined: as many as are there. */
  readonly partitions: number | undefined
  /** Undefined: three, or as many as there are brokers. */
  readonly replicas: number | undefined
}

export async function planTopics(
  link: Link,
  broker: Broker,
  admin: Admin,
  wanted: TopicsWanted,
): Promise<TopicPlan> {
  const { application } = wanted
  const found = await describeTopics(link, broker, allTopicNames(application))
  const byName = new Map(found.topics.map((topic) => [topic.name, topic]))
  const configs = await configsOf(admin, [...byName.keys()])
  const replicas = wanted.replicas ?? Math.min(WANTED_REPLICAS, found.brokers)
  const counts = KAFKA_TOPICS.filter((topic) => !isSingle(topic)).flatMap(
    (topic) => byName.get(topicName(application, topic))?.partitions ?? [],
  )
  const partitions = wanted.partitions ?? mostOf(counts) ?? 1
  const isAgreed = new Set(counts).size === 1
  const changes: TopicChange[] = []
  for (const topic of KAFKA_TOPICS) {
    const name = topicName(application, topic)
    const count = isSingle(topic) ? 1 : partitions
    const metadata = byName.get(name)
    changes.push(
      ...(metadata === undefined
        ? [created(name, count, replicas)]
        : [
            ...partitionsChange(metadata, count, isAgreed && !isSingle(topic)),
            ...settingChanges(topic, metadata, configs.get(name) ?? {}),
          ]),
    )
  }
  return {
    changes,
    warnings: warningsOf(found, isAnyMissing(changes) ? replicas : WANTED_REPLICAS),
    partitions,
    replicas,
    ids: Object.fromEntries(found.topics.map(({ name, id }) => [name, id])),
    configs,
  }
}

function isSingle(topic: KafkaTopic): boolean {
  return SINGLE_PARTITION.has(topic as never)
}

/** What most of them are; of as many the first. */
function mostOf(counts: readonly number[]): number | undefined {
  const timesOf = (count: number): number => counts.filter((each) => each === count).length
  return counts.reduce<number | undefined>(
    (most, count) => (most === undefined || timesOf(count) > timesOf(most) ? count : most),
    undefined,
  )
}

function isAnyMissing(changes: readonly TopicChange[]): boolean {
  return changes.some(({ action }) => action === 'create')
}

/**
 * `replicas`: of those that are still to be made. A broker that is down takes no copy away from a
 * topic.
 */
function warningsOf({ brokers, topics }: ClusterMetadata, replicas: number): string[] {
  const least = Math.min(replicas, ...topics.map((topic) => topic.replicas))
  if (least >= WANTED_REPLICAS) return []
  const each = `${least} ${least === 1 ? 'copy' : 'copies'} of each topic on ${brokers} ${brokers === 1 ? 'broker' : 'brokers'}`
  return [
    `${each}: a lost disk can lose acknowledged events; run three brokers or more for real use`,
  ]
}

function created(name: string, partitions: number, replicas: number): TopicChange {
  const what = `missing: ${partitions} ${partitions === 1 ? 'partition' : 'partitions'}, ${replicas} replicas`
  return { topic: name, what, action: 'create' }
}

/** What each setting has to be, and whether Kinfold may set it where entries are already there. */
export function configOf(topic: KafkaTopic, replicas: number): Readonly<Record<string, string>> {
  const isCompacted = topic === POSITIONS || COMPACTED.has(topic)
  return {
    'cleanup.policy': isCompacted ? 'compact' : 'delete',
    'message.timestamp.type': 'LogAppendTime',
    'max.message.bytes': String(MAX_MESSAGE_BYTES),
    'min.insync.replicas': String(Math.max(1, replicas - 1)),
    'unclean.leader.election.enable': 'false',
    'compression.type': 'producer',
    // Kinfold trims by itself, and only before a snapshot.
    ...(isCompacted
      ? { 'delete.retention.ms': String(DELETE_RETENTION_MS) }
      : { 'retention.ms': '-1', 'retention.bytes': '-1' }),
  }
}

/**
 * With these wrong, entries are already lost, re-timed or folded away: no setting brings them back.
 */
const FATAL: ReadonlySet<string> = new Set(['cleanup.policy', 'message.timestamp.type'])

function partitionsChange(
  { name, partitions }: TopicMetadata,
  wanted: number,
  mayBeAsked: boolean,
): TopicChange[] {
  if (partitions === wanted) return []
  // Where topics differ, none of their numbers would do.
  const hint = mayBeAsked
    ? `give --partitions ${partitions}, or another --application for a new log`
    : `make it anew with ${wanted} if it is empty, or use another --application for a new log`
  const what = `has ${partitions} ${partitions === 1 ? 'partition' : 'partitions'}, not ${wanted}: entries lie by partition, so it cannot be changed; ${hint}`
  return [{ topic: name, what, action: 'refuse' }]
}

function settingChanges(
  topic: KafkaTopic,
  { name, replicas }: TopicMetadata,
  config: Readonly<Record<string, string>>,
): TopicChange[] {
  const changes: TopicChange[] = []
  const wanted = configOf(topic, Math.min(WANTED_REPLICAS, replicas))
  for (const [key, value] of Object.entries(wanted)) {
    const held = config[key]
    if (held === undefined || isGoodEnough(key, held, value)) continue
    const what = `${key} is ${held}, not ${value}`
    if (!FATAL.has(key)) {
      changes.push({ topic: name, what, action: 'configure', setting: [key, value] })
      continue
    }
    const hint = `what it holds may be incomplete; set ${key}=${value} and, unless it is empty, start with another --application`
    changes.push({ topic: name, what: `${what}: ${hint}`, action: 'refuse' })
  }
  return changes
}

/** More than we ask for is as well. */
function isGoodEnough(key: string, held: string, wanted: string): boolean {
  switch (key) {
    case 'delete.retention.ms':
    case 'max.message.bytes':
    case 'min.insync.replicas':
      return Number(held) >= Number(wanted)
    default:
      return held === wanted
  }
}

async function configsOf(
  admin: Admin,
  names: readonly string[],
): Promise<ReadonlyMap<string, Readonly<Record<string, string>>>> {
  if (names.length === 0) return new Map()
  const { resources } = await asking(
    `the settings of ${names.join(', ')}`,
    async () =>
      await admin.describeConfigs({
        includeSynonyms: false,
        resources: names.map((name) => ({ type: TOPIC, name })),
      }),
  )
  return new Map(
    resources.map(({ resourceName, configEntries }) => [
      resourceName,
      Object.fromEntries(
        configEntries.map(({ configName, configValue }) => [configName, configValue]),
      ),
    ]),
  )
}

/** Creates and configures; refused topics are not changed. */
export async function applyTopics(
  admin: Admin,
  application: string,
  plan: TopicPlan,
): Promise<void> {
  const missing = new Set(
    plan.changes.filter(({ action }) => action === 'create').map(({ topic }) => topic),
  )
  const topics: ITopicConfig[] = KAFKA_TOPICS.filter((topic) =>
    missing.has(topicName(application, topic)),
  ).map((topic) => ({
    topic: topicName(application, topic),
    numPartitions: isSingle(topic) ? 1 : plan.partitions,
    replicationFactor: plan.replicas,
    configEntries: Object.entries(configOf(topic, plan.replicas)).map(([name, value]) => ({
      name,
      value,
    })),
  }))
  if (topics.length > 0) await admin.createTopics({ topics, waitForLeaders: false })
  for (const topic of KAFKA_TOPICS) {
    const name = topicName(application, topic)
    const settings = plan.changes.flatMap(({ topic: of, setting }) =>
      of === name && setting !== undefined ? [setting] : [],
    )
    if (settings.length > 0) await configure(admin, name, settings)
  }
}

async function configure(
  admin: Admin,
  name: string,
  settings: readonly (readonly [key: string, value: string])[],
): Promise<void> {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: TOPIC, name }],
  })
  // This call replaces all settings of the topic, so those that others set are included.
  const own = (resources[0]?.configEntries ?? []).filter(
    (entry) => (entry as { configSource?: number }).configSource === TOPIC_SOURCE,
  )
  const held = Object.fromEntries(
    own.map(({ configName, configValue }) => [configName, configValue]),
  )
  const configEntries = Object.entries({ ...held, ...Object.fromEntries(settings) }).map(
    ([key, value]) => ({ name: key, value }),
  )
  await asking(
    `changing the settings of ${name}`,
    async () =>
      await admin.alterConfigs({
        validateOnly: false,
        resources: [{ type: TOPIC, name, configEntries }],
      }),
  )
}

/** Set on the topic itself, not inherited. */
const TOPIC_SOURCE = 1

/** Another program may still create them. */
export class TopicsMissing extends LogError {}

/** Throws an error for what prevents a start. */
export function checkPlan(plan: TopicPlan, mayCreate: boolean): void {
  const refused = plan.changes.find(({ action }) => action === 'refuse')
  if (refused !== undefined) {
    throw new LogError('FORMAT', `the topic ${refused.topic} ${refused.what}`)
  }
  if (mayCreate) return
  const missing = plan.changes.filter(({ action }) => action === 'create').map(({ topic }) => topic)
  if (missing.length > 0) {
    const [which, are] = missing.length === 1 ? ['the topic', 'is'] : ['the topics', 'are']
    const hint =
      'kinfold topics apply makes them, and so does kinfold graph without --no-create-topics'
    throw new TopicsMissing('FORMAT', `${which} ${missing.join(', ')} ${are} missing: ${hint}`)
  }
  const wrong = plan.changes.find(({ action }) => action === 'configure')
  if (wrong === undefined) return
  const hint = 'kinfold topics apply sets it'
  throw new LogError('FORMAT', `the topic ${wrong.topic}: ${wrong.what}; ${hint}`)
}
