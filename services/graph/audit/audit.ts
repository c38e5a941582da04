/**
 * Folds a partition's events again, offline, and compares what came of them with what is on the log.
 *
 * What must stay true: it makes no call to any cluster and writes to nothing but the store it was given; "identical" means the same
 * digests and the same commands, byte for byte.
 */

import { POSITION_KEY } from '../../../core/graph/key.ts'
import type { At } from '../../../core/graph/outcome.ts'
import type { Event } from '../../../core/model/event.ts'
import type { Position } from '../../../core/model/state.ts'
import type { Codec } from '../../../ports/codec.ts'
import { CodecError } from '../../../ports/codec.ts'
import type { Entry, Log, Topic } from '../../../ports/log.ts'
import type { Digest, Snapshot } from '../../../ports/service-record.ts'
import type { Store, StoreChange } from '../../../ports/store.ts'
import { Batch } from '../fold/batch.ts'
import { checkFoldVersion, foldVersionOf } from '../fold/fold-version.ts'
import { NO_ORDER, orderOf, readEvent } from '../fold/order.ts'
import { CHUNKS_PER_READ, snapshots } from '../fold/retention.ts'

export interface AuditParts {
  readonly log: Log
  readonly codec: Codec
  /** An empty one, to fold into. */
  readonly store: Store
  readonly partition: number
}

export type AuditResult =
  | {
      readonly type: 'identical'
      readonly partition: number
      readonly from: bigint
      readonly to: bigint
      readonly events: number
      readonly commands: number
      /** Digests compared, the last position's included. */
      readonly digests: number
      /** Of them, those that stay on the log: later audits of it compare the same ones again. */
      readonly recorded: readonly RecordedDigest[]
    }
  | {
      readonly type: 'different'
      readonly partition: number
      /** Offset of the first event that came out otherwise, or the first one known to be past it. */
      readonly position: bigint
      readonly what: string
    }

/** Hexadecimal: chained over all events before the position. */
export type RecordedDigest = Pick<Digest, 'position' | 'state' | 'outputs'>

const READ_LIMIT = 1_000

export async function auditPartition(parts: AuditParts, signal: AbortSignal): Promise<AuditResult> {
  const audit = new Audit(parts)
  return await audit.run(signal)
}

class Audit {
  readonly #parts: AuditParts
  #events = 0
  #commands = 0
  #digests = 0
  readonly #recorded: RecordedDigest[] = []

  constructor(parts: AuditParts) {
    this.#parts = parts
  }

