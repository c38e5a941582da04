/**
 * The right to commit for one task: a transactional producer of our own, so that a failure is never
 * skipped and a commit never repeated.
 *
 * What must stay true: taking the right aborts the open transactions of a predecessor and fences it
 * from then on (InitProducerId under the task's own transactional id); the fence marker comes after
 * everything that it committed. After any failure the producer is unusable.
 *
 * Not here: the contents of a request (produce.ts, inside.ts), the task's four steps
 * (services/graph/fold/task.ts).
 */
import type { Clock } from '../../ports/clock.ts'
import {
  FENCE_KEY,
  LogError,
  type Produced,
  type TaskCommit,
  type TaskLog,
  type TopicBatch,
} from '../../ports/log.ts'
import { checkRecords } from '../../ports/record/record-limit.ts'
import { asking, BrokerError, CODE, codeOf, isFenced, isPassing, logErrorOf } from './failure.ts'
import type { Broker, Link } from './inside.ts'
import { addPartitions, type Transaction } from './protocol/add-partitions.ts'
import type { Batched } from './protocol/produce.ts'
import { inBatches, produce } from './protocol/produce.ts'
import type { Compression } from './protocol/record-batch.ts'
import { nextSequence } from './protocol/sequence.ts'
import { allTopicNames, topicName } from './protocol/topic-name.ts'

/**
 * An open transaction blocks every reader of its topics: the broker aborts one that is abandoned
 * after this time.
 */
export const TRANSACTION_TIMEOUT_MS = 10_000
/**
 * The markers of the last transaction are being written: the next one waits for them, in small
 * steps, and for this long at most.
 */
const MARKERS_STEP_MS = 5
const MARKERS_MS = 10_000
/**
 * A predecessor's transaction is being ended, or the coordinator moves: as long as an open
 * transaction may live, and some.
 */
const TAKE_OVER_STEP_MS = 20
const TAKE_OVER_MS = 30_000
/** A leader moves: a batch that it refused is sent to the next one, for this long at most. */
const MOVING_STEP_MS = 20
const MOVING_MS = 5_000
const MOVING: ReadonlySet<number> = new Set([
  CODE.unknownTopicOrPartition,
  CODE.leaderNotAvailable,
  CODE.notLeader,
])

const WAITING: ReadonlySet<number> = new Set([
  CODE.concurrentTransactions,
  CODE.coordinatorLoading,
  CODE.coordinatorNotAvailable,
  CODE.notCoordinator,
])

export interface TaskLogOptions {
  readonly link: Link
  readonly application: string
  readonly partition: number
  readonly compression: Compression
  readonly clock: Clock
  /** The one that was opened is closed. */
  readonly onClosed?: () => void
}

export async function openTaskLog(options: TaskLogOptions): Promise<KafkaTaskLog> {
  const { link, application, partition, clock } = options
  const transactionalId = `${application}-${partition}`
  try {
    await link.connect(allTopicNames(application))
    const { coordinator, producerId, producerEpoch } = await fence(link, transactionalId, clock)
    const producer = new Producer(options, transactionalId, coordinator, producerId, producerEpoch)
    const value = Buffer.from(new Date(clock.now()).toISOString())
    const records: readonly Produced[] = [{ key: FENCE_KEY, value }]
    const end = await producer.commit([{ topic: 'changelog', partition, records }])
    if (end === undefined) throw new Error('the fence marker has no place')
    return new KafkaTaskLog(partition, end, producer, link, options.onClosed)
  } catch (error) {
    await link[Symbol.asyncDispose]()
    throw logErrorOf(error, `taking over task ${partition}`, 'UNAVAILABLE')
  }
}

interface Fenced {
  readonly coordinator: Broker
  readonly producerId: string
  readonly producerEpoch: number
}

async function fence(link: Link, transactionalId: string, clock: Clock): Promise<Fenced> {
  const deadline = clock.monotonicMs() + TAKE_OVER_MS
  for (;;) {
    try {
      const coordinator = await link.coordinator('transaction', transactionalId)
      const { producerId, producerEpoch } = await asking(
        `the transactional id ${transactionalId}`,
        async () =>
          await coordinator.initProducerId({
            transactionalId,
            transactionTimeout: TRANSACTION_TIMEOUT_MS,
          }),
      )
      return { coordinator, producerId: String(producerId), producerEpoch }
    } catch (error) {
      // A repeated request raises the epoch twice: the first one was never used.
      const isWaiting = WAITING.has(codeOf(error) ?? CODE.none) || isPassing(error)
      if (!isWaiting || clock.monotonicMs() >= deadline) throw error
      await clock.sleep(TAKE_OVER_STEP_MS)
    }
  }
}

export class KafkaTaskLog implements TaskLog {
  readonly partition: number
  readonly fence: bigint
  readonly #producer: Producer
  readonly #link: Link
  readonly #onClosed: () => void
  #end: bigint
  #state: 'owner' | 'failed' | 'closed' = 'owner'

  constructor(
    partition: number,
    end: bigint,
    producer: Producer,
    link: Link,
    onClosed: () => void = () => undefined,
  ) {
    this.partition = partition
    // After the marker comes the commit's own.
    this.fence = end - 2n
    this.#end = end
    this.#producer = producer
    this.#link = link
    this.#onClosed = onClosed
  }

