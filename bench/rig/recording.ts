/**
 * The work that no such collector can leave out, and nothing else: a watch, and on an embedded log
 * each command before its call, each result, and each change that the watch delivered. No fold, no
 * store, no history: a collector that decides and remembers as well is slower than raw calls with
 * this work.
 *
 * What must stay true: it costs less than the same part of Kinfold does. Records have the size of a
 * command's and are made once.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqliteLog, type SqliteLog } from '../../adapters/sqlite/log.ts'
import type { Cluster, Resource } from '../../ports/cluster.ts'
import type { Produced, Topic } from '../../ports/log.ts'
import { systemClock } from '../../runtime/clock.ts'
import { DEFAULT_REAPER_CONFIG } from '../../services/reaper/config.ts'

/** In bytes: see "Fold" in RESULTS.md. */
const RECORD = Buffer.alloc(336, 1)
/** Commands in one commit: those of a page of the agenda, some steps of it after each record. */
const COMMANDS_AT_ONCE = 256

export class Recording implements AsyncDisposable {
  readonly #directory: string
  readonly #log: SqliteLog
  readonly #stop = new AbortController()
  #results: Produced[] = []

  private constructor(directory: string, log: SqliteLog) {
    this.#directory = directory
    this.#log = log
  }

  static async open(): Promise<Recording> {
    const directory = await mkdtemp(join(tmpdir(), 'kinfold-recording-'))
    const log = await openSqliteLog({ directory, partitions: 1, clock: systemClock() })
    return new Recording(directory, log)
  }

  /** Resolves once it is watched from now on. */
  async watch(cluster: Cluster, resource: Resource): Promise<void> {
    const from = await cluster.currentVersion(resource, this.#stop.signal)
    void this.#follow(cluster, resource, from).catch((error: unknown) => {
      if (!this.#stop.signal.aborted) throw error
    })
  }

  /** On the log before any of them is carried out. */
  async commands(uids: readonly string[]): Promise<void> {
    for (let at = 0; at < uids.length; at += COMMANDS_AT_ONCE) {
      await this.#append('commands', uids.slice(at, at + COMMANDS_AT_ONCE).map(recordOf))
    }
  }

  /** Gathered as the reaper gathers them; no caller waits for it. */
  result(uid: string): void {
    this.#results.push(recordOf(uid))
    if (this.#results.length > 1) return
    setTimeout(() => {
      const gathered = this.#results
      this.#results = []
      void this.#append('events', gathered)
    }, DEFAULT_REAPER_CONFIG.gatherMs)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#log[Symbol.asyncDispose]()
    await rm(this.#directory, { recursive: true, force: true })
  }

  async #follow(cluster: Cluster, resource: Resource, from: string): Promise<void> {
    for await (const events of cluster.watch(resource, from, this.#stop.signal)) {
      const told = events.flatMap((event) =>
        event.type === 'Bookmark' ? [] : [recordOf(event.object.uid)],
      )
      if (told.length > 0) await this.#append('events', told)
    }
  }

  async #append(topic: Topic, records: readonly Produced[]): Promise<void> {
    await this.#log.append(topic, 0, records)
  }
}

function recordOf(uid: string): Produced {
  return { key: uid, value: RECORD }
}