  async run(signal: AbortSignal): Promise<AuditResult> {
    const { log, codec, store, partition } = this.#parts
    checkFoldVersion(await foldVersionOf(log, codec))
    const from = await this.#loadBase()
    const expected = await this.#expected()
    const issued = await this.#issued(from?.position ?? 0n)
    const partitions = log.partitions('events')
    const batch = new Batch({ store, codec, partition, partitions, from })
    const start = batch.position.position
    const end = expected.at(-1)?.position ?? start
    let next = expected.findIndex(({ position }) => position > start)
    while (batch.position.position < end) {
      signal.throwIfAborted()
      const { position } = batch.position
      const page = await log.read('events', partition, position, { limit: READ_LIMIT, waitMs: 0 })
      if (page.entries.length === 0)
        return this.#different(position, 'the events end before the fold did')
      for (const entry of page.entries) {
        if (entry.offset >= end) break
        const wrong = await this.#foldOne(batch, entry, issued)
        if (wrong !== '') return this.#different(entry.offset, wrong)
        const digest = expected[next]
        if (digest?.position !== batch.position.position) continue
        next += 1
        this.#digests += 1
        if (digest.state !== batch.position.state || digest.outputs !== batch.position.outputs) {
          return this.#different(entry.offset, 'the digest of the state or of the outputs differs')
        }
        if (digest.type === 'Digest') this.#recorded.push(digest)
      }
      await this.#store(batch)
    }
    const unexplained = [...issued.keys()].find((id) => offsetOf(id) < end)
    if (unexplained !== undefined) {
      return this.#different(
        offsetOf(unexplained),
        `command ${unexplained} does not follow from the events`,
      )
    }
    const { partition: number } = this.#parts
    return {
      type: 'identical',
      partition: number,
      from: start,
      to: end,
      events: this.#events,
      commands: this.#commands,
      digests: this.#digests,
      recorded: this.#recorded,
    }
  }

  #different(position: bigint, what: string): AuditResult {
    return { type: 'different', partition: this.#parts.partition, position, what }
  }

  async #foldOne(batch: Batch, entry: Entry, issued: Map<string, Buffer>): Promise<string> {
    const { partition, codec } = this.#parts
    const { partitions } = batch.position
    const at: At = { partition, partitions, position: entry.offset, timestamp: entry.timestamp }
    const outcome = await batch.fold(await this.#eventOf(batch, entry), at)
    this.#events += 1
    for (const command of outcome.commands) {
      this.#commands += 1
      const logged = issued.get(command.id)
      if (logged === undefined) return `command ${command.id} is not on the log`
      if (!logged.equals(codec.encode(command))) return `command ${command.id} differs`
      issued.delete(command.id)
    }
    return ''
  }

  async #eventOf(batch: Batch, entry: Entry): Promise<Event> {
    const { log, codec } = this.#parts
    try {
      const read = readEvent(codec, entry)
      if (read.type !== 'OrderGiven') return read.type === 'Refused' ? NO_ORDER : read
      const found = await orderOf(log, codec, read, batch.position)
      if (found.type === 'Refused') return NO_ORDER
      batch.obey(found.inForce)
      return found.order
    } catch (error) {
      if (!(error instanceof CodecError)) throw error
      return { type: 'Unreadable', home: entry.key, reason: error.message }
    }
  }

  async #store(batch: Batch): Promise<void> {
    const changes = batch.take().changelog.map(({ key, value }): StoreChange => [key, value])
    const { position } = batch.position
    await this.#parts.store.write(changes, { changelog: 0n, position })
    batch.clear()
  }

  /** From the beginning if it is still there, else from the oldest snapshot that has all events behind it. */
  async #loadBase(): Promise<Position | undefined> {
    const { log, codec, store, partition } = this.#parts
    const { start } = await log.bounds('events', partition)
    if (start === 0n) return undefined
    const base = (await snapshots(log, codec, partition)).find(({ position }) => position >= start)
    if (base === undefined) {
      throw new Error(
        `partition ${partition}: the events before ${start} are removed and no snapshot is left to begin from`,
      )
    }
    let position: Position | undefined
    for await (const record of this.#records('snapshots', base.offset)) {
      const { keys, values, last, position: at } = record as Snapshot
      if (at !== base.position) continue
      const changes = keys.map((key, index): StoreChange => [key, values[index] ?? null])
      await store.write(changes, { changelog: 0n, position: base.position })
      const index = keys.indexOf(POSITION_KEY)
      if (index >= 0) position = codec.decode(values[index] ?? new Uint8Array()) as Position
      if (last) break
    }
    return position
  }

  /** The digests that were written, in order; the newest is the position of the last commit. */
  async #expected(): Promise<(Digest | Position)[]> {
    const { log, codec, partition } = this.#parts
    const expected: (Digest | Position)[] = []
    for await (const record of this.#records('digests')) expected.push(record as Digest)
    const last = (await log.latest('changelog', partition)).find(({ key }) => key === POSITION_KEY)
    if (last?.value != null) expected.push(codec.decode(last.value) as Position)
    return expected.filter(({ position }, index) => position !== expected[index + 1]?.position)
  }

  /** Commands of this partition's fold, by id; they lie in the partitions of their targets. */
  async #issued(from: bigint): Promise<Map<string, Buffer>> {
    const { log, codec, partition } = this.#parts
    const issued = new Map<string, Buffer>()
    for (let of = 0; of < log.partitions('commands'); of++) {
      for await (const entry of entriesOf(log, 'commands', of)) {
        if (entry.value === null) continue
        const command = codec.decode(entry.value) as { id?: string }
        const id = command.id ?? ''
        if (!id.startsWith(`${partition}-`) || offsetOf(id) < from) continue
        if (issued.has(id) && !issued.get(id)?.equals(entry.value)) {
          throw new Error(`command ${id} is on the log twice, and not the same`)
        }
        issued.set(id, Buffer.from(entry.value))
      }
    }
    return issued
  }

  async *#records(topic: Topic, from?: bigint): AsyncIterable<unknown> {
    const { log, codec, partition } = this.#parts
    for await (const entry of entriesOf(log, topic, partition, from)) {
      if (entry.value !== null) yield codec.decode(entry.value)
    }
  }
}

async function* entriesOf(
  log: Log,
  topic: Topic,
  partition: number,
  from?: bigint,
): AsyncIterable<Entry> {
  const { start, end } = await log.bounds(topic, partition)
  for (let next = from ?? start; next < end; ) {
    const limit = topic === 'snapshots' ? CHUNKS_PER_READ : READ_LIMIT
    const page = await log.read(topic, partition, next, { limit, waitMs: 0 })
    yield* page.entries
    if (page.next === next) return
    next = page.next
  }
}

/** A command's id is partition, position and index. */
function offsetOf(id: string): bigint {
  return BigInt(id.split('-')[1] ?? '0')
}
