/**
 * Folds a partition's events again, offline, and compares what came of them with what is on the
 * log.
 *
 * What must stay true: it makes no call to any cluster and writes to nothing but the store it was
 * given; "identical" means the same digests and the same commands, byte for byte.
 */
import type { At } from '../../../core/graph/outcome.ts'
import type { Entry } from '../../../ports/log.ts'
import type { Digest } from '../../../ports/record/service-record.ts'
import { Batch } from '../fold/batch.ts'
import { loggedCommand } from '../fold/bytes/long-command.ts'
import { checkFoldVersion, foldVersionOf } from '../fold/fold-version.ts'
import {
  eventOf,
  issuedFrom,
  loadBase,
  offsetOf,
  type RefoldParts,
  storeBatch,
  writtenDigests,
} from './refold.ts'

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
      /**
       * Offset of the first event that came out otherwise, or the first one known to be past it.
       */
      readonly position: bigint
      readonly what: string
    }

/** Hexadecimal: chained over all events before the position. */
export type RecordedDigest = Pick<Digest, 'position' | 'state' | 'outputs'>

const READ_LIMIT = 1_000

export async function auditPartition(
  parts: RefoldParts,
  signal: AbortSignal,
): Promise<AuditResult> {
  const audit = new Audit(parts)
  return await audit.run(signal)
}

class Audit {
  readonly #parts: RefoldParts
  #events = 0
  #commands = 0
  #digests = 0
  readonly #recorded: RecordedDigest[] = []

  constructor(parts: RefoldParts) {
    this.#parts = parts
  }

  async run(signal: AbortSignal): Promise<AuditResult> {
    const { log, codec, store, partition } = this.#parts
    checkFoldVersion(await foldVersionOf(log, codec))
    const from = await loadBase(this.#parts)
    const expected = await writtenDigests(this.#parts)
    const issued = await issuedFrom(this.#parts, from?.position ?? 0n)
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
      await storeBatch(this.#parts, batch)
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
    const outcome = await batch.fold(await eventOf(this.#parts, batch, entry), at)
    this.#events += 1
    for (const command of outcome.commands) {
      this.#commands += 1
      const logged = issued.get(command.id)
      if (logged === undefined) return `command ${command.id} is not on the log`
      if (!logged.equals(codec.encode(loggedCommand(command))))
        return `command ${command.id} differs`
      issued.delete(command.id)
    }
    return ''
  }
}