  async commit({ outputs, changelog }: TaskCommit): Promise<bigint> {
    if (this.#state !== 'owner') {
      const message = `Task ${this.partition} is closed or failed before: open it again`
      throw new LogError('CLOSED', message)
    }
    const batches: TopicBatch[] = [
      ...outputs,
      { topic: 'changelog', partition: this.partition, records: changelog },
    ]
    try {
      for (const { topic, records } of batches) checkRecords(topic, records)
      this.#end = (await this.#producer.commit(batches)) ?? this.#end
      return this.#end
    } catch (error) {
      this.#state = 'failed'
      const doing = `a commit of task ${this.partition}`
      if (!isFenced(error)) throw logErrorOf(error, doing, 'UNKNOWN_OUTCOME')
      const message = `Task ${this.partition} has another owner: leave it to that one`
      throw new LogError('FENCED', message, { cause: error })
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#state = 'closed'
    this.#onClosed()
    await this.#link[Symbol.asyncDispose]()
  }
}

class Producer {
  readonly #options: TaskLogOptions
  readonly #transactionalId: string
  readonly #coordinator: Broker
  readonly #producerId: string
  readonly #producerEpoch: number
  readonly #sequences = new Map<string, number>()

  constructor(
    options: TaskLogOptions,
    transactionalId: string,
    coordinator: Broker,
    producerId: string,
    producerEpoch: number,
  ) {
    this.#options = options
    this.#transactionalId = transactionalId
    this.#coordinator = coordinator
    this.#producerId = producerId
    this.#producerEpoch = producerEpoch
  }

  /**
   * One transaction; resolves with the end of the changelog's partition after it, if it wrote
   * there.
   */
  async commit(batches: readonly TopicBatch[]): Promise<bigint | undefined> {
    const writes = gathered(batches)
    if (writes.length === 0) return undefined
    await this.#begin(writes)
    let end: bigint | undefined
    const rounds = writes.map(({ records }) => inBatches(records))
    for (let round = 0; rounds.some((pieces) => round < pieces.length); round++) {
      const due = writes.flatMap(({ topic, partition }, index) => {
        const records = rounds[index]?.[round]
        return records === undefined ? [] : [{ topic, partition, records }]
      })
      end = (await this.#send(due)) ?? end
    }
    await this.#coordinator.endTxn({ ...this.#identity(), transactionResult: true })
    return end === undefined ? undefined : end + 1n
  }

  #identity(): Transaction {
    return {
      transactionalId: this.#transactionalId,
      producerId: this.#producerId,
      producerEpoch: this.#producerEpoch,
    }
  }

  async #begin(writes: readonly TopicBatch[]): Promise<void> {
    const { link, application, clock } = this.#options
    const deadline = clock.monotonicMs() + MARKERS_MS
    for (;;) {
      try {
        await addPartitions(link, this.#coordinator, this.#identity(), application, writes)
        return
      } catch (error) {
        const isBusy = codeOf(error) === CODE.concurrentTransactions
        if (!isBusy || clock.monotonicMs() >= deadline) throw error
        await clock.sleep(MARKERS_STEP_MS)
      }
    }
  }

  /**
   * One request for each leader; resolves with the offset after the last record in the changelog.
   */
  async #send(due: readonly TopicBatch[]): Promise<bigint | undefined> {
    const { application, link, clock } = this.#options
    const batches: Batched[] = due.map(({ topic, partition, records }) => {
      const name = topicName(application, topic)
      const sequence = this.#take(`${name}/${partition}`, records.length)
      const producerId = BigInt(this.#producerId)
      const epoch = this.#producerEpoch
      const stamp = { producerId, epoch, sequence, isTransactional: true }
      return { topic: name, partition, records, stamp }
    })
    let end: bigint | undefined
    const changelog = topicName(application, 'changelog')
    const deadline = clock.monotonicMs() + MOVING_MS
    for (let left = batches; ; ) {
      const refused = await this.#sendTo(left, ({ topic, records }, offset) => {
        if (topic === changelog) end = offset + BigInt(records.length)
      })
      if (refused === undefined) return end
      if (clock.monotonicMs() >= deadline) throw refused.error
      left = refused.batches
      await clock.sleep(MOVING_STEP_MS)
      await link.refresh()
    }
  }

  /**
   * One request for each leader. Returns the batches refused because a leader moves: surely not
   * written, so they may be sent again under their numbers.
   */
  async #sendTo(
    batches: readonly Batched[],
    written: (batch: Batched, offset: bigint) => void,
  ): Promise<{ readonly batches: Batched[]; readonly error: BrokerError } | undefined> {
    const { link, compression, clock } = this.#options
    const refused: Batched[] = []
    let error: BrokerError | undefined
    const leaders = Map.groupBy(batches, (batch) => link.leaderOf(batch.topic, batch.partition))
    const options = { transactionalId: this.#transactionalId, compression, now: clock.now() }
    await Promise.all(
      [...leaders].map(async ([leader, all]) => {
        const places =
          leader === undefined
            ? all.map(() => ({ code: CODE.leaderNotAvailable, offset: -1n }))
            : await produce(link, await link.broker(leader), all, options)
        for (const [index, { code, offset }] of places.entries()) {
          const batch = all[index]!
          if (code === CODE.none) {
            written(batch, offset)
            continue
          }
          error = new BrokerError(code, `writing to ${batch.topic}/${batch.partition}`)
          if (!MOVING.has(code)) throw error
          refused.push(batch)
        }
      }),
    )
    return error === undefined ? undefined : { batches: refused, error }
  }

  #take(place: string, count: number): number {
    const sequence = this.#sequences.get(place) ?? 0
    this.#sequences.set(place, nextSequence(sequence, count))
    return sequence
  }
}

/** The records for one partition, in one piece; none for an empty batch. */
function gathered(batches: readonly TopicBatch[]): TopicBatch[] {
  const byPlace = new Map<string, TopicBatch>()
  for (const batch of batches) {
    if (batch.records.length === 0) continue
    const place = `${batch.topic}/${batch.partition}`
    const former = byPlace.get(place)
    const records = former === undefined ? batch.records : [...former.records, ...batch.records]
    byPlace.set(place, { ...batch, records })
  }
  return [...byPlace.values()]
}
