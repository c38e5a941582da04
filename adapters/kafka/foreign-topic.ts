/**
 * Follows a topic that another program writes, by a consumer group of its own: audit logs that a
 * cloud puts into Event Hubs, which speak Kafka.
 *
 * What must stay true: a position is committed only after the caller has said that the records
 * are durable, so each of them is handed over at least once; and what the brokers no longer
 * had when it was its turn is said, with the time of the last record before it.
 *
 * Why kafkajs' consumer, and not our own reader (fetch.ts): these brokers know other versions of
 * the protocol, and share partitions by groups only.
 *
 * Not here: what is in the records (cli/offline/audit-follow.ts), our own topics (log.ts).
 */
import type { Admin, Consumer, EachBatchPayload, Kafka } from 'kafkajs'
import type { Clock } from '../../ports/clock.ts'
import { LogError } from '../../ports/log.ts'
import { asking, CODE, codeOf, isPassing, logErrorOf } from './failure.ts'
import { createKafka } from './inside.ts'
import { type KafkaSettings, refusalOf } from './settings.ts'

/** Event Hubs want no less. */
const SESSION_MS = 30_000
const REBALANCE_MS = 60_000
const HEARTBEAT_MS = 3_000
const WAIT_MS = 1_000
/** How long brokers are asked again at the start: a coordinator may have no place yet. */
const TRIES_MS = 30_000
const TRY_WAIT_MS = 200
/** Of a partition at once; a larger record is handed over whole. */
const PAGE_BYTES = 1024 * 1024

export interface ForeignTopic {
  readonly settings: Omit<KafkaSettings, 'application' | 'compression'>
  readonly topic: string
  /** Its members share the partitions. */
  readonly group: string
  readonly clientId: string
  readonly clock: Clock
}

export interface ForeignRecord {
  readonly offset: bigint
  /** As the brokers have it, in milliseconds. */
  readonly at: number
  readonly value: Uint8Array
}

export interface ForeignBatch {
  readonly partition: number
  readonly records: readonly ForeignRecord[]
  /**
   * Undefined: nothing is missing before these. Else the brokers have removed records of between
   * these times; `from` undefined: of before `to`.
   */
  readonly lost: { readonly from: number | undefined; readonly to: number } | undefined
}

interface Position {
  readonly next: bigint
  /** Of the last record before it. */
  readonly at: number | undefined
}

/**
 * Until the signal aborts. `take` resolves when its records are durable; what it throws ends this,
 * and commits nothing. While brokers are away they are tried again.
 */
export async function followTopic(
  of: ForeignTopic,
  take: (batch: ForeignBatch) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const refusal = refusalOf({ ...of.settings, application: '', compression: 'none' })
  if (refusal !== undefined) throw new LogError('INVALID', refusal)
  const doing = `following ${of.topic} at ${of.settings.brokers.join(', ')}`
  const kafka = createKafka({ ...of.settings, application: '', compression: 'none' }, of.clientId)
  try {
    const positions = await firstPositions(kafka, of, signal)
    await consume({ ...of, kafka, positions, take, signal })
  } catch (error) {
    // What `take` throws is about no broker.
    throw error instanceof TakeError ? error.cause : logErrorOf(error, doing, 'UNAVAILABLE')
  }
}

/** What `take` threw. */
class TakeError extends Error {
  override readonly name = 'TakeError'
}

interface Following extends ForeignTopic {
  readonly kafka: Kafka
  /** Where each partition is continued, as far as that is known. */
  readonly positions: Map<number, Position>
  readonly take: (batch: ForeignBatch) => Promise<void>
  readonly signal: AbortSignal
}

async function consume(following: Following): Promise<void> {
  const { kafka, topic, group, signal } = following
  if (signal.aborted) return
  const consumer = kafka.consumer({
    ...{ groupId: group, allowAutoTopicCreation: false },
    ...{ sessionTimeout: SESSION_MS, rebalanceTimeout: REBALANCE_MS },
    ...{ heartbeatInterval: HEARTBEAT_MS, maxWaitTimeInMs: WAIT_MS },
    maxBytesPerPartition: PAGE_BYTES,
  })
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>()
  const stop = (): void => resolve()
  signal.addEventListener('abort', stop, { once: true })
  // After all others kafkajs starts again by itself.
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (!payload.restart) reject(payload.error)
  })
  ended.catch(() => undefined)
  try {
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: true })
    await consumer.run({
      ...{ autoCommit: false, eachBatchAutoResolve: false, partitionsConsumedConcurrently: 1 },
      eachBatch: async (payload) => {
        await takeBatch(following, consumer, payload).catch((error: unknown) => {
          // Nothing after it is taken: what failed is no broker's to repeat.
          if (!(error instanceof TakeError)) throw error
          reject(error)
          return ended
        })
      },
    })
    await ended
  } finally {
    signal.removeEventListener('abort', stop)
    await consumer.disconnect().catch(() => undefined)
  }
}

