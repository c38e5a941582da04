/**
 * The log on Kafka, for many processes: topics of an application on brokers that others may share.
 *
 * What must stay true: an append is acknowledged only when all replicas in sync have it; readers
 * see committed entries only; a position that the brokers do not hold is an error. Committed
 * records become visible a moment after the commit, in each partition by itself.
 *
 * Not here: which process reads which partition (placement.ts), the contents of a request
 * (produce.ts, fetch.ts), topics' settings (topics.ts).
 */
import type { Clock } from '../../ports/clock.ts'
import {
  type Appending,
  type Bounds,
  COMPACTED,
  type Entry,
  type Log,
  LogError,
  type Page,
  type Produced,
  type SavedPosition,
  SINGLE_PARTITION,
  type TaskLog,
  type Topic,
} from '../../ports/log.ts'
import { checkPosition, checkRecords } from '../../ports/record/record-limit.ts'
import { asking, BrokerError, CODE, isPassing, logErrorOf } from './failure.ts'
import { Fetcher } from './fetcher.ts'
import { createKafka, type Link, openLink } from './inside.ts'
import { OffsetRequests } from './offset-requests.ts'
import { Positions } from './positions.ts'
import { EARLIEST, LATEST } from './protocol/list-offsets.ts'
import { allTopicNames, type KafkaTopic, POSITIONS, topicName } from './protocol/topic-name.ts'
import { Sender } from './sender.ts'
import type { KafkaSettings } from './settings.ts'
import { refusalOf } from './settings.ts'
import { openTaskLog } from './task-log.ts'
import {
  applyTopics,
  checkPlan,
  DELETE_RETENTION_MS,
  planTopics,
  type TopicPlan,
} from './topics.ts'

export interface KafkaLogOptions {
  readonly settings: KafkaSettings
  /** Named to the brokers, for their logs and quotas. */
  readonly clientId: string
  /** Of new topics; those that are there keep their number. */
  readonly partitions?: number | undefined
  readonly replicas?: number | undefined
  /** Missing topics are created, and settings that are safe to change are set. */
  readonly mayCreate: boolean
  readonly clock: Clock
  /** How long null values are kept, less than topics say since clocks differ; another for tests. */
  readonly tombstonesMs?: number
  readonly onWarning?: (text: string) => void
  /** Between a task and its connections: for tests of network faults during a commit. */
  readonly taskLink?: (link: Link) => Link
  /** Between reads and questions about offsets and their connections: for tests that count them. */
  readonly readLink?: (link: Link) => Link
}

const TOMBSTONES_MS = 0.75 * DELETE_RETENTION_MS
/** Entries read at once to find the latest of each key. */
const LATEST_PAGE = 10_000
const RETRY_MS = 10_000
const RETRY_WAIT_MS = 50
/** Where the ids of the topics that belong together are kept. */
const IDENTITY_KEY = '~topics'

export async function openKafkaLog(options: KafkaLogOptions): Promise<KafkaLog> {
  const { settings, clientId } = options
  const refusal = refusalOf(settings)
  if (refusal !== undefined) throw new LogError('INVALID', refusal)
  const link = openLink(settings, clientId)
  try {
    // A broker may be away just now, the controller at that: another will answer for it.
    const again = async (): Promise<void> => await link.refresh()
    const plan = await repeated(options.clock, async () => await prepare(link, options), again)
    const names = allTopicNames(settings.application)
    await repeated(options.clock, async () => await link.connect(names))
    const changelog = plan.ids[topicName(settings.application, 'changelog')] ?? ''
    const log = new KafkaLog(options, link, plan.partitions, changelog)
    try {
      await log.checkIdentity(plan.ids)
    } catch (error) {
      await log[Symbol.asyncDispose]()
      throw error
    }
    return log
  } catch (error) {
    await link[Symbol.asyncDispose]()
    throw logErrorOf(error, `connecting to Kafka at ${settings.brokers.join(', ')}`, 'UNAVAILABLE')
  }
}

