/**
 * The log as processes reach it: one memory log, and between it and each process the hindrances
 * that faults have created.
 *
 * What must stay true: an acknowledged record is on the log, unless a fault that says so removed
 * it; a killed process writes nothing more, and its open transactions are aborted by the process
 * that takes over.
 *
 * Not here: which hindrances there are (log-faults.ts).
 */
import { MemoryLog } from '../adapters/memory/log.ts'
import type { Log, Produced, SavedPosition, TaskLog, Topic } from '../ports/log.ts'
import type { Timeline } from './clock.ts'
import type { Crossing, Incarnation } from './incarnation.ts'

export type LogCall = 'append' | 'read' | 'save' | 'ask' | 'open-task' | 'commit'

export interface LogPassage {
  readonly call: LogCall
  readonly topic: Topic
  readonly partition: number
  readonly by: Incarnation
}

/** Thrown by a hindrance: the log does nothing, and says that it did. */
export const SWALLOWED: Error = new Error('swallowed')

/**
 * Throws instead of the log, or waits; the function that it returns is called once the log has done
 * the call, before the caller gets the answer.
 */
export type LogHindrance = (passage: LogPassage) => Promise<(() => void) | undefined>

export interface Appended {
  readonly topic: Topic
  readonly partition: number
  readonly records: readonly Produced[]
  readonly by: string
}

/** A read may wait longer than it was asked to: virtual time is dear by the wakening. */
const STRETCH = 15

export class Broker {
  readonly #time: Timeline
  readonly #hindrances = new Set<LogHindrance>()
  readonly #observer: (appended: Appended) => void
  readonly #mostRead: number
  log: MemoryLog

  /** `mostRead`: the most entries that one read returns, whatever its limit. */
  constructor(
    { partitions, mostRead }: { readonly partitions: number; readonly mostRead: number },
    time: Timeline,
    observer: (appended: Appended) => void,
  ) {
    this.#mostRead = mostRead
    this.#time = time
    this.#observer = observer
    this.log = new MemoryLog({ partitions, clock: time })
  }

  get partitions(): number {
    return this.log.partitions('events')
  }

  hinder(hindrance: LogHindrance): () => void {
    this.#hindrances.add(hindrance)
    return () => this.#hindrances.delete(hindrance)
  }

  /** A new log, with nothing in it: a person began with an empty data directory. */
  replace(): void {
    this.log = new MemoryLog({ partitions: this.partitions, clock: this.#time })
  }

  /** As the endpoint appends: it belongs to no incarnation. */
  get endpoint(): Pick<Log, 'append' | 'bounds'> {
    const { log } = this
    return {
      bounds: (topic, partition) => log.bounds(topic, partition),
      append: async (topic, partition, records) => {
        const offset = await log.append(topic, partition, records)
        this.#observer({ topic, partition, records, by: 'endpoint' })
        return offset
      },
    }
  }

  logOf(by: Incarnation): Log {
    const { log } = this
    const pass = <T>(
      call: LogCall,
      topic: Topic,
      partition: number,
      ask: () => Promise<T>,
    ): Promise<T> => this.#pass({ call, topic, partition, by }, ask)
    return {
      partitions: (topic) => log.partitions(topic),
      append: (topic, partition, records) =>
        pass('append', topic, partition, async () => {
          const offset = await log.append(topic, partition, records)
          this.#observer({ topic, partition, records, by: by.name })
          return offset
        }),
      read: (topic, partition, from, { limit, waitMs }, signal) =>
        pass('read', topic, partition, () => {
          const options = {
            limit: Math.min(limit, this.#mostRead),
            waitMs: stretched(topic, waitMs),
          }
          return log.read(topic, partition, from, options, signal)
        }),
      bounds: (topic, partition) =>
        pass('ask', topic, partition, () => log.bounds(topic, partition)),
      end: (topic, partition) => pass('ask', topic, partition, () => log.end(topic, partition)),
      wholeFrom: (topic, partition) =>
        pass('ask', topic, partition, () => log.wholeFrom(topic, partition)),
      latest: (topic, partition) =>
        pass('ask', topic, partition, () => log.latest(topic, partition)),
      loadPosition: (reader, topic, partition) =>
        pass('ask', topic, partition, () => log.loadPosition(reader, topic, partition)),
      savePosition: (reader: string, topic: Topic, partition: number, position: SavedPosition) =>
        pass('save', topic, partition, () => log.savePosition(reader, topic, partition, position)),
      trim: (topic, partition, before) =>
        pass('ask', topic, partition, () => log.trim(topic, partition, before)),
      openTask: (partition) =>
        pass('open-task', 'changelog', partition, async () =>
          this.#taskLog(await log.openTask(partition), by),
        ),
      [Symbol.asyncDispose]: async () => undefined,
    }
  }

  #taskLog(task: TaskLog, by: Incarnation): TaskLog {
    const { partition, fence } = task
    return {
      partition,
      fence,
      commit: (commit) =>
        this.#pass({ call: 'commit', topic: 'changelog', partition, by }, async () => {
          const end = await task.commit(commit)
          for (const output of commit.outputs) this.#observer({ ...output, by: by.name })
          const records = commit.changelog
          this.#observer({ topic: 'changelog', partition, records, by: by.name })
          return end
        }),
      [Symbol.asyncDispose]: () => by.call('ask', async () => await task[Symbol.asyncDispose]()),
    }
  }

  #pass<T>(passage: LogPassage, ask: () => Promise<T>): Promise<T> {
    const crossing: Crossing = passage.call
    return passage.by.call(crossing, async () => {
      const afterwards: (() => void)[] = []
      try {
        for (const hindrance of this.#hindrances) {
          const after = await hindrance(passage)
          if (after !== undefined) afterwards.push(after)
          if (passage.by.isDead) return await new Promise<T>(() => undefined)
        }
      } catch (error) {
        if (error !== SWALLOWED) throw error
        return undefined as T
      }
      const answer = await ask()
      for (const after of afterwards) after()
      return answer
    })
  }
}

/** Of these an answer without entries means that there was nothing, as of now. */
function stretched(topic: Topic, waitMs: number): number {
  return topic === 'orders' || topic === 'control' ? waitMs : waitMs * STRETCH
}
