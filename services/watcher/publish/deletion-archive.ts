/**
 * Archives the last state of each object of the listed kinds that a user or controller deletes, as
 * the DELETED event of the watch has it.
 *
 * What must stay true: `keep` resolves only once the log has acknowledged every piece, and the
 * caller publishes the deletion after that, so no watermark passes it before: a watcher that ends
 * in between receives the event again. Only the kind waits for an archive that refuses what is
 * appended. How long that took is reported, as the deletion is as old. No body outlives the call. A
 * Secret is archived whole and encrypted, or not at all. A namespace that has its share of the
 * archive's disk is not archived any more, alone: it is counted, and a record in the archive says
 * so (archive-gaps.ts).
 *
 * Not here: the archive before a DELETE of our own (services/reaper/archive.ts); what a list finds
 * missing, whose last state is unknown; whose share is how large (runtime/archive/archive-room.ts).
 */
import type { ClusterId } from '../../../core/model/object.ts'
import { objectKey } from '../../../core/model/partition.ts'
import type { WatchEvent } from '../../../ports/cluster.ts'
import { LogError, type Produced } from '../../../ports/log.ts'
import { partitionOf } from '../../../ports/partition.ts'
import type { Codec } from '../../../ports/record/codec.ts'
import type { Archived, ArchiveGap } from '../../../ports/record/service-record.ts'
import {
  type ArchiveSettings,
  archivedPieces,
  MAX_OBJECT_BYTES,
} from '../../../runtime/archive/archive-record.ts'
import { isObject, parseObject } from '../../../runtime/exact-json.ts'
import type { Counters, WatcherObserver } from '../status.ts'
import { ArchiveGaps } from './archive-gaps.ts'
import type { Lag } from './lag.ts'
import type { LogDeps } from './log-retry.ts'
import { appendUntilDone } from './log-retry.ts'

/** Whose deletions are archived, and how. */
export interface ArchivedKinds extends ArchiveSettings {
  /** As `deployments.apps`. */
  readonly kinds: ReadonlySet<string>
}

export interface DeletionArchiveDeps extends LogDeps {
  readonly cluster: ClusterId
  readonly codec: Codec
  readonly lag: Lag
  readonly observer: WatcherObserver
  readonly counters: Counters
}

type Deleted = Extract<WatchEvent, { readonly type: 'Deleted' }>

interface Wait {
  /** What is read now may have waited so long for appends before it. */
  readonly waitedMs: number
  /** Monotonic: the end of the last one. */
  readonly endedMs: number
}

export class DeletionArchive {
  readonly #deps: DeletionArchiveDeps
  readonly #archived: ArchivedKinds | undefined
  /** By kind: each is read by itself, so several may wait for the same time. */
  readonly #waits = new Map<string, Wait>()
  readonly #gaps = new ArchiveGaps()
  /** By kind: why its deletions wait. */
  readonly #refusals = new Map<string, string>()

  constructor(deps: DeletionArchiveDeps, archived: ArchivedKinds | undefined) {
    this.#deps = deps
    this.#archived = archived
  }

