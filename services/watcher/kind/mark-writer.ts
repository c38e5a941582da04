/**
 * Writes the watermark of each kind's watch, and which relist requests are settled.
 *
 * What must stay true: everything up to a watermark is acknowledged on `events` before. A kind that
 * is served again keeps the watermark that says so, whatever was gathered for it before.
 */

import type { Produced } from '../../../ports/log.ts'
import type { Codec } from '../../../ports/record/codec.ts'
import type { ControlReader } from '../control-reader.ts'
import type { Publisher } from '../publish/publisher.ts'
import type { KindKey, KnownKind } from './catalog.ts'
import { kindKey } from './catalog.ts'
import type { KindRoster } from './kind-roster.ts'
import type { KindMark, Reign } from './marks.ts'
import { clusterMark, kindMark, kindMarkKey } from './marks.ts'

export interface MarkWriterDeps {
  readonly codec: Codec
  readonly reign: Reign
  readonly publisher: Publisher
  readonly append: (records: readonly Produced[]) => Promise<unknown>
}

const NOWHERE = { resourceVersion: '', sync: 0 }

export class MarkWriter {
  readonly #deps: MarkWriterDeps
  readonly #written = new Map<KindKey, string>()
  /** To be written with the round under way; null for a kind that left discovery. */
  readonly #pending = new Map<KindKey, KindMark | null>()
  /** One append at a time: a retried append must not overtake a later one. */
  #turn: Promise<unknown> = Promise.resolve()

  constructor(deps: MarkWriterDeps) {
    this.#deps = deps
  }

  /**
   * Takes over what was read, in one append: marks without the epoch of the cluster's own are not
   * believed.
   */
  async begin(marks: readonly KindMark[]): Promise<void> {
    const { codec, reign } = this.#deps
    await this.#append(() => [
      clusterMark(codec, reign),
      ...marks.map((mark) => this.#record(mark)),
    ])
  }

  /**
   * Kinds without a position yet. Marks gathered for them in a round under way are from their time
   * before.
   */
  async remember(kinds: readonly KnownKind[]): Promise<void> {
    const marks = kinds.map(({ group, kind, resource, shortNames }) => {
      return { group, kind, resource, shortNames, ...NOWHERE }
    })
    for (const mark of marks) this.#pending.delete(kindKey(mark))
    await this.#append(() => marks.map((mark) => this.#record(mark)))
  }

  async write(roster: KindRoster, control: ControlReader): Promise<void> {
    const { publisher } = this.#deps
    for (const key of roster.takeGone()) this.#pending.set(key, null)
    for (const mark of roster.checkpoints()) {
      const isNews = this.#written.get(kindKey(mark)) !== textOf(mark)
      if (isNews) this.#pending.set(kindKey(mark), mark)
    }
    const unsettled = roster.oldestRequest
    const read = control.position
    await publisher.settled()
    await this.#append(() => this.#takePending())
    await control.save(unsettled !== null && unsettled < read ? unsettled : read)
  }

  async #append(take: () => readonly Produced[]): Promise<void> {
    const mine = this.#turn.then(async () => {
      const records = take()
      if (records.length > 0) await this.#deps.append(records)
    })
    this.#turn = mine.catch(() => undefined)
    await mine
  }

  #takePending(): readonly Produced[] {
    const pending = [...this.#pending]
    this.#pending.clear()
    return pending.map(([key, mark]) => {
      if (mark !== null) return this.#record(mark)
      this.#written.delete(key)
      return { key: kindMarkKey(this.#deps.reign.cluster, key), value: null }
    })
  }

  #record(mark: KindMark): Produced {
    this.#written.set(kindKey(mark), textOf(mark))
    return kindMark(this.#deps.codec, this.#deps.reign, mark)
  }
}

/** The fields that may change while the kind stays. */
function textOf({ resourceVersion, shortNames }: KindMark): string {
  return [resourceVersion, ...shortNames].join(' ')
}