async function takeBatch(
  following: Following,
  consumer: Consumer,
  { batch, heartbeat, resolveOffset, isRunning, isStale }: EachBatchPayload,
): Promise<void> {
  const { topic, positions, take, signal } = following
  const { partition, messages } = batch
  if (signal.aborted || !isRunning() || isStale()) return
  const records = messages.flatMap(({ offset, timestamp, value }): ForeignRecord[] =>
    value === null ? [] : [{ offset: BigInt(offset), at: Number(timestamp), value }],
  )
  const first = BigInt(batch.firstOffset() ?? 0)
  const to = records[0]?.at ?? following.clock.now()
  const lost = await lostBefore(following, partition, { first, to })
  // However long it takes, the group knows that this member lives.
  const beat = setInterval(() => void heartbeat().catch(() => undefined), HEARTBEAT_MS)
  try {
    await take({ partition, records, lost })
  } catch (cause) {
    throw new TakeError('the records were not taken', { cause })
  } finally {
    clearInterval(beat)
  }
  const position = {
    next: BigInt(batch.lastOffset()) + 1n,
    at: records.at(-1)?.at ?? positions.get(partition)?.at,
  }
  resolveOffset(batch.lastOffset())
  const metadata = position.at === undefined ? {} : { metadata: String(position.at) }
  await consumer.commitOffsets([{ topic, partition, offset: String(position.next), ...metadata }])
  positions.set(partition, position)
}

/** A position that the brokers do not hold any more is moved to the first that they do. */
async function lostBefore(
  { kafka, topic, positions }: Following,
  partition: number,
  { first, to }: { readonly first: bigint; readonly to: number },
): Promise<ForeignBatch['lost']> {
  const known = positions.get(partition)
  if (known === undefined || first <= known.next) return undefined
  // Offsets may also be without a record: what counts is where the brokers' records begin.
  const offsets = await withAdmin(kafka, async (admin) => await admin.fetchTopicOffsets(topic))
  const begin = BigInt(offsets.find((each) => each.partition === partition)?.low ?? 0)
  return begin > known.next ? { from: known.at, to } : undefined
}

async function firstPositions(
  kafka: Kafka,
  of: ForeignTopic,
  signal: AbortSignal,
): Promise<Map<number, Position>> {
  const deadline = of.clock.monotonicMs() + TRIES_MS
  for (;;) {
    try {
      return await withAdmin(kafka, async (admin) => await positionsOf(admin, of))
    } catch (error) {
      if (signal.aborted) return new Map()
      if (!isPassing(error) || of.clock.monotonicMs() >= deadline) throw error
      await of.clock.sleep(TRY_WAIT_MS)
    }
  }
}

/** Where the group left off; a partition where it never was begins at its beginning. */
async function positionsOf(
  admin: Admin,
  { topic, group }: ForeignTopic,
): Promise<Map<number, Position>> {
  await asking(
    `asking for the topic ${topic}`,
    async () => await admin.fetchTopicMetadata({ topics: [topic] }),
  ).catch((error: unknown) => {
    if (codeOf(error) !== CODE.unknownTopicOrPartition) throw error
    throw new LogError('INVALID', `there is no topic or event hub ${topic}: check its name`)
  })
  const fetched = await asking(
    `asking for the positions of the group ${group}`,
    async () => await admin.fetchOffsets({ groupId: group, topics: [topic] }),
  )
  const positions = (fetched[0]?.partitions ?? []).flatMap(
    ({ partition, offset, metadata }): [number, Position][] => {
      if (!(BigInt(offset) >= 0n)) return []
      const at = Number(metadata || Number.NaN)
      return [[partition, { next: BigInt(offset), at: at > 0 ? at : undefined }]]
    },
  )
  return new Map(positions)
}

async function withAdmin<T>(kafka: Kafka, work: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = kafka.admin()
  try {
    await admin.connect()
    return await work(admin)
  } finally {
    await admin.disconnect()
  }
}
