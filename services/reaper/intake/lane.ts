/**
 * One partition of `commands`: reads it from the saved position, passes each command on, and knows
 * which position may be saved. Those of a namespace with many are read past, and read again later,
 * so that neither it nor its cluster keeps others from being read.
 *
 * What must stay true: a command leaves the window only when its result is appended, or when a
 * record that cannot be read is in `dead-letter`. Those of one namespace are passed on in the order
 * of the log.
 *
 * Not here: whose commands are put off (share.ts), the order in which commands are sent
 * (backlog.ts), when positions are saved (reaper.ts).
 */
import { createHash } from 'node:crypto'
import type { Command } from '../../../core/model/command.ts'
import type { Clock } from '../../../ports/clock.ts'
import {
  type Entry,
  type Log,
  LogError,
  type Page,
  type SavedPosition,
} from '../../../ports/log.ts'
import type { Codec } from '../../../ports/record/codec.ts'
import type { LogRetry } from '../../../runtime/retry.ts'
import { type Job, turnOf } from './backlog.ts'
import { type AgeOf, createLogTime, type LogTime, unwitnessed } from './moment.ts'
import { type ShareBounds, Shares, type Turn } from './share.ts'
import { Window } from './window.ts'

/** Name under which positions are saved. */
export const READER = 'reaper'

export interface Lane {
  /** Ends, or rejects with the signal's reason, when it aborts. */
  run(signal: AbortSignal): Promise<void>
  save(signal: AbortSignal): Promise<void>
  unsettled(): number
}

export interface LaneBounds extends ShareBounds {
  /** Commands between the oldest unsettled one and the newest read. */
  readonly reach: number
  readonly page: number
  readonly pollMs: number
  readonly detailBytes: number
}

export interface LaneParts {
  readonly partition: number
  readonly log: Log
  readonly codec: Codec
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>
  /** If the log reports it itself; else the clock does. */
  readonly ageMs?: AgeOf | undefined
  readonly retry: LogRetry
  readonly bounds: LaneBounds
  readonly submit: (job: Job) => void
  readonly onUnreadable: (position: bigint, reason: string) => void
  /** The position to read from is outside the log; reading continues where the log begins. */
  readonly onPositionLost: (from: bigint, to: bigint) => void
}

export function createLane(parts: LaneParts): Lane {
  return new OnePartition(parts)
}

/** From a position of the log on, until the log no longer holds what is to be read. */
interface Reading {
  readonly window: Window
  readonly shares: Shares
}

/** A command that was read. */
interface Read {
  readonly command: Command
  readonly entry: Entry
  readonly ticket: number
  readonly turn: Turn
}

interface Waiter {
  readonly isSo: () => boolean
  readonly wake: () => void
}

class OnePartition implements Lane {
  readonly #parts: LaneParts
  readonly #time: LogTime
  /** Records before it existed when this partition began to be read. */
  #end = 0n
  /** A page must fit, so it is not read on one command at a time. */
  readonly #page: number
  #window: Window | undefined
  #saved: SavedPosition | undefined
  readonly #waiters = new Set<Waiter>()

  constructor(parts: LaneParts) {
    const { page, window, reach } = parts.bounds
    this.#parts = parts
    this.#time = createLogTime(parts.clock, parts.ageMs)
    this.#page = Math.min(page, window, reach)
  }

  async run(signal: AbortSignal): Promise<void> {
    const { partition, log, retry, bounds } = this.#parts
    this.#saved = await retry(() => log.loadPosition(READER, 'commands', partition), signal)
    let from = this.#saved ?? (await this.#start(signal))
    while (!signal.aborted) {
      this.#window = new Window(from, bounds.detailBytes)
      this.#end = (await retry(() => log.bounds('commands', partition), signal)).end
      const reading = { window: this.#window, shares: new Shares(bounds) }
      const lost = await this.#read(reading, from.offset, signal)
      from = await this.#start(signal)
      this.#parts.onPositionLost(lost, from.offset)
    }
  }

  async save(signal: AbortSignal): Promise<void> {
    const { partition, log, retry } = this.#parts
    const position = this.#window?.position()
    if (position === undefined) return
    if (this.#saved?.offset === position.offset && this.#saved.detail === position.detail) return
    await retry(() => log.savePosition(READER, 'commands', partition, position), signal)
    this.#saved = position
  }

  unsettled(): number {
    return this.#window?.unsettled() ?? 0
  }

  async #start(signal: AbortSignal): Promise<SavedPosition> {
    const { partition, log, retry } = this.#parts
    const { start } = await retry(() => log.bounds('commands', partition), signal)
    return { offset: start, detail: '' }
  }

  /** Returns the offset that the log no longer holds. */
  async #read(reading: Reading, first: bigint, signal: AbortSignal): Promise<bigint> {
    const ended = new AbortController()
    const until = AbortSignal.any([signal, ended.signal])
    const loops = [this.#readOn(reading, first, until), this.#readAgain(reading, until)]
    try {
      return await Promise.race(loops)
    } finally {
      ended.abort()
      await Promise.allSettled(loops)
    }
  }

  async #readOn(reading: Reading, first: bigint, signal: AbortSignal): Promise<bigint> {
    const { window, shares } = reading
    const { reach, pollMs } = this.#parts.bounds
    const hasRoom = (): boolean => shares.hasRoom(this.#page) && window.size() + this.#page <= reach
    for (let from = first; ; ) {
      await this.#until(hasRoom, signal)
      const page = await this.#pageAt(from, pollMs, signal)
      if (page === undefined) return from
      for (const entry of page.entries) await this.#take(reading, entry, signal)
      window.readTo(page.next)
      from = page.next
    }
  }

  /** What was put off. */
  async #readAgain(reading: Reading, signal: AbortSignal): Promise<bigint> {
    const { window, shares } = reading
    for (;;) {
      await this.#until(() => shares.next !== undefined, signal)
      const turn = shares.next
      const ticket = turn === undefined ? undefined : shares.firstOf(turn)
      if (turn === undefined || ticket === undefined) continue
      const from = window.offsetOf(ticket)
      const page = await this.#pageAt(from, this.#parts.bounds.pollMs, signal)
      const [first] = page?.entries ?? []
      if (page === undefined || (first !== undefined && first.offset !== from)) return from
      for (const entry of page.entries) await this.#takeAgain(reading, turn, entry, signal)
      shares.passTurn(turn)
    }
  }

