/**
 * Folds the records of a bundle, and makes of each what the bundle says came of it: decisions,
 * history and state of the objects in question.
 *
 * What must stay true: making a bundle and verifying it are this one fold, over the log and over
 * the bundle's files. From the first event that counts on, each event is a batch of its own, so
 * that nothing depends on how records were split.
 *
 * Not here: where records come from (export.ts, verify.ts).
 */
import type { Command } from '../../../core/model/command.ts'
import type { Position } from '../../../core/model/state.ts'
import type { Entry, Topic, TopicBatch } from '../../../ports/log.ts'
import type { Codec } from '../../../ports/record/codec.ts'
import type { Store, StoreChange } from '../../../ports/store.ts'
import { eventOf, type OrderSource } from '../audit/refold.ts'
import { Batch } from '../fold/batch.ts'
import type { BundleFile } from './bundle-file.ts'
import { Members } from './member.ts'
import type { LineWriter } from './record-line.ts'
import type { Digests, Result, Span } from './statement.ts'

export interface FoldParts {
  readonly codec: Codec
  /** With the snapshot, where there is one. */
  readonly store: Store
  readonly orders: OrderSource
  readonly lines: LineWriter
  /** Of the snapshot. */
  readonly base: Position | undefined
}

/** A line of a file. */
export type Answer = readonly [file: BundleFile, line: string]

export interface Folded {
  readonly commands: readonly Command[]
  /** None before the first event that counts. */
  readonly answers: readonly Answer[]
  /** After the event. */
  readonly position: Digests
}

const BATCH_RECORDS = 1_000
const FILE_OF: Readonly<Partial<Record<Topic, BundleFile>>> = {
  commands: 'decisions.jsonl',
  history: 'history.jsonl',
  lineage: 'lineage.jsonl',
}

export class EvidenceFold {
  readonly #parts: FoldParts
  readonly #span: Span
  readonly #batch: Batch
  readonly #members: Members
  readonly #base: Digests
  #count = 0
  #first: number | null = null
  #last: number | null = null

  constructor(parts: FoldParts, span: Span) {
    const { codec, store, base: from } = parts
    const { partition, partitions } = span
    this.#parts = parts
    this.#span = span
    this.#batch = new Batch({ store, codec, partition, partitions, from })
    this.#members = new Members(span.about, store)
    this.#base = this.#batch.position
  }

  async fold(entry: Entry): Promise<Folded> {
    const { codec, orders } = this.#parts
    const { partition, partitions, from } = this.#span
    const { offset: position, timestamp } = entry
    const counts = position >= from
    if (counts ? this.#first === null : this.#batch.records >= BATCH_RECORDS) await this.#store()
    if (counts && this.#first === null) await this.#members.begin()
    const event = await eventOf({ log: orders, codec }, this.#batch, entry)
    const { commands } = await this.#batch.fold(event, {
      ...{ partition, partitions, position, timestamp },
    })
    this.#count += 1
    if (!counts) return { commands, answers: [], position: this.#batch.position }
    this.#first ??= timestamp
    this.#last = timestamp
    const outputs = await this.#store()
    await this.#members.follow(event)
    const answers = outputs.flatMap((batch) => this.#answersIn(batch, position))
    return { commands, answers, position: this.#batch.position }
  }

  result(): Result {
    return {
      base: this.#base,
      end: this.#batch.position,
      events: {
        count: this.#count,
        // Also after the last one: who stated more than there is has said so.
        gaps: this.#span.to - this.#base.position - BigInt(this.#count),
        first: this.#first,
        last: this.#last,
      },
    }
  }

  /** Answers what the batch publishes. */
  async #store(): Promise<readonly TopicBatch[]> {
    const batch = this.#batch
    const { changelog, outputs } = batch.take()
    const changes = changelog.map(({ key, value }): StoreChange => [key, value])
    await this.#parts.store.write(changes, { changelog: 0n, position: batch.position.position })
    batch.clear()
    return outputs
  }

  #answersIn({ topic, records }: TopicBatch, position: bigint): readonly Answer[] {
    const file = FILE_OF[topic]
    if (file === undefined) return []
    const { lines } = this.#parts
    return records
      .filter(({ key }) => this.#members.has(key))
      .map(({ key, value }): Answer => [file, lines.answer(position, key, value)])
  }
}
