/**
 * Folds a partition's events again, offline, and compares what came of them with what is on the
 * log.
 *
 * What must stay true: it makes no call to any cluster and writes to nothing but the store it was
 * given; "identical" means the same digests and the same commands, byte for byte.
 */
import type { Outcome } from '../../../core/graph/outcome.ts'
import type { Digest } from '../../../ports/record/service-record.ts'
import { NO_DIGEST } from '../fold/bytes/digest.ts'
import { checkFoldVersion, foldVersionOf } from '../fold/fold-version.ts'
import { decodedFold } from './decoded-fold.ts'
import { Digests } from './digests.ts'
import {
  eventOf,
  issuedFrom,
  loadBase,
  offsetOf,
  type RefoldParts,
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
    const { log, codec, partition } = this.#parts
    checkFoldVersion(await foldVersionOf(log, codec))
    const from = await loadBase(this.#parts)
    const expected = await writtenDigests(this.#parts)
    const issued = await issuedFrom(this.#parts, from?.position ?? 0n)
    const fold = await decodedFold(this.#parts, from, true)
    const digests = new Digests(codec, from ?? { state: NO_DIGEST, outputs: NO_DIGEST })
    const start = fold.position.position
    const end = expected.at(-1)?.position ?? start
    let next = expected.findIndex(({ position }) => position > start)
    while (fold.position.position < end) {
      signal.throwIfAborted()
      const { position } = fold.position
      const page = await log.read('events', partition, position, { limit: READ_LIMIT, waitMs: 0 })
      if (page.entries.length === 0)
        return this.#different(position, 'the events end before the fold did')
      for (const entry of page.entries) {
        if (entry.offset >= end) break
        const read = eventOf(this.#parts, fold, entry)
        const event = read instanceof Promise ? await read : read
        const at = fold.at(entry)
        const outcome = fold.fold(event, at)
        const { graph, replaced } = fold
        const commands = digests.add({ at, outcome, graph, replaced })
        const wrong = this.#compared(outcome, commands, issued)
        if (wrong !== '') return this.#different(entry.offset, wrong)
        const digest = expected[next]
        if (digest?.position !== at.position + 1n) continue
        next += 1
        this.#digests += 1
        if (!digests.isLike(digest)) {
          return this.#different(entry.offset, 'the digest of the state or of the outputs differs')
        }
        if (digest.type === 'Digest') this.#recorded.push(digest)
      }
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

  /** With what is on the log; empty where each is there. `commands`: their bytes. */
  #compared(
    outcome: Outcome,
    commands: readonly Uint8Array[],
    issued: Map<string, Buffer>,
  ): string {
    this.#events += 1
    for (const [index, { id }] of outcome.commands.entries()) {
      this.#commands += 1
      const logged = issued.get(id)
      if (logged === undefined) return `command ${id} is not on the log`
      if (!logged.equals(commands[index]!)) return `command ${id} differs`
      issued.delete(id)
    }
    return ''
  }
}