  /** Undefined where the log no longer holds it. */
  async #pageAt(from: bigint, waitMs: number, signal: AbortSignal): Promise<Page | undefined> {
    const { partition, log, retry } = this.#parts
    const options = { limit: this.#page, waitMs }
    try {
      return await retry(() => log.read('commands', partition, from, options, signal), signal)
    } catch (error) {
      if (error instanceof LogError && error.code === 'OUT_OF_RANGE') return undefined
      throw error
    }
  }

  async #until(isSo: () => boolean, signal: AbortSignal): Promise<void> {
    while (!isSo()) {
      signal.throwIfAborted()
      const { promise, resolve } = Promise.withResolvers<void>()
      const wake = (): void => resolve()
      const waiter = { isSo, wake }
      this.#waiters.add(waiter)
      signal.addEventListener('abort', wake, { once: true })
      await promise
      signal.removeEventListener('abort', wake)
      this.#waiters.delete(waiter)
    }
  }

  #wake(): void {
    for (const { isSo, wake } of this.#waiters) if (isSo()) wake()
  }

  async #take(reading: Reading, entry: Entry, signal: AbortSignal): Promise<void> {
    const { window, shares } = reading
    this.#time.saw(entry.timestamp)
    const ticket = window.take(entry.offset)
    if (ticket === undefined) return
    const command = this.#commandIn(entry)
    if (typeof command === 'string') {
      await this.#setAside(entry, command, signal)
      window.settle(ticket)
      return
    }
    const turn = { cluster: command.cluster, namespace: turnOf(command) }
    if (shares.keep(turn)) this.#passOn(reading, { command, entry, ticket, turn })
    else shares.putOff(turn, ticket)
    this.#wake()
  }

  /** If it is the next of its namespace, and there is room. */
  async #takeAgain(reading: Reading, turn: Turn, entry: Entry, signal: AbortSignal): Promise<void> {
    const { window, shares } = reading
    const ticket = shares.firstOf(turn)
    if (ticket === undefined || window.offsetOf(ticket) !== entry.offset) return
    if (!shares.keepFirst(turn)) return
    const command = this.#commandIn(entry)
    if (typeof command !== 'string') {
      return this.#passOn(reading, { command, entry, ticket, turn })
    }
    await this.#setAside(entry, command, signal)
    window.settle(ticket)
    shares.release(turn)
  }

  #passOn({ window, shares }: Reading, { command, entry, ticket, turn }: Read): void {
    const moments = this.#time.momentsOf(command, entry.timestamp)
    const settle = (): void => {
      if (!window.settle(ticket)) return
      shares.release(turn)
      this.#wake()
    }
    const isLate = entry.offset < this.#end
    this.#parts.submit({
      command,
      moments: isLate ? unwitnessed(moments) : moments,
      onSettled: [settle],
    })
  }

  #commandIn(entry: Entry): Command | string {
    const { codec, log } = this.#parts
    return readCommand(codec, entry, log.partitions('events'))
  }

  async #setAside(entry: Entry, reason: string, signal: AbortSignal): Promise<void> {
    const { partition, log, codec, retry, onUnreadable } = this.#parts
    const record = deadLetter(codec, partition, entry, reason)
    await retry(() => log.append('dead-letter', partition, [record]), signal)
    onUnreadable(entry.offset, reason)
  }
}

/** The command, or why it is not one. */
function readCommand(codec: Codec, entry: Entry, results: number): Command | string {
  if (entry.value === null) return 'the record is empty'
  try {
    const record = codec.decode(entry.value)
    switch (record.type) {
      case 'DeleteObject':
      case 'AnnotateObject':
      case 'OrphanDependent':
      case 'RemoveFinalizer':
      case 'VerifyOwner':
      case 'WarnObject': {
        const isPlaced = record.partition >= 0 && record.partition < results
        return isPlaced ? record : `there is no partition ${record.partition} for its result`
      }
      default:
        return `the record is no command but a ${record.type}`
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function deadLetter(
  codec: Codec,
  partition: number,
  entry: Entry,
  reason: string,
): { key: string; value: Uint8Array } {
  const digest = createHash('sha256')
    .update(entry.value ?? new Uint8Array())
    .digest('hex')
  const { key, offset: position } = entry
  const value = codec.encode({
    type: 'DeadLetter',
    topic: 'commands',
    partition,
    position,
    key,
    reason,
    digest,
  })
  return { key, value }
}
