/** `kinfold topics plan|apply`: what Kinfold needs of Kafka's topics, what is there, and making it so. */
import type { Command } from 'commander'
import type { TopicPlan } from '../adapters/kafka/topics.ts'
import { EXIT } from '../runtime/lifecycle.ts'
import { CONFIG_KEYS } from './config.ts'
import { readConfigFile } from './config-file.ts'
import { addKafkaOptions, type KafkaConfig, type KafkaFlags, kafkaConfig } from './kafka-config.ts'
import { whole } from './setting.ts'
import { table } from './table.ts'

interface TopicsFlags extends KafkaFlags {
  readonly partitions?: string
  readonly config?: string
}

const MAX_PARTITIONS = 256

const DONE = { create: 'created', configure: 'configured', refuse: 'refused' } as const

export function addTopics(program: Command): void {
  const topics = program
    .command('topics')
    .description('the topics on Kafka: what would be changed, and changing it')
  const shared = (command: Command): Command =>
    addKafkaOptions(command)
      .option(
        '--partitions <n>',
        'of new topics, at most as many as clusters (default: as those that are there, else 1)',
      )
      .option('--config <file>', 'YAML file with a kafka section; flags win')
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

async function withPlan(
  flags: TopicsFlags,
  work: (plan: TopicPlan, apply: (plan: TopicPlan) => Promise<void>) => Promise<TopicPlan>,
): Promise<TopicPlan> {
  const { settings, replicas } = kafkaConfigOf(flags)
  const value = flags.partitions
  const partitions = whole({ key: 'partitions', value, from: '--partitions' }, 1, MAX_PARTITIONS)
  const { logErrorOf } = await import('../adapters/kafka/failure.ts')
  const { createKafka, openLink } = await import('../adapters/kafka/inside.ts')
  const { applyTopics, planTopics } = await import('../adapters/kafka/topics.ts')
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