/** The topics as they are once they are as they should be. */
async function prepare(link: Link, options: KafkaLogOptions): Promise<TopicPlan> {
  const { settings, clientId, partitions, replicas, mayCreate, onWarning } = options
  await link.connect([])
  const admin = createKafka(settings, clientId).admin()
  try {
    await admin.connect()
    const wanted = { application: settings.application, partitions, replicas }
    const plan = await planTopics(link, await link.controller(), admin, wanted)
    for (const warning of plan.warnings) onWarning?.(warning)
    checkPlan(plan, mayCreate)
    if (plan.changes.length === 0) return plan
    await applyTopics(admin, settings.application, plan)
    return await repeated(options.clock, async () => {
      const applied = await planTopics(link, await link.controller(), admin, wanted)
      const missing = applied.changes.find(({ action }) => action === 'create')
      if (missing === undefined) return applied
      throw new BrokerError(CODE.unknownTopicOrPartition, `${missing.topic} was created just now`)
    })
  } finally {
    await admin.disconnect()
  }
}

export class KafkaLog implements Log {
  /**
   * Another for topics that were created anew: state derived from this log is of no use for those.
   */
  readonly identity: string
  readonly #options: KafkaLogOptions
  readonly #partitions: number
  /** For calls that are answered at once. */
  readonly #link: Link
  readonly #offsets: OffsetRequests
  readonly #sendLink: Link
  readonly #sender: Sender
  readonly #fetcher: Fetcher
  readonly #positions: Positions
  readonly #tasks = new Set<TaskLog>()
  #isSending: Promise<void> | undefined
  #closed = false

