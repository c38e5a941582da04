/**
 * `kinfold topics plan|apply|print`: what Kinfold needs of Kafka's topics, what is there, and
 * making it so.
 */
import { type Command, Option } from 'commander'
import type { TopicPlan } from '../../adapters/kafka/topics.ts'
import { EXIT } from '../../runtime/lifecycle.ts'
import { CONFIG_KEYS } from '../config/config.ts'
import { readConfigFile } from '../config/config-file.ts'
import {
  addKafkaOptions,
  type KafkaConfig,
  type KafkaFlags,
  kafkaConfig,
} from '../config/kafka-config.ts'
import { bad, whole } from '../config/setting.ts'
import { table } from '../print/table.ts'

interface TopicsFlags extends KafkaFlags {
  readonly partitions?: string
  readonly config?: string
}

const MAX_PARTITIONS = 256

const DONE = { create: 'created', configure: 'configured', refuse: 'refused' } as const

export function addTopics(program: Command): void {
  const topics = program
    .command('topics')
    .description(
      'the topics on Kafka: what would be changed, changing it, printing them for Strimzi',
    )
  const shared = (command: Command): Command =>
    addKafkaOptions(command)
      .option(
        '--partitions <n>',
        'of new topics, at most as many as clusters (default: as those that are there, else 1)',
      )
      .option('--config <file>', 'YAML file with a kafka section; flags win')
  addPrint(topics)
  shared(
    topics.command('plan').description('what is missing or wrong; exit code 1 if anything is'),
  ).action(async (flags: TopicsFlags) => {
    const plan = await withPlan(flags, async (made) => made)
    show(plan, false)
    process.exitCode = plan.changes.length === 0 ? EXIT.ok : EXIT.findings
  })
  shared(
    topics
      .command('apply')
      .description(
        'create what is missing and set what is safe to set; exit code 3 if something needs a person',
      ),
  ).action(async (flags: TopicsFlags) => {
    const plan = await withPlan(flags, async (made, apply) => {
      await apply(made)
      return made
    })
    show(plan, true)
    const isRefused = plan.changes.some(({ action }) => action === 'refuse')
    process.exitCode = isRefused ? EXIT.refused : EXIT.ok
  })
}

interface PrintFlags {
  readonly application: string
  readonly partitions: string
  readonly replicas: string
  readonly cluster: string
  readonly authentication: string
}

/** As kafka-config.ts has it. */
const APPLICATION = /^[a-zA-Z0-9._-]{1,100}$/
const MAX_REPLICAS = 32

function addPrint(topics: Command): void {
  topics
    .command('print')
    .description('topics, and users with their rights, as resources of Strimzi; asks no broker')
    .addOption(new Option('-o, --output <format>').choices(['strimzi']).default('strimzi'))
    .option('--cluster <name>', "of Strimzi's Kafka resource", 'kafka')
    .option('--application <name>', 'before all topics, groups and transactions', 'kinfold')
    .option('--partitions <n>', 'of topics, at most as many as clusters', '1')
    .option('--replicas <n>', 'copies of topics', '3')
    .addOption(
      new Option('--authentication <how>', 'of users')
        .choices(['scram-sha-512', 'tls'])
        .default('scram-sha-512'),
    )
    .action(async (flags: PrintFlags) => {
      process.stdout.write(await printed(flags))
      process.exitCode = EXIT.ok
    })
}

async function printed(flags: PrintFlags): Promise<string> {
  const { application, cluster, authentication } = flags
  if (!APPLICATION.test(application))
    throw bad(`--application: ${application} is no name for topics`)
  const number = (key: 'partitions' | 'replicas', most: number): number =>
    whole({ key, value: flags[key], from: `--${key}` }, 1, most) ?? 1
  const [partitions, replicas] = [
    number('partitions', MAX_PARTITIONS),
    number('replicas', MAX_REPLICAS),
  ]
  const { KAFKA_TOPICS, topicName } = await import('../../adapters/kafka/protocol/topic-name.ts')
  const { configOf } = await import('../../adapters/kafka/topics.ts')
  const { SINGLE_PARTITION } = await import('../../ports/log.ts')
  const { strimziManifests } = await import('./strimzi.ts')
  const { stringify } = await import('yaml')
  const wanted = KAFKA_TOPICS.map((topic) => ({
    topic: topicName(application, topic),
    partitions: SINGLE_PARTITION.has(topic as never) ? 1 : partitions,
    config: configOf(topic, replicas),
  }))
  const options = { application, cluster, replicas, authentication, topics: wanted }
  return strimziManifests(options)
    .map((manifest) => stringify(manifest, { aliasDuplicateObjects: false }))
    .join('---\n')
}

async function withPlan(
  flags: TopicsFlags,
  work: (plan: TopicPlan, apply: (plan: TopicPlan) => Promise<void>) => Promise<TopicPlan>,
): Promise<TopicPlan> {
  const { settings, replicas } = kafkaConfigOf(flags)
  const value = flags.partitions
  const partitions = whole({ key: 'partitions', value, from: '--partitions' }, 1, MAX_PARTITIONS)
  const { logErrorOf } = await import('../../adapters/kafka/failure.ts')
  const { createKafka, openLink } = await import('../../adapters/kafka/inside.ts')
  const { applyTopics, planTopics } = await import('../../adapters/kafka/topics.ts')
  await using link = openLink(settings, 'kinfold-topics')
  const admin = createKafka(settings, 'kinfold-topics').admin()
  try {
    await link.connect([])
    await admin.connect()
    const wanted = { application: settings.application, partitions, replicas }
    const plan = await planTopics(link, await link.controller(), admin, wanted)
    return await work(plan, (made) => applyTopics(admin, settings.application, made))
  } catch (error) {
    throw logErrorOf(error, `asking Kafka at ${settings.brokers.join(', ')}`, 'UNAVAILABLE')
  } finally {
    await admin.disconnect()
  }
}

function kafkaConfigOf(flags: TopicsFlags): KafkaConfig {
  const section =
    flags.config === undefined ? undefined : readConfigFile(flags.config, CONFIG_KEYS)['kafka']
  return kafkaConfig(flags, section, flags.config ?? 'kafka')
}

function show({ changes, warnings }: TopicPlan, isDone: boolean): void {
  for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`)
  if (changes.length === 0) {
    process.stdout.write('all topics are as they should be\n')
    return
  }
  const rows = changes.map(({ topic, action, what }) => [
    topic,
    isDone ? DONE[action] : action,
    what,
  ])
  process.stdout.write(table(['TOPIC', 'ACTION', 'WHAT'], rows))
}
