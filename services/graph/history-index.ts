/**
 * Finds objects by name and their history by uid, in a store of its own that follows `lineage` and `history`.
 *
 * What must stay true: nothing else rests on it; it may lag or be rebuilt, and answers say how far it has come.
 */
import type { ClusterId, Uid } from '../../core/object.ts'
import { objectKey } from '../../core/partition.ts'
import type { History, Lineage } from '../../core/record.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Codec } from '../../ports/codec.ts'
import type { Entry, Log, Topic } from '../../ports/log.ts'
import { LogError } from '../../ports/log.ts'
import type { Store, StoreChange } from '../../ports/store.ts'
import { prefixRange, StoreError } from '../../ports/store.ts'

/** Entries taken at once, and the pause behind each page: it must never compete with the fold. */
const PAGE_LIMIT = 2_000
const PAUSE_MS = 200
/** History entries of one object that an answer holds at most, the newest. */
const HISTORY_LIMIT = 10_000

export interface Named {
  readonly cluster: ClusterId
  readonly uid: Uid
  readonly group: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  /** Append time of the last event about it, in milliseconds. */
  readonly at: number
}

export interface HistoryIndex {
  run(signal: AbortSignal): Promise<void>
  /** All objects that ever had this name in this namespace, of any kind and cluster. */
  named(namespace: string, name: string): Promise<readonly Named[]>
  withUid(uid: Uid): Promise<readonly Named[]>
  history(cluster: ClusterId, uid: Uid): Promise<readonly History[]>
  /** Entries of the log it has not read yet. */
  lagEntries(): Promise<bigint>
}

export function createHistoryIndex(
  log: Log,
  codec: Codec,
  clock: Clock,
  store: Store,
): HistoryIndex {
  const topics = ['lineage', 'history'] as const

  function positionOf(topic: Topic, partition: number): bigint {
    const bytes = store.get(`at/${topic}/${partition}`)
    return bytes === undefined ? 0n : BigInt(Buffer.from(bytes).toString())
  }

  async function follow(topic: 'lineage' | 'history', partition: number): Promise<void> {
    const { start } = await log.bounds(topic, partition)
    const known = positionOf(topic, partition)
    const from = known < start ? start : known
    const page = await log.read(topic, partition, from, { limit: PAGE_LIMIT, waitMs: 0 })
    if (page.next === known) return
    const changes = page.entries.flatMap((entry) =>
      topic === 'history' ? [historyChange(entry)] : nameChanges(codec, entry),
    )
    changes.push([`at/${topic}/${partition}`, Buffer.from(page.next.toString())])
    await store.write(changes, { changelog: 0n, position: 0n })
  }

  return {
    async run(signal) {
      while (!signal.aborted) {
        try {
          for (const topic of topics) {
            for (let p = 0; p < log.partitions(topic); p++) await follow(topic, p)
          }
        } catch (error) {
          // It has read more than the log holds, or is damaged: it is only an index, so it begins again.
          if (!isOutdated(error)) throw error
          await store.wipe()
        }
        await clock.sleep(PAUSE_MS, signal)
      }
    },
    async named(namespace, name) {
      const prefix = `name/${part(namespace)}/${part(name)}/`
      const page = await store.page(prefixRange(prefix, HISTORY_LIMIT))
      return page.map(([, value]) => JSON.parse(Buffer.from(value).toString()) as Named)
    },
    async withUid(uid) {
      const page = await store.page(prefixRange(`uid/${part(uid)}/`, HISTORY_LIMIT))
      return page.map(([, value]) => JSON.parse(Buffer.from(value).toString()) as Named)
    },
    async history(cluster, uid) {
      const prefix = `entry/${part(objectKey(cluster, uid))}/`
      const page = await store.page(prefixRange(prefix, HISTORY_LIMIT))
      return page.map(([, value]) => codec.decode(value) as History)
    },
    async lagEntries() {
      let lag = 0n
      for (const topic of topics) {
        for (let p = 0; p < log.partitions(topic); p++) {
          const { end } = await log.bounds(topic, p)
          const at = positionOf(topic, p)
          if (end > at) lag += end - at
        }
      }
      return lag
    },
  }
}

function isOutdated(error: unknown): boolean {
  if (error instanceof LogError) return error.code === 'OUT_OF_RANGE'
  return error instanceof StoreError && error.remedy === 'rebuild'
}

/** The value is stored as it came; only who asks for it decodes it. */
function historyChange({ key, offset, value }: Entry): StoreChange {
  return [`entry/${part(key)}/${offset.toString().padStart(19, '0')}`, value]
}

function nameChanges(codec: Codec, { value }: Entry): StoreChange[] {
  if (value === null) return []
  const { cluster, uid, group, kind, namespace, name, at } = codec.decode(value) as Lineage
  const named: Named = { cluster, uid, group, kind, namespace, name, at }
  const bytes = Buffer.from(JSON.stringify(named))
  const id = `${part(cluster)}/${part(kind)}.${part(group)}/${part(uid)}`
  return [
    [`name/${part(namespace)}/${part(name)}/${id}`, bytes],
    [`uid/${part(uid)}/${part(cluster)}`, bytes],
  ]
}

/** As in core/key.ts: printable ASCII without a bare separator. */
function part(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}
