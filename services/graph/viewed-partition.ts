/**
 * One partition as a question reads it: here, or wherever it is, and it may move meanwhile.
 *
 * What must stay true: reading is synchronous and reads only what is here or was fetched: what was not is told apart from what is not there. A partition
 * that nobody answers for reads as empty from then on, and says why.
 *
 * Not here: questions over all partitions (view.ts), the calls (peer.ts).
 */
import type { Clock } from '../../ports/clock.ts'
import type { KeyRange, StoreEntry } from '../../ports/store.ts'
import { StoreError } from '../../ports/store.ts'
import { Problem } from '../../runtime/problem.ts'
import type { PartitionState, Peer } from './peer.ts'
import { PEER_KEY_BYTES, PEER_KEYS, PeerError } from './peer.ts'
import type { ClusterTally } from './tally.ts'
import type { Task } from './task.ts'

/** Of a task, what a question needs. */
export type LocalPartition = Pick<Task, 'partition' | 'store' | 'status' | 'counts'>

export interface Whereabouts {
  /** Of all processes together. */
  readonly partitions: number
  /** Undefined when this process does not have it. */
  readonly here: (partition: number) => LocalPartition | undefined
  /** URLs of the processes that have the partitions, as far as is known. */
  readonly owners: () => ReadonlyMap<number, string>
}

export interface ViewedPartitionParts extends Whereabouts {
  readonly peer: Peer
  readonly clock: Clock
}

/** How often it is looked up who has the partition before it is given up, and the wait before the second time; longer before each. */
const ATTEMPTS = 3
const ATTEMPT_WAIT_MS = 100
/** What one question may hold of one partition that is elsewhere. */
const HELD_BYTES = 64 * 1024 * 1024
/** What is less is kept even where it may go. */
const FORGET_BYTES = 4 * 1024 * 1024

export class ViewedPartition {
  readonly partition: number
  readonly #parts: ViewedPartitionParts
  #here: LocalPartition | undefined
  #state: PartitionState = { state: 'unknown', position: 0n }
  #failure = ''
  readonly #values = new Map<string, Uint8Array | null>()
  readonly #pages = new Map<string, readonly StoreEntry[]>()
  #heldBytes = 0

  constructor(partition: number, parts: ViewedPartitionParts) {
    this.partition = partition
    this.#parts = parts
    this.#here = parts.here(partition)
  }

  get isHere(): boolean {
    return this.#here !== undefined
  }

  /** Null: it holds nothing there. Undefined: nobody knows yet; `fetch` it. */
  known(key: string): Uint8Array | null | undefined {
    if (this.#here !== undefined) {
      try {
        return this.#here.store.get(key) ?? null
      } catch (error) {
        if (!isClosed(error)) throw error
        this.#here = undefined
      }
    }
    return this.#failure === '' ? this.#values.get(key) : null
  }