  /** Made by `openKafkaLog` only. */
  constructor(options: KafkaLogOptions, link: Link, partitions: number, identity: string) {
    this.identity = identity
    const { settings, clock } = options
    this.#options = options
    this.#link = link
    const { readLink = (link) => link } = options
    this.#offsets = new OffsetRequests(readLink(link))
    this.#fetcher = new Fetcher(async () => readLink(await this.#open()), clock)
    this.#partitions = partitions
    this.#sendLink = openLink(settings, options.clientId)
    this.#sender = new Sender({ link: this.#sendLink, compression: settings.compression, clock })
    this.#positions = new Positions({
      append: (partition, records) => this.#append(POSITIONS, partition, records),
      read: (partition, from, limit) =>
        this.#read(POSITIONS, partition, from, { limit, waitMs: 0 }),
      bounds: (partition) => this.#bounds(POSITIONS, partition),
    })
  }

  partitions(topic: Topic): number {
    return SINGLE_PARTITION.has(topic) ? 1 : this.#partitions
  }

  async append(topic: Topic, partition: number, records: readonly Appending[]): Promise<bigint> {
    this.#check(topic, partition)
    if (records.length === 0) throw invalid('An append needs at least one record')
    checkRecords(topic, records)
    return await this.#append(topic, partition, records)
  }

  async read(
    topic: Topic,
    partition: number,
    from: bigint,
    options: { readonly limit: number; readonly waitMs: number },
    signal?: AbortSignal,
  ): Promise<Page> {
    this.#check(topic, partition)
    if (!(options.limit >= 1)) throw invalid('A read needs a limit of at least 1')
    if (from < 0n) throw outOfRange(topic, partition, from)
    return await this.#read(topic, partition, from, options, signal)
  }

  async bounds(topic: Topic, partition: number): Promise<Bounds> {
    this.#check(topic, partition)
    return await this.#bounds(topic, partition)
  }

  async end(topic: Topic, partition: number): Promise<bigint> {
    this.#check(topic, partition)
    return await this.#end(topic, partition)
  }

  async wholeFrom(topic: Topic, partition: number): Promise<bigint> {
    this.#check(topic, partition)
    if (!COMPACTED.has(topic)) throw invalid(`Topic ${topic} is not compacted: nothing is missing`)
    const { clock, tombstonesMs = TOMBSTONES_MS } = this.#options
    const since = await this.#offset(topic, partition, clock.now() - tombstonesMs)
    return since ?? (await this.#end(topic, partition))
  }

  async latest(topic: Topic, partition: number): Promise<readonly Entry[]> {
    this.#check(topic, partition)
    if (!COMPACTED.has(topic)) throw invalid(`Topic ${topic} is not compacted: read its entries`)
    const { start, end } = await this.#bounds(topic, partition)
    const latest = new Map<string, Entry>()
    for (let next = start; next < end; ) {
      const page = await this.#read(topic, partition, next, { limit: LATEST_PAGE, waitMs: 0 })
      for (const entry of page.entries) {
        latest.delete(entry.key)
        if (entry.value !== null) latest.set(entry.key, entry)
      }
      next = page.next
    }
    return [...latest.values()]
  }

  async loadPosition(
    reader: string,
    topic: Topic,
    partition: number,
  ): Promise<SavedPosition | undefined> {
    this.#check(topic, partition)
    return await this.#positions.load(positionKey(reader, topic, partition), partition)
  }

  async savePosition(
    reader: string,
    topic: Topic,
    partition: number,
    position: SavedPosition,
  ): Promise<void> {
    this.#check(topic, partition)
    checkPosition(reader, position)
    await this.#positions.save(positionKey(reader, topic, partition), partition, position)
  }

  async trim(topic: Topic, partition: number, before: bigint): Promise<void> {
    this.#check(topic, partition)
    if (COMPACTED.has(topic)) throw invalid(`Topic ${topic} is compacted and never trimmed`)
    const { start, end } = await this.#bounds(topic, partition)
    if (before > end) throw outOfRange(topic, partition, before)
    if (before <= start) return
    const name = this.#name(topic)
    await this.#retried(`trimming ${topic}`, async () => {
      const broker = await this.#leader(name, partition)
      const partitions = [{ partition, offset: before.toString() }]
      await asking(
        `deleting old records of ${name}`,
        async () => await broker.deleteRecords({ topics: [{ topic: name, partitions }] }),
      )
    })
  }

  async openTask(partition: number): Promise<TaskLog> {
    this.#check('changelog', partition)
    const { settings, clientId, clock, taskLink = (link) => link } = this.#options
    const { application, compression } = settings
    const link = taskLink(openLink(settings, `${clientId}-task-${partition}`))
    const onClosed = (): unknown => this.#tasks.delete(task)
    const task = await openTaskLog({ link, application, partition, compression, clock, onClosed })
    this.#tasks.add(task)
    return task
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#sender.close()
    await Promise.all([
      ...[...this.#tasks].map((task) => task[Symbol.asyncDispose]()),
      this.#fetcher[Symbol.asyncDispose](),
      this.#sendLink[Symbol.asyncDispose](),
      this.#link[Symbol.asyncDispose](),
    ])
  }

  /**
   * Throws when a topic was deleted and created again since this application first saw it (F41).
   */
  async checkIdentity(ids: Readonly<Record<string, string>>): Promise<void> {
    const bytes = await this.#positions.value(IDENTITY_KEY, 0)
    const known =
      bytes === undefined ? {} : (JSON.parse(bytes.toString()) as Record<string, string>)
    for (const [topic, id] of Object.entries(ids)) {
      if (known[topic] === undefined || known[topic] === id) continue
      throw new LogError(
        'FORMAT',
        `the topic ${topic} was deleted and created again, so what the others say of it is about entries that were deleted: ` +
          'restore it, or start with another --application (the clusters are then listed anew)',
      )
    }
    const isNew = Object.keys(ids).some((topic) => known[topic] === undefined)
    if (!isNew) return
    await this.#positions.put(IDENTITY_KEY, 0, Buffer.from(JSON.stringify({ ...known, ...ids })))
  }

  async #open(): Promise<Link> {
    const { settings, clientId } = this.#options
    const link = openLink(settings, clientId)
    try {
      await link.connect(allTopicNames(settings.application))
    } catch (error) {
      await link[Symbol.asyncDispose]()
      throw error
    }
    return link
  }

  async #append(
    topic: KafkaTopic,
    partition: number,
    records: readonly Produced[],
  ): Promise<bigint> {
    this.#isSending ??= this.#sendLink.connect(allTopicNames(this.#options.settings.application))
    try {
      await this.#isSending
    } catch (error) {
      this.#isSending = undefined
      throw logErrorOf(error, `appending to ${topic}`, 'UNAVAILABLE')
    }
    return await this.#sender.append(this.#name(topic), partition, records)
  }

  async #read(
    topic: KafkaTopic,
    partition: number,
    from: bigint,
    { limit, waitMs }: { readonly limit: number; readonly waitMs: number },
    signal?: AbortSignal,
  ): Promise<Page> {
    const asked = { topic: this.#name(topic), partition, from, limit, waitMs }
    return await this.#fetcher.read(asked, signal)
  }

  async #bounds(topic: KafkaTopic, partition: number): Promise<Bounds> {
    const [start, end] = await Promise.all([
      this.#offset(topic, partition, EARLIEST),
      this.#end(topic, partition),
    ])
    if (start === undefined) throw unbounded(topic, partition)
    return { start, end }
  }

  async #end(topic: KafkaTopic, partition: number): Promise<bigint> {
    const end = await this.#offset(topic, partition, LATEST)
    if (end === undefined) throw unbounded(topic, partition)
    return end
  }

  /** Of the first entry that was appended then or later; undefined when there is none. */
  async #offset(
    topic: KafkaTopic,
    partition: number,
    timestamp: number,
  ): Promise<bigint | undefined> {
    const name = this.#name(topic)
    return await this.#retried(`looking at partition ${partition} of ${topic}`, async () => {
      return await this.#offsets.ask({ topic: name, partition, timestamp })
    })
  }

  async #leader(name: string, partition: number): ReturnType<Link['broker']> {
    const leader = this.#link.leaderOf(name, partition)
    if (leader === undefined)
      throw new BrokerError(CODE.leaderNotAvailable, `${name} has no leader`)
    return await this.#link.broker(leader)
  }

  async #retried<T>(doing: string, work: () => Promise<T>): Promise<T> {
    try {
      return await repeated(this.#options.clock, work, async () => {
        if (this.#closed) throw new LogError('CLOSED', 'This log is closed: open it')
        await this.#link.refresh()
      })
    } catch (error) {
      throw logErrorOf(error, doing, 'UNAVAILABLE')
    }
  }

  #name(topic: KafkaTopic): string {
    return topicName(this.#options.settings.application, topic)
  }

  #check(topic: Topic, partition: number): void {
    if (this.#closed) throw new LogError('CLOSED', 'This log is closed: open it')
    const count = this.partitions(topic)
    if (Number.isInteger(partition) && partition >= 0 && partition < count) return
    throw invalid(`Topic ${topic} has no partition ${partition}, only ${count}`)
  }
}

/** Repeats while the obstacle may pass; brokers get to know a new topic one after the other. */
async function repeated<T>(
  clock: Clock,
  work: () => Promise<T>,
  between: () => Promise<void> = async () => undefined,
): Promise<T> {
  const deadline = clock.monotonicMs() + RETRY_MS
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isPassing(error) || clock.monotonicMs() >= deadline) throw error
      await clock.sleep(RETRY_WAIT_MS)
      await between().catch((failure) => {
        if (!isPassing(failure)) throw failure
      })
    }
  }
}

function positionKey(reader: string, topic: Topic, partition: number): string {
  return `${topic}/${partition}/${reader}`
}

function invalid(message: string): LogError {
  return new LogError('INVALID', message)
}

/**
 * Every partition has both ends: an answer without one proves nothing, least of all that the
 * partition is empty.
 */
function unbounded(topic: KafkaTopic, partition: number): LogError {
  const message = `Partition ${partition} of ${topic} was told without its bounds: try again`
  return new LogError('UNAVAILABLE', message)
}

function outOfRange(topic: Topic, partition: number, from: bigint): LogError {
  const message = `Partition ${partition} of ${topic} does not hold offset ${from}: start from a snapshot or a relist`
  return new LogError('OUT_OF_RANGE', message)
}
