/**
 * Writes where each kind's watch stands, and which relist requests are settled.
 *
 * What must stay true: what is written here is acknowledged on `events` before.
 */
import type { Codec } from '../../ports/codec.ts'
import type { Produced } from '../../ports/log.ts'
import type { KindKey, KnownKind } from './catalog.ts'
import { kindKey } from './catalog.ts'
import type { ControlReader } from './control-reader.ts'
import type { KindRoster } from './kind-roster.ts'
import type { KindMark, Reign } from './marks.ts'
import { clusterMark, kindMark, kindMarkKey } from './marks.ts'
import type { Publisher } from './publisher.ts'

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

  constructor(deps: MarkWriterDeps) {
    this.#deps = deps
  }

  /** Takes over what was read, in one append: marks that do not bear the epoch of the cluster's own are not believed. */
  async begin(marks: readonly KindMark[]): Promise<void> {
    const { codec, reign, append } = this.#deps
    await append([clusterMark(codec, reign), ...marks.map((mark) => this.#record(mark))])
  }

  /** Kinds of which nothing stands yet. */
  async remember(kinds: readonly KnownKind[]): Promise<void> {
    const marks = kinds.map(({ group, kind, resource }) => ({ group, kind, resource, ...NOWHERE }))
    await this.#deps.append(marks.map((mark) => this.#record(mark)))
  }

  async write(roster: KindRoster, control: ControlReader): Promise<void> {
    const { publisher, append, reign } = this.#deps
    const gone = roster.takeGone()
    const moved = roster
      .checkpoints()
      .filter((mark) => this.#written.get(kindKey(mark)) !== mark.resourceVersion)
    const unsettled = roster.oldestRequest
    const read = control.position
    await publisher.settled()
    for (const key of gone) this.#written.delete(key)
    const records: Produced[] = [
      ...gone.map((key) => ({ key: kindMarkKey(reign.cluster, key), value: null })),
      ...moved.map((mark) => this.#record(mark)),
    ]
    if (records.length > 0) await append(records)
    await control.save(unsettled !== null && unsettled < read ? unsettled : read)
  }

  #record(mark: KindMark): Produced {
    this.#written.set(kindKey(mark), mark.resourceVersion)
    return kindMark(this.#deps.codec, this.#deps.reign, mark)
  }
}