  /** Afterwards these are known. */
  async fetch(keys: Iterable<string>): Promise<void> {
    if (this.#here !== undefined) return
    for (let left = [...keys].filter((key) => this.known(key) === undefined); left.length > 0; ) {
      const asked = firstOf(left)
      const { peer } = this.#parts
      const answer = await this.#ask((url) => peer.get(url, this.partition, asked))
      for (const [index, value] of answer?.values.entries() ?? []) {
        this.#hold(asked[index] ?? '', value)
      }
      left = left.slice(answer?.values.length ?? left.length)
    }
  }

  /** Whether it is here, or somebody answers for it. */
  async greet(): Promise<void> {
    if (this.#here === undefined) {
      await this.#ask((url) => this.#parts.peer.get(url, this.partition, []))
    }
  }

  async page(range: KeyRange): Promise<readonly StoreEntry[]> {
    try {
      if (this.#here !== undefined) return await this.#here.store.page(range)
    } catch (error) {
      if (!isClosed(error)) throw error
      this.#here = undefined
    }
    const name = `${range.gte} ${range.lt} ${range.limit}`
    const known = this.#pages.get(name)
    if (known !== undefined) return known
    const page = await this.#pageElsewhere(range)
    this.#count(page.reduce((sum, [key, value]) => sum + key.length + value.length, 0))
    this.#pages.set(name, page)
    return page
  }

  async #pageElsewhere(range: KeyRange): Promise<readonly StoreEntry[]> {
    const { peer } = this.#parts
    const entries: StoreEntry[] = []
    for (let { gte } = range; entries.length < range.limit; ) {
      const limit = Math.min(range.limit - entries.length, PEER_KEYS)
      const asked = { gte, lt: range.lt, limit }
      const answer = await this.#ask((url) => peer.page(url, this.partition, asked))
      if (answer === undefined) {
        if (this.#here === undefined) return []
        return await this.page(range)
      }
      entries.push(...answer.entries)
      if (!answer.isCut && answer.entries.length < limit) break
      gte = `${entries.at(-1)?.[0]}\0`
    }
    return entries
  }

  /** Undefined while not all of it is counted, and when nobody answers. */
  async counts(): Promise<readonly ClusterTally[] | undefined> {
    const { peer } = this.#parts
    const answer =
      this.#here === undefined
        ? await this.#ask((url) => peer.counts(url, this.partition))
        : undefined
    return answer === undefined ? this.#here?.counts() : (answer.counts ?? undefined)
  }

  /** Undefined when it is here now, or nobody answers: then `failure` says why. */
  async #ask<T extends PartitionState>(call: (url: string) => Promise<T>): Promise<T | undefined> {
    for (let attempt = 1; this.#failure === ''; attempt++) {
      this.#here = this.#parts.here(this.partition)
      if (this.#here !== undefined) return undefined
      const url = this.#parts.owners().get(this.partition)
      let failure = 'no process has it just now'
      try {
        if (url !== undefined) {
          const answer = await call(url)
          this.#state = answer
          return answer
        }
      } catch (error) {
        if (!(error instanceof PeerError)) throw error
        if (error.code === 'UNREACHABLE') failure = error.message
      }
      if (attempt < ATTEMPTS) await this.#parts.clock.sleep(ATTEMPT_WAIT_MS * attempt)
      else this.#failure = failure
    }
    return undefined
  }

  #hold(key: string, value: Uint8Array | null): void {
    this.#values.set(key, value)
    this.#count(key.length + (value?.length ?? 0))
  }

  #count(bytes: number): void {
    this.#heldBytes += bytes
    if (this.#heldBytes <= HELD_BYTES) return
    throw new Problem(
      503,
      'the answer rests on more than is held of other processes at once; ask about a smaller part',
    )
  }

  /** What was fetched, if it is much, to make room: it is fetched again when it is needed. */
  forget(): void {
    if (this.#heldBytes < FORGET_BYTES) return
    this.#values.clear()
    this.#pages.clear()
    this.#heldBytes = 0
  }

  /** As of the last look. */
  status(): PartitionState {
    return this.#here?.status() ?? this.#state
  }

  /** Why what is read of it may be incomplete; empty when it is not. */
  doubt(): string {
    if (this.#failure !== '') return this.#failure
    return this.status().state === 'folding' ? '' : 'still being restored'
  }
}

/** What `here` is of a graph: a task that was fenced is somebody else's already. */
export function taskOf(graph: { readonly tasks: readonly LocalPartition[] }): Whereabouts['here'] {
  return (partition) =>
    graph.tasks.find((task) => task.partition === partition && task.status().state !== 'stopped')
}

/** As many as may be asked for at once. */
function firstOf(keys: readonly string[]): readonly string[] {
  let bytes = 0
  const end = keys.findIndex((key, index) => {
    bytes += key.length + 3
    return index > 0 && (index >= PEER_KEYS || bytes > PEER_KEY_BYTES)
  })
  return end < 0 ? keys : keys.slice(0, end)
}

function isClosed(error: unknown): boolean {
  return error instanceof StoreError && error.code === 'CLOSED'
}
