/**
 * Makes a bundle of evidence out of the log: the records that decisions rest on, what came of them,
 * and a signed statement of both.
 *
 * What must stay true: what is exported was folded again and agrees with the log: each command, and
 * each digest that the log has up to the next one after the end. A log that differs from its own
 * fold gives no evidence. Nothing is written but the bundle; no call is made.
 *
 * Not here: what the fold makes of a record (evidence-fold.ts), who verifies (verify.ts).
 */
import { FOLD_VERSION } from '../../../core/model/policy.ts'
import type { Position } from '../../../core/model/state.ts'
import type { Entry, Log } from '../../../ports/log.ts'
import type { Codec } from '../../../ports/record/codec.ts'
import type { OrderGiven } from '../../../ports/record/service-record.ts'
import { entriesIn, type Store } from '../../../ports/store.ts'
import {
  issuedFrom,
  loadBase,
  type OrderSource,
  offsetOf,
  READ_LIMIT,
  writtenDigests,
} from '../audit/refold.ts'
import { checkFoldVersion, foldVersionOf } from '../fold/fold-version.ts'
import { END_OF_STATE } from '../fold/former/former-key.ts'
import { BundleWriter } from './bundle-file.ts'
import { EvidenceFold } from './evidence-fold.ts'
import { type Asked, askedBy, type Question, tooEarly } from './question.ts'
import { type KnownSchemas, LineWriter } from './record-line.ts'
import { BeyondReachError, Refusal } from './refusal.ts'
import { type Result, type Span, statementOf } from './statement.ts'

export interface ExportParts {
  readonly log: Log
  readonly codec: Codec
  /** An empty one, to fold into. */
  readonly store: Store
  readonly schemas: KnownSchemas
  /** Of the statement; gives the envelope. */
  readonly seal: (statement: string) => string
}

export interface Exported {
  readonly span: Span
  readonly result: Result
  readonly decisions: number
  readonly history: number
  /** There was more about it, before what can be folded again. */
  readonly isCut: boolean
}

export async function exportEvidence(
  parts: ExportParts,
  question: Question,
  directory: string,
  signal: AbortSignal,
): Promise<Exported> {
  const { log, codec } = parts
  checkFoldVersion(await foldVersionOf(log, codec))
  const asked = await askedBy(parts, question)
  return await new Export(parts, asked).run(directory, signal)
}

const PAGE_LIMIT = 1_000

class Export {
  readonly #parts: ExportParts
  readonly #asked: Asked
  readonly #lines: LineWriter
  /** Offsets in `orders` that the fold may have looked up. */
  readonly #orders = new Set<bigint>()

  constructor(parts: ExportParts, asked: Asked) {
    this.#parts = parts
    this.#asked = asked
    this.#lines = new LineWriter(parts.codec, parts.schemas)
  }