  /** As `deployments.apps`. */
  get kinds(): readonly string[] {
    return [...(this.#archived?.kinds ?? [])]
  }

  /** Why its deletions wait; empty while they need not, or the log says that it may pass. */
  refusalOf(kind: { readonly group: string; readonly resource: string }): string {
    return this.#refusals.get(nameOf(kind)) ?? ''
  }

  /** Whether its deletions are archived, so that it has to be watched whole. */
  takes({ group, resource }: { readonly group: string; readonly resource: string }): boolean {
    if (this.#archived === undefined) return false
    const { kinds, secrets, key } = this.#archived
    const isSecret = group === '' && resource === 'secrets'
    if (isSecret && !(secrets && key !== undefined)) return false
    return kinds.has(nameOf({ group, resource }))
  }

  /** Of one kind. Rejects when only a person can help the log, or with the signal's reason. */
  async keep(events: readonly WatchEvent[], signal: AbortSignal): Promise<void> {
    const deleted = events.filter((event) => event.type === 'Deleted')
    const taken = deleted.filter(({ object }) => this.takes(object))
    const [first] = taken
    if (first === undefined) return
    const { clock, lag } = this.#deps
    const name = nameOf(first.object)
    const before = this.#waits.get(name)
    const begunMs = clock.monotonicMs()
    // A pause in between was spent waiting for the server, which read what had gathered.
    const idleMs = begunMs - (before?.endedMs ?? 0)
    await this.#append(name, taken, signal)
    const endedMs = clock.monotonicMs()
    const waitedMs = Math.max(0, (before?.waitedMs ?? 0) - idleMs) + endedMs - begunMs
    this.#waits.set(name, { waitedMs, endedMs })
    lag.stood(waitedMs)
  }

  async #append(name: string, deleted: readonly Deleted[], signal: AbortSignal): Promise<void> {
    const { log, config, counters, cluster, clock } = this.#deps
    const waiting = new Map<number, { records: Produced[]; bytes: number }>()
    const send = async (partition: number): Promise<void> => {
      const records = waiting.get(partition)?.records ?? []
      waiting.delete(partition)
      if (records.length > 0) await this.#send(name, partition, records, signal)
    }
    const add = async (key: string, record: Archived | ArchiveGap): Promise<void> => {
      const partition = partitionOf(key, log.partitions('archive'))
      const value = this.#deps.codec.encode(record)
      const open = waiting.get(partition)
      if (open !== undefined && open.bytes + value.byteLength > config.appendBytes) {
        await send(partition)
      }
      const { records, bytes } = waiting.get(partition) ?? { records: [], bytes: 0 }
      records.push({ key, value })
      waiting.set(partition, { records, bytes: bytes + value.byteLength })
    }
    for (const event of deleted) {
      const pieces = this.#piecesOf(event)
      counters[pieces.length > 0 ? 'archived' : 'unarchived']++
      for (const piece of pieces) await add(objectKey(piece.cluster, piece.uid), piece)
    }
    for (const gap of this.#gaps.take(cluster, clock.now())) {
      await add(objectKey(cluster, gap.namespace), gap)
    }
    for (const partition of [...waiting.keys()]) await send(partition)
  }

  /**
   * A right that is lacking, say, is a matter of the archive alone: the kind waits for it, and
   * neither the others nor this process end by it.
   */
  async #send(
    name: string,
    partition: number,
    records: readonly Produced[],
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, config, observer } = this.#deps
    for (;;) {
      try {
        await appendUntilDone(this.#deps, 'archive', partition, records, signal)
        if (!this.#refusals.delete(name)) return
        return observer.note('info', 'observed deletions are archived again', { kind: name })
      } catch (error) {
        if (!(error instanceof LogError) || error.code !== 'INVALID') throw error
        const { message } = error
        if (!this.#refusals.has(name)) {
          const fields = { kind: name, error: message }
          observer.note('warn', 'observed deletions wait for the archive', fields)
        }
        this.#refusals.set(name, `${error.code}: ${message}`)
        await clock.sleep(config.appendRetryMaxMs, signal)
      }
    }
  }

  /**
   * A list found so many of a kind missing that were held: their DELETED events were never
   * received.
   */
  missed(kind: { readonly group: string; readonly kind: string }, count: number): void {
    const { observer, counters } = this.#deps
    counters.unarchived += count
    observer.note('warn', 'objects were deleted while they were not watched: not archived', {
      ...{ group: kind.group, kind: kind.kind, count },
    })
  }

  /** Before it is encrypted: that is what costs. */
  #hasRoom(namespace: string, bytes: number): boolean {
    const { clock, cluster } = this.#deps
    const room = this.#archived?.room
    if (room === undefined || room.take({ cluster, namespace }, bytes) !== undefined) return true
    this.#gaps.note(namespace, clock.now())
    return false
  }

  #piecesOf({ object, text }: Deleted): readonly Archived[] {
    const { clock, cluster } = this.#deps
    const content = text === undefined ? undefined : contentOf(text)
    if (content === undefined || content.length > MAX_OBJECT_BYTES) {
      const { group, kind, namespace, name } = object
      this.#deps.observer.note('warn', 'a deleted object could not be archived', {
        ...{ group, kind, namespace, name, bytes: content?.length ?? 0 },
      })
      return []
    }
    if (!this.#hasRoom(object.namespace, content.length)) return []
    const { uid, group, kind, namespace, name, version, resource, resourceVersion } = object
    const about = {
      ...{ cluster, uid, group, kind, namespace, name, version, resource, resourceVersion },
      ownerReferences: object.ownerReferences,
      command: '',
      rule: '',
      createdAt: object.createdAt,
      at: clock.now(),
      content: 'whole',
    } as const
    return archivedPieces(about, content, this.#archived?.key)
  }
}

/** As `deployments.apps`. */
function nameOf({
  group,
  resource,
}: {
  readonly group: string
  readonly resource: string
}): string {
  return group === '' ? resource : `${resource}.${group}`
}

/**
 * All but `managedFields`, which say who wrote what and are of no use to a new object. Undefined:
 * it is no object.
 */
function contentOf(text: string): Buffer | undefined {
  const object = parseObject(text)?.['object']
  const metadata = isObject(object) ? object['metadata'] : undefined
  if (!isObject(object) || !isObject(metadata)) return undefined
  const { managedFields: _, ...kept } = metadata
  return Buffer.from(JSON.stringify({ ...object, metadata: kept }))
}
