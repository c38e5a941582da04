/**
 * One object with a long list of owner references, from a watch to the indexes: the watcher's
 * publisher, the task and the index of history, over a log and stores in memory, which count what
 * is written.
 *
 * What must stay true: all parts are the services' own.
 */
import { setImmediate } from 'node:timers/promises'
import { MemoryLog } from '../../adapters/memory/log.ts'
import { MemoryStore } from '../../adapters/memory/store.ts'
import { factsOf } from '../../core/graph/facts.ts'
import type { Node } from '../../core/model/node.ts'
import type { ObjectMeta, OwnerReference } from '../../core/model/object.ts'
import type { Topic } from '../../ports/log.ts'
import type { StoreChange } from '../../ports/store.ts'
import { systemClock } from '../../runtime/clock.ts'
import type { Task } from '../../services/graph/fold/task.ts'
import type { HistoryIndex } from '../../services/graph/query/index/history-index.ts'
import { readerOf } from '../../services/graph/query/view/view.ts'
import { DEFAULT_CONFIG } from '../../services/watcher/config.ts'
import { Lag } from '../../services/watcher/publish/lag.ts'
import { Deletions } from '../../services/watcher/publish/memory.ts'
import { Publisher } from '../../services/watcher/publish/publisher.ts'
import { Telling } from '../../services/watcher/publish/telling.ts'
import { noCounters } from '../../services/watcher/status.ts'
import { object } from '../model/notation.ts'
import { indexOver } from './index-rig.ts'
import { appendAll, codec, eventsOf, type RunningTask, runTask } from './task-rig.ts'
import { seeded } from './watcher-rig.ts'

export const UID = 'cm-a'
const WRITTEN: readonly Topic[] = [
  'events',
  'changelog',
  'history',
  'lineage',
  'digests',
  'former',
  'commands',
  'control',
  'dead-letter',
]

class CountingStore extends MemoryStore {
  written = 0

  override async write(...args: Parameters<MemoryStore['write']>): Promise<void> {
    this.written += args[0].reduce((sum, change) => sum + bytesOf(change), 0)
    await super.write(...args)
  }
}

function bytesOf([key, value]: StoreChange): number {
  return Buffer.byteLength(key) + (value?.length ?? 0)
}

export class LongListRig implements AsyncDisposable {
  readonly log: MemoryLog = new MemoryLog({ partitions: 1, clock: systemClock() })
  readonly store: MemoryStore = new MemoryStore()
  readonly index: HistoryIndex
  readonly indexStore: CountingStore = new CountingStore()
  readonly #stop = new AbortController()
  readonly #indexing: Promise<void>
  readonly #publisher: Publisher
  #telling: Telling
  #running: RunningTask
  #version = 1_000
  #sync = 1_000_000

  private constructor() {
    const clock = systemClock()
    const config = DEFAULT_CONFIG
    const lag = new Lag({ clock, config })
    const parts = { log: this.log, codec, clock, random: seeded(1), config, lag, partition: 0 }
    this.#publisher = new Publisher(parts, this.#stop.signal)
    this.#telling = this.#newTelling()
    this.#running = runTask(this.log, this.store)
    this.index = indexOver(this.log, clock, () => this.indexStore)
    this.#indexing = this.index.run(this.#stop.signal)
  }

  static async begin(): Promise<LongListRig> {
    const rig = new LongListRig()
    await appendAll(rig.log, eventsOf(['put cm/first']))
    await rig.settled()
    return rig
  }

  get task(): Task {
    return this.#running.task
  }

  /** As the fold has it. */
  get node(): Node | undefined {
    return factsOf(readerOf(this.task.store, codec), 'c').node(UID)
  }

  /** As a watch reports it. */
  async watched(references: readonly OwnerReference[], label = ''): Promise<void> {
    this.#telling.watched({ type: 'Modified', object: this.seen(references, label) })
    await this.settled()
  }

  /** As a relist does. */
  async listed(references: readonly OwnerReference[], full: boolean): Promise<void> {
    this.#telling.beginSync(++this.#sync, full)
    const first = { ...object('cm/first', '1'), resourceVersion: '1' }
    for (const each of [first, this.seen(references)]) this.#telling.listed(each)
    this.#telling.finishSync(String(this.#version))
    await this.settled()
  }

  async deleted(references: readonly OwnerReference[]): Promise<void> {
    this.#telling.watched({ type: 'Deleted', object: this.seen(references) })
    await this.settled()
  }

  /**
   * What is published meanwhile never reaches the log: no log does that, so it is what must not
   * happen.
   */
  async lost(publish: () => Promise<void>): Promise<void> {
    const { log } = this
    const append = log.append
    log.append = async () => 0n
    await publish()
    log.append = append
  }

  /** As once the retention is over: the fold forgets it, and lineage says so. */
  async forgotten(): Promise<void> {
    await this.log.append('lineage', 0, [{ key: `c/${UID}`, value: null }])
    await this.indexed()
  }

  /** The watcher begins again, without its memory. */
  restartWatcher(): void {
    this.#telling = this.#newTelling()
  }

  async restartTask(): Promise<void> {
    await this.#running[Symbol.asyncDispose]()
    this.#running = runTask(this.log, this.store)
    await this.#running.caughtUp()
  }

  seen(references: readonly OwnerReference[], label = ''): ObjectMeta {
    this.#version += 1
    const labels = label === '' ? [] : [{ key: 'app', value: label }]
    return { ...object('cm/a', String(this.#version)), ownerReferences: references, labels }
  }

  /** Bytes written for a change, keys included: to each topic, and to the index. */
  async cost(change: () => Promise<void>): Promise<Readonly<Record<string, number>>> {
    const ends = await Promise.all(WRITTEN.map((topic) => this.log.bounds(topic, 0)))
    await this.indexed()
    this.indexStore.written = 0
    await change()
    await this.indexed()
    const bytes: Record<string, number> = {
      index: this.indexStore.written,
    }
    for (const [index, topic] of WRITTEN.entries()) {
      const options = { limit: Number.MAX_SAFE_INTEGER, waitMs: 0 }
      const { entries } = await this.log.read(topic, 0, ends[index]!.end, options)
      bytes[topic] = entries.reduce((sum, { key, value }) => sum + bytesOf([key, value]), 0)
    }
    return bytes
  }

  /** Until everything published is folded. */
  async settled(): Promise<void> {
    this.#telling.flush()
    await this.#publisher.settled()
    await this.#running.caughtUp()
  }

  /** Until everything folded is indexed. */
  async indexed(): Promise<void> {
    while ((await this.index.caughtUp()) > 0n) await setImmediate()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#indexing
    await this.#running[Symbol.asyncDispose]()
  }

  #newTelling(): Telling {
    const deps = { cluster: 'c', epoch: 1, publisher: this.#publisher, config: DEFAULT_CONFIG }
    const memory = { deletions: new Deletions(10), counters: noCounters(), random: seeded(2) }
    return new Telling({ ...deps, ...memory }, { group: '', kind: 'ConfigMap' }, null)
  }
}

/** To so many objects that no watch ever reported. */
export function references(count: number, first = 0): OwnerReference[] {
  return Array.from({ length: count }, (_, index) => reference(first + index))
}

export function reference(number: number): OwnerReference {
  const uid = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`
  const flags = { controller: null, blockOwnerDeletion: null }
  return { apiVersion: 'v1', kind: 'ConfigMap', name: `owner-${number}`, uid, ...flags }
}