  async run(directory: string, signal: AbortSignal): Promise<Exported> {
    const { log, codec, store, seal } = this.#parts
    const { about, partition, to } = this.#asked
    const base = await this.#loadBase()
    const from = later(this.#asked.from, base?.position ?? 0n)
    if (to <= from) {
      throw new BeyondReachError(
        `the log can be folded again from event ${from} on, and that was before`,
      )
    }
    const partitions = log.partitions('events')
    const orders = await log.bounds('orders', 0)
    const span: Span = {
      ...{ about, foldVersion: FOLD_VERSION, partition, partitions, from, to, orders },
    }
    const source: OrderSource = {
      bounds: async () => orders,
      read: async (...asked) => await log.read(...asked),
    }
    await using bundle = await BundleWriter.make(directory)
    await this.#writeSnapshot(bundle)
    const fold = new EvidenceFold({ codec, store, orders: source, lines: this.#lines, base }, span)
    const result = await this.#fold(fold, base, bundle, signal)
    await this.#writeOrders(bundle, base)
    for (const line of this.#lines.schemas()) await bundle.write('schemas.jsonl', line)
    const contents = await bundle.contents()
    await bundle.finish(seal(statementOf(span, result, contents)))
    const [decisions, history] = [
      contents['decisions.jsonl'].lines,
      contents['history.jsonl'].lines,
    ]
    return { span, result, decisions, history, isCut: from > this.#asked.from }
  }

  /** The latest snapshot before what is asked for; where the oldest one is later, that. */
  async #loadBase(): Promise<Position | undefined> {
    const { log, codec, store } = this.#parts
    const { partition, from, isWhole } = this.#asked
    const base = await loadBase({ log, codec, store, partition }, async (bases) =>
      bases.findLast(({ position }) => position <= from),
    )
    if (base === undefined) return undefined
    checkFoldVersion(base.foldVersion)
    if (isWhole && base.position > from) {
      const options = { limit: 1, waitMs: 0 }
      const { entries } = await log.read('events', partition, base.position, options)
      throw tooEarly(partition, entries[0]?.timestamp)
    }
    return base
  }

  async #fold(
    fold: EvidenceFold,
    base: Position | undefined,
    bundle: BundleWriter,
    signal: AbortSignal,
  ): Promise<Result> {
    const { log, codec } = this.#parts
    const { partition, to } = this.#asked
    const read = { log, codec, partition }
    const start = base?.position ?? 0n
    const expected = (await writtenDigests(read)).filter(({ position }) => position > start)
    // After the digests: what was decided until one is on the log with it, also while the log is
    // written.
    const issued = await issuedFrom({ ...this.#parts, partition }, start)
    const last = expected.find(({ position }) => position >= to)
    if (last === undefined) throw this.#different(to, 'no digest of it is on the log')
    const end = last.position
    let result: Result | undefined
    let next = 0
    for (let position = start; position < end; ) {
      signal.throwIfAborted()
      const page = await log.read('events', partition, position, { limit: READ_LIMIT, waitMs: 0 })
      if (page.entries.length === 0)
        throw this.#different(position, 'the events end before the fold did')
      for (const entry of page.entries) {
        if (entry.offset >= end) break
        if (entry.offset >= to) result ??= fold.result()
        const { commands, answers, position: after } = await fold.fold(entry)
        for (const command of commands) {
          const logged = issued.get(command.id)
          if (logged === undefined)
            throw this.#different(entry.offset, `command ${command.id} is not on the log`)
          if (!logged.equals(codec.encode(command)))
            throw this.#different(entry.offset, `command ${command.id} differs`)
          issued.delete(command.id)
        }
        const digest = expected[next]
        if (digest?.position === after.position) {
          next += 1
          if (digest.state !== after.state || digest.outputs !== after.outputs) {
            throw this.#different(entry.offset, 'the digest of the state or of the outputs differs')
          }
        }
        if (entry.offset >= to) continue
        await this.#writeEvent(bundle, entry)
        for (const [file, line] of answers) await bundle.write(file, line)
      }
      position = page.next
    }
    const unexplained = [...issued.keys()].find((id) => offsetOf(id) < end)
    if (unexplained !== undefined) {
      throw this.#different(
        offsetOf(unexplained),
        `command ${unexplained} does not follow from the events`,
      )
    }
    if (next < expected.indexOf(last) + 1) {
      throw this.#different(end, 'an event is missing before a digest that the log has')
    }
    return result ?? fold.result()
  }

  async #writeEvent(bundle: BundleWriter, entry: Entry): Promise<void> {
    const line = this.#lines.entry(entry)
    await bundle.write('events.jsonl', line)
    const order = orderIn(this.#parts.codec, entry)
    if (order !== undefined) this.#orders.add(order.offset)
  }

  async #writeSnapshot(bundle: BundleWriter): Promise<void> {
    const { store } = this.#parts
    await using view = store.view()
    for await (const [key, value] of entriesIn(view, {
      gte: ' ',
      lt: END_OF_STATE,
      limit: PAGE_LIMIT,
    })) {
      await bundle.write('snapshot.jsonl', this.#lines.value(key, value))
    }
  }

  /**
   * Those that the events name, and those that were in effect at the beginning: the fold looks
   * these up, too (fold/order.ts).
   */
  async #writeOrders(bundle: BundleWriter, base: Position | undefined): Promise<void> {
    const { log } = this.#parts
    for (const mark of base?.inForce ?? [])
      this.#orders.add(BigInt(mark.slice(0, mark.indexOf('/'))))
    const { start, end } = await log.bounds('orders', 0)
    for (const offset of [...this.#orders].sort((a, b) => (a < b ? -1 : 1))) {
      if (offset < start || offset >= end) continue
      const { entries } = await log.read('orders', 0, offset, { limit: 1, waitMs: 0 })
      const [entry] = entries
      if (entry?.offset === offset) await bundle.write('orders.jsonl', this.#lines.entry(entry))
    }
  }

  #different(position: bigint, what: string): Refusal {
    const { partition } = this.#asked
    return new Refusal(
      `the log differs from its own fold at event ${position} of partition ${partition}: ${what}`,
    )
  }
}

/** Undefined for every other record, and for one that cannot be read. */
export function orderIn(codec: Codec, { value }: Entry): OrderGiven | undefined {
  try {
    const record = value === null ? undefined : codec.decode(value)
    return record?.type === 'OrderGiven' ? record : undefined
  } catch {
    return undefined
  }
}

function later(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
