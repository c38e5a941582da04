/**
 * One partition of `commands`: reads it from the saved position, passes each command on, and knows
 * which position may be saved.
 *
 * What must stay true: a command leaves the window only when its result is appended, or when a
 * record that cannot be read is in `dead-letter`.
 *
 * Not here: the order in which commands are sent (backlog.ts), when positions are saved
 * (reaper.ts).
 */
import { createHash } from 'node:crypto'
import type { Command } from '../../../core/model/command.ts'
import type { Clock } from '../../../ports/clock.ts'
import { type Entry, type Log, LogError, type SavedPosition } from '../../../ports/log.ts'
import type { Codec } from '../../../ports/record/codec.ts'
import type { LogRetry } from '../../../runtime/retry.ts'
import type { Job } from './backlog.ts'
import { type AgeOf, createLogTime, type LogTime, unwitnessed } from './moment.ts'
import { Window } from './window.ts'

/** Name under which positions are saved. */
export const READER = 'reaper'

export interface Lane {
  /** Ends, or rejects with the signal's reason, when it aborts. */
  run(signal: AbortSignal): Promise<void>
  save(signal: AbortSignal): Promise<void>
  unsettled(): number
}

export interface LaneParts {
  readonly partition: number
  readonly log: Log
  readonly codec: Codec
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>
  /** If the log reports it itself; else the clock does. */
  readonly ageMs?: AgeOf | undefined
  readonly retry: LogRetry
  readonly bounds: {
    readonly window: number
    readonly page: number
    readonly pollMs: number
    readonly detailBytes: number
  }
  readonly submit: (job: Job) => void
  readonly onUnreadable: (position: bigint, reason: string) => void
  /** The position to read from is outside the log; reading continues where the log begins. */
  readonly onPositionLost: (from: bigint, to: bigint) => void
}

export function createLane(parts: LaneParts): Lane {
  return new OnePartition(parts)
}

class OnePartition implements Lane {
  readonly #parts: LaneParts
  readonly #time: LogTime
  /** Records before it existed when this partition began to be read. */
  #end = 0n
  /**
   * How far the window may be filled before the next read: a page must fit, so it is not read on
   * one command at a time.
   */
  readonly #fill: number
  readonly #page: number
  #window: Window | undefined
  #saved: SavedPosition | undefined
  #onRoom: (() => void) | undefined

  constructor(parts: LaneParts) {
    const { page, window } = parts.bounds
    this.#parts = parts
    this.#time = createLogTime(parts.clock, parts.ageMs)
    this.#page = Math.min(page, window)
    this.#fill = window - this.#page
  }

  async run(signal: AbortSignal): Promise<void> {
    const { partition, log, retry, bounds } = this.#parts
    this.#saved = await retry(() => log.loadPosition(READER, 'commands', partition), signal)
    let from = this.#saved ?? (await this.#start(signal))
    while (!signal.aborted) {
      this.#window = new Window(from, bounds.detailBytes)
      this.#end = (await retry(() => log.bounds('commands', partition), signal)).end
      const lost = await this.#readOn(this.#window, from.offset, signal)
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
  async #readOn(window: Window, first: bigint, signal: AbortSignal): Promise<bigint> {
    const { partition, log, retry, bounds } = this.#parts
    const options = { limit: this.#page, waitMs: bounds.pollMs }
    for (let from = first; ; ) {
      await this.#room(window, signal)
      try {
        const page = await retry(
          () => log.read('commands', partition, from, options, signal),
          signal,
        )
        for (const entry of page.entries) await this.#take(window, entry, signal)
        window.readTo(page.next)
        from = page.next
      } catch (error) {
        if (error instanceof LogError && error.code === 'OUT_OF_RANGE') return from
        throw error
      }
    }
  }

  async #room(window: Window, signal: AbortSignal): Promise<void> {
    while (window.size() > this.#fill && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const go = (): void => resolve()
      this.#onRoom = go
      signal.addEventListener('abort', go, { once: true })
      await promise
      signal.removeEventListener('abort', go)
    }
  }

  async #take(window: Window, entry: Entry, signal: AbortSignal): Promise<void> {
    const { partition, log, codec, retry, submit, onUnreadable } = this.#parts
    this.#time.saw(entry.timestamp)
    const ticket = window.take(entry.offset)
    if (ticket === undefined) return
    const settle = (): void => {
      window.settle(ticket)
      if (window.size() <= this.#fill) this.#onRoom?.()
    }
    const command = readCommand(codec, entry, log.partitions('events'))
    if (typeof command !== 'string') {
      const moments = this.#time.momentsOf(command, entry.timestamp)
      const isLate = entry.offset < this.#end
      submit({
        command,
        moments: isLate ? unwitnessed(moments) : moments,
        onSettled: [settle],
      })
      return
    }
    const record = deadLetter(codec, partition, entry, command)
    await retry(() => log.append('dead-letter', partition, [record]), signal)
    onUnreadable(entry.offset, command)
    settle()
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
