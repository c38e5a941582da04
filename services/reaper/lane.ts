/**
 * One partition of `commands`: reads it from the saved position, hands each command on, and knows what position may be saved.
 *
 * What must stay true: a command leaves the window only when its result is appended, or when what cannot be read is in `dead-letter`.
 *
 * Not here: the order in which commands go (backlog.ts), when positions are saved (reaper.ts).
 */
import { createHash } from 'node:crypto'
import type { Command } from '../../core/command.ts'
import type { Codec } from '../../ports/codec.ts'
import { type Entry, type Log, LogError, type SavedPosition } from '../../ports/log.ts'
import type { Job } from './backlog.ts'
import type { LogRetry } from './log-retry.ts'
import { openWindow, type Window } from './window.ts'

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
  readonly retry: LogRetry
  readonly bounds: {
    readonly window: number
    readonly page: number
    readonly pollMs: number
    readonly detailBytes: number
  }
  readonly submit: (job: Job) => void
  readonly onUnreadable: (partition: number, position: bigint, reason: string) => void
  /** The saved position is outside the log; reading goes on where the log begins. */
  readonly onPositionLost: (partition: number, from: bigint, to: bigint) => void
}

export function createLane(parts: LaneParts): Lane {
  const { partition, log, codec, retry, bounds, submit } = parts
  const results = log.partitions('events')
  const page = Math.min(bounds.page, bounds.window)
  let window: Window | undefined
  let saved: SavedPosition | undefined
  let onRoom: (() => void) | undefined

  async function begin(signal: AbortSignal): Promise<SavedPosition> {
    saved = await retry(() => log.loadPosition(READER, 'commands', partition), signal)
    if (saved !== undefined) return saved
    const { start } = await retry(() => log.bounds('commands', partition), signal)
    return { offset: start, detail: '' }
  }

  async function beginAnew(from: bigint, signal: AbortSignal): Promise<SavedPosition> {
    const { start } = await retry(() => log.bounds('commands', partition), signal)
    parts.onPositionLost(partition, from, start)
    return { offset: start, detail: '' }
  }

  /** Room for a whole page, so that a full window is not read on one command at a time. */
  async function room(of: Window, signal: AbortSignal): Promise<void> {
    while (of.size() > bounds.window - page && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const go = (): void => resolve()
      onRoom = go
      signal.addEventListener('abort', go, { once: true })
      await promise
      signal.removeEventListener('abort', go)
    }
  }

  async function take(of: Window, entry: Entry, signal: AbortSignal): Promise<void> {
    const ticket = of.take(entry.offset)
    if (ticket === undefined) return
    const settle = (): void => {
      of.settle(ticket)
      if (of.size() <= bounds.window - page) onRoom?.()
    }
    const command = readCommand(codec, entry, results)
    if (typeof command !== 'string') {
      submit({ command, appendedAt: entry.timestamp, onSettled: [settle] })
      return
    }
    const record = deadLetter(codec, partition, entry, command)
    await retry(() => log.append('dead-letter', partition, [record]), signal)
    parts.onUnreadable(partition, entry.offset, command)
    settle()
  }

  async function read(of: Window, from: bigint, signal: AbortSignal): Promise<bigint> {
    const options = { limit: page, waitMs: bounds.pollMs }
    await room(of, signal)
    const { entries, next } = await retry(
      () => log.read('commands', partition, from, options, signal),
      signal,
    )
    for (const entry of entries) await take(of, entry, signal)
    of.readTo(next)
    return next
  }

  return {
    async run(signal) {
      const first = await begin(signal)
      window = openWindow(first, bounds.detailBytes)
      let next = first.offset
      while (!signal.aborted) {
        try {
          next = await read(window, next, signal)
        } catch (error) {
          if (!(error instanceof LogError) || error.code !== 'OUT_OF_RANGE') throw error
          const anew = await beginAnew(next, signal)
          window = openWindow(anew, bounds.detailBytes)
          next = anew.offset
        }
      }
    },
    async save(signal) {
      const position = window?.position()
      if (position === undefined) return
      if (saved?.offset === position.offset && saved.detail === position.detail) return
      await retry(() => log.savePosition(READER, 'commands', partition, position), signal)
      saved = position
    },
    unsettled: () => window?.unsettled() ?? 0,
  }
}

/** The command, or why it cannot be taken for one. */
function readCommand(codec: Codec, entry: Entry, results: number): Command | string {
  if (entry.value === null) return 'the record is empty'
  try {
    const record = codec.decode(entry.value)
    switch (record.type) {
      case 'DeleteObject':
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
