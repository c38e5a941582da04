/**
 * Appends without a transaction: an idempotent producer for each partition, one request of it under
 * way at a time; records that come meanwhile are sent with the next.
 *
 * What must stay true: an append is acknowledged only when all replicas in sync have it; a repeated
 * request has the number of the first, so the broker takes it once, whatever its answer. After a
 * failure whose outcome is unknown the numbers begin anew under another producer id.
 */
import type { Clock } from '../../ports/clock.ts'
import { type Appending, LogError, sentNow } from '../../ports/log.ts'
import { asking, BrokerError, CODE, isPassing, logErrorOf } from './failure.ts'
import type { Link } from './inside.ts'
import { inBatches, produce } from './protocol/produce.ts'
import type { Compression, ProducerStamp } from './protocol/record-batch.ts'
import { nextSequence } from './protocol/sequence.ts'

/** How long an append is retried before its caller gets the error. */
const APPEND_MS = 20_000
const FIRST_WAIT_MS = 20
const LONGEST_WAIT_MS = 500
/** The most records in one request; larger appends are sent alone. */
const MOST_RECORDS = 10_000
/** The broker lost its state of the producer: another producer id, and again. */
const FORGOTTEN: ReadonlySet<number> = new Set([45, 46, 47, 59])

interface Append {
  readonly records: readonly Appending[]
  readonly resolve: (first: bigint) => void
  readonly reject: (error: Error) => void
}

export interface SenderOptions {
  readonly link: Link
  readonly compression: Compression
  readonly clock: Clock
}

export class Sender {
  readonly #options: SenderOptions
  readonly #lanes = new Map<string, Lane>()
  #closed = false

  constructor(options: SenderOptions) {
    this.#options = options
  }

  append(topic: string, partition: number, records: readonly Appending[]): Promise<bigint> {
    if (this.#closed) return Promise.reject(new LogError('CLOSED', 'This log is closed: open it'))
    const place = `${topic}/${partition}`
    let lane = this.#lanes.get(place)
    if (lane === undefined) {
      lane = new Lane(this.#options, topic, partition)
      this.#lanes.set(place, lane)
    }
    return lane.append(records)
  }

  close(): void {
    this.#closed = true
    for (const lane of this.#lanes.values()) lane.close()
  }
}

class Lane {
  readonly #options: SenderOptions
  readonly #topic: string
  readonly #partition: number
  #waiting: Append[] = []
  #isBusy = false
  #isClosed = false
  #identity: { readonly producerId: bigint; readonly epoch: number } | undefined
  #sequence = 0

  constructor(options: SenderOptions, topic: string, partition: number) {
    this.#options = options
    this.#topic = topic
    this.#partition = partition
  }

  append(records: readonly Appending[]): Promise<bigint> {
    const { promise, resolve, reject } = Promise.withResolvers<bigint>()
    this.#waiting.push({ records, resolve, reject })
    if (!this.#isBusy) void this.#work()
    return promise
  }

  close(): void {
    this.#isClosed = true
  }

  async #work(): Promise<void> {
    this.#isBusy = true
    while (this.#waiting.length > 0) {
      const group = this.#takeGroup()
      try {
        let first = await this.#appendAll(group.flatMap(({ records }) => records))
        for (const { records, resolve } of group) {
          resolve(first)
          first += BigInt(records.length)
        }
      } catch (error) {
        this.#identity = undefined
        const failure = logErrorOf(error, `appending to ${this.#topic}`, 'UNAVAILABLE')
        for (const { reject } of group) reject(failure)
      }
    }
    this.#isBusy = false
  }

  #takeGroup(): Append[] {
    let count = 0
    const end = this.#waiting.findIndex(({ records }, index) => {
      count += records.length
      return index > 0 && count > MOST_RECORDS
    })
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end)
  }

  /** Offset of the first. */
  async #appendAll(records: readonly Appending[]): Promise<bigint> {
    let first: bigint | undefined
    for (const batch of inBatches(records)) {
      const offset = await this.#appendBatch(batch)
      first ??= offset
    }
    if (first === undefined) throw new Error('nothing to append')
    return first
  }

  async #appendBatch(records: readonly Appending[]): Promise<bigint> {
    const { clock, link } = this.#options
    const deadline = clock.monotonicMs() + APPEND_MS
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
      try {
        const offset = await this.#try(records)
        this.#sequence = nextSequence(this.#sequence, records.length)
        return offset
      } catch (error) {
        const isForgotten = error instanceof BrokerError && FORGOTTEN.has(error.code)
        if (isForgotten) this.#identity = undefined
        const mayWait = (isForgotten || isPassing(error)) && clock.monotonicMs() < deadline
        if (!mayWait || this.#isClosed) throw error
        await clock.sleep(waitMs)
        // A broker that cannot be reached for this is asked again by the next try.
        await link.refresh().catch(() => undefined)
      }
    }
  }

  async #try(records: readonly Appending[]): Promise<bigint> {
    const { link, compression, clock } = this.#options
    const leader = link.leaderOf(this.#topic, this.#partition)
    if (leader === undefined) {
      throw new BrokerError(CODE.leaderNotAvailable, `${this.#topic} has no leader`)
    }
    const stamp = await this.#stamp()
    const broker = await link.broker(leader)
    const about = { topic: this.#topic, partition: this.#partition, stamp }
    const batch = { ...about, records: sentNow(records) }
    const options = { transactionalId: null, compression, now: clock.now() }
    const [at] = await produce(link, broker, [batch], options)
    if (at === undefined || at.code !== CODE.none) {
      throw new BrokerError(at?.code ?? CODE.notLeader, `writing to ${this.#topic}`)
    }
    return at.offset
  }

  async #stamp(): Promise<ProducerStamp> {
    if (this.#identity === undefined) {
      const broker = await this.#options.link.controller()
      const { producerId, producerEpoch } = await asking(
        'Write on some topic, or IdempotentWrite on the cluster',
        async () => await broker.initProducerId({}),
      )
      this.#identity = { producerId: BigInt(producerId), epoch: producerEpoch }
      this.#sequence = 0
    }
    return { ...this.#identity, sequence: this.#sequence, isTransactional: false }
  }
}
