/**
 * The log that a measured fold reads and writes: events are in memory, written records are counted
 * and then dropped.
 *
 * What must stay true: it costs next to nothing, so only the fold is measured; a read returns the
 * same number of events however fast they are folded, so the content of a commit does not depend on
 * the machine.
 *
 * With digests it costs more, and its time is a count: then two versions whose topics have the same
 * digests wrote the same bytes. Of real time it depends what is written: budgets are by the minute.
 *
 * Not here: real logs (adapters).
 */
import { createHash, type Hash } from 'node:crypto'
import { MemoryLog } from '../../adapters/memory/log.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Bounds, Entry, Page, Produced, TaskCommit, TaskLog, Topic } from '../../ports/log.ts'

export interface Counted {
  puts: number
  removals: number
  bytes: number
  /** Of all keys and values, each with its length; if that is requested. */
  readonly digest: Hash | undefined
}

/** Log time of the first event where time is a count; each later one is a millisecond later. */
const BEGINNING_MS = 1_790_000_000_000

export class CountedLog extends MemoryLog {
  /** By topic; in the changelog by the first part of the key, too. */
  readonly written: Map<string, Counted> = new Map()
  readonly #events: Entry[] = []
  readonly #clock: Clock
  readonly #perCommit: number
  readonly #hasDigests: boolean
  readonly #isTimeCount: boolean
  #more: PromiseWithResolvers<void> = Promise.withResolvers()

  constructor(
    clock: Clock,
    perCommit: number,
    hasDigests = false,
    isTimeCount: boolean = hasDigests,
  ) {
    super({ partitions: 1, clock })
    this.#clock = clock
    this.#hasDigests = hasDigests
    this.#isTimeCount = isTimeCount
    this.#perCommit = perCommit
  }

  override async append(
    topic: Topic,
    partition: number,
    records: readonly Produced[],
  ): Promise<bigint> {
    if (topic !== 'events') return await super.append(topic, partition, records)
    const first = this.#events.length
    const nowMs = this.#clock.now()
    for (const { key, value, trace } of records) {
      const timestamp = this.#isTimeCount ? BEGINNING_MS + this.#events.length : nowMs
      const entry = { offset: BigInt(this.#events.length), timestamp, key, value }
      this.#events.push(trace === undefined ? entry : { ...entry, trace })
    }
    this.#more.resolve()
    this.#more = Promise.withResolvers()
    return BigInt(first)
  }

  override async read(
    topic: Topic,
    partition: number,
    from: bigint,
    options: { readonly limit: number; readonly waitMs: number },
    signal?: AbortSignal,
  ): Promise<Page> {
    if (topic !== 'events') return await super.read(topic, partition, from, options, signal)
    const at = Number(from)
    const ended = Promise.withResolvers<void>()
    signal?.addEventListener('abort', () => ended.resolve(), { once: true })
    if (at === this.#events.length) await Promise.race([this.#more.promise, ended.promise])
    const entries = this.#events.slice(at, at + Math.min(options.limit, this.#perCommit))
    return { entries, next: from + BigInt(entries.length) }
  }

  override async bounds(topic: Topic, partition: number): Promise<Bounds> {
    if (topic !== 'events') return await super.bounds(topic, partition)
    return { start: 0n, end: BigInt(this.#events.length) }
  }

  override async openTask(partition: number): Promise<TaskLog> {
    const { fence } = await super.openTask(partition)
    let end = fence + 1n
    return {
      partition,
      fence,
      commit: async ({ outputs, changelog }: TaskCommit) => {
        for (const { topic, records } of outputs) {
          this.#count(topic, records)
          if (topic === 'events') await this.append(topic, partition, records)
        }
        for (const record of changelog) {
          this.#count(`changelog ${record.key.split('/', 1)[0]}`, [record])
        }
        this.#count('changelog', changelog)
        end += BigInt(changelog.length)
        return end
      },
      [Symbol.asyncDispose]: async () => undefined,
    }
  }

  #count(what: string, records: readonly Produced[]): void {
    const counted = this.written.get(what) ?? this.#nothing()
    this.written.set(what, counted)
    for (const { key, value } of records) {
      if (value === null) counted.removals += 1
      else counted.puts += 1
      counted.bytes += key.length + (value?.length ?? 0)
      counted.digest?.update(`${key.length} ${value?.length} ${key}`).update(value ?? '')
    }
  }

  #nothing(): Counted {
    const digest = this.#hasDigests ? createHash('sha256') : undefined
    return { puts: 0, removals: 0, bytes: 0, digest }
  }
}
