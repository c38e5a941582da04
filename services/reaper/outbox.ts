/**
 * Results on their way to `events`: gathered for a moment, appended together, and only then
 * settled.
 *
 * What must stay true: `onAppended` is called after the append was acknowledged, never before;
 * results of one partition keep their order. Answers of live GETs alone never cause more than one
 * append in `gatherAnswersMs`, or for `answersPerAppend` of them: an object may have thousands of
 * owners that never were, and each append costs the log, and the fold a commit, far more bytes than
 * the answer (T10). The first answer after a pause does not wait for others, and no result of
 * another command waits for answers.
 *
 * Not here: a bound on the waiting results, which is that of the windows: a command holds its place
 * until its result is appended. Results about found owners hold none, and each is published rarely
 * (found-owners.ts).
 */
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Codec } from '../../ports/record/codec.ts'
import type { LogRetry } from '../../runtime/retry.ts'
import type { Result } from './decide/result.ts'

export interface Outgoing {
  /** Of the event: a home. */
  readonly key: string
  readonly result: Result
  readonly onAppended: () => void
}

export interface OutboxBounds {
  readonly gatherMs: number
  readonly gatherAnswersMs: number
  readonly answersPerAppend: number
  readonly resultsPerAppend: number
}

export interface OutboxParts {
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  readonly retry: LogRetry
  readonly bounds: OutboxBounds
  readonly onFailed: (error: unknown) => void
  /** Gives up waiting results: their commands will be carried out again. */
  readonly signal: AbortSignal
}

/** Of a partition. */
interface Queue {
  readonly waiting: Outgoing[]
  /** Of those that wait, results that answers must not hold up. */
  urgent: number
  /** Monotonic time of the last append. */
  appendedMs: number
  flushing: Promise<void> | undefined
  /** While answers wait for others. */
  wake: (() => void) | undefined
}

export class Outbox {
  readonly #parts: OutboxParts
  readonly #queues = new Map<number, Queue>()

  constructor(parts: OutboxParts) {
    this.#parts = parts
  }

  put(partition: number, outgoing: Outgoing): void {
    const queue = this.#queues.get(partition) ?? emptyQueue()
    this.#queues.set(partition, queue)
    queue.waiting.push(outgoing)
    if (!isAnswer(outgoing.result)) queue.urgent += 1
    if (this.#isDue(queue)) queue.wake?.()
    queue.flushing ??= this.#flushAndForget(partition, queue)
  }

  /** Resolves once nothing waits, or nothing more can be appended. */
  async drained(): Promise<void> {
    const flushing = (): Promise<void>[] =>
      [...this.#queues.values()].flatMap((each) => each.flushing ?? [])
    while (flushing().length > 0) await Promise.all(flushing())
  }

  async #flushAndForget(partition: number, queue: Queue): Promise<void> {
    const { signal, onFailed } = this.#parts
    try {
      await this.#flush(partition, queue)
    } catch (error) {
      queue.waiting.length = 0
      queue.urgent = 0
      if (!signal.aborted) onFailed(error)
    } finally {
      // What came after the last look, and before this, no other flush would send.
      const isLeft = queue.waiting.length > 0 && !signal.aborted
      queue.flushing = isLeft ? this.#flushAndForget(partition, queue) : undefined
    }
  }

  async #flush(partition: number, queue: Queue): Promise<void> {
    const { log, codec, clock, retry, bounds, signal } = this.#parts
    while (queue.waiting.length > 0 && !signal.aborted) {
      await clock.sleep(bounds.gatherMs, signal)
      await this.#moreAnswers(queue)
      const batch = queue.waiting.splice(0, bounds.resultsPerAppend)
      queue.urgent -= batch.filter(({ result }) => !isAnswer(result)).length
      const records = batch.map(({ key, result }) => ({ key, value: codec.encode(result) }))
      await retry(() => log.append('events', partition, records), signal)
      for (const { onAppended } of batch) onAppended()
      queue.appendedMs = clock.monotonicMs()
    }
  }

  async #moreAnswers(queue: Queue): Promise<void> {
    const { clock, bounds, signal } = this.#parts
    const waitMs = queue.appendedMs + bounds.gatherAnswersMs - clock.monotonicMs()
    if (waitMs <= 0 || this.#isDue(queue)) return
    const woken = new AbortController()
    queue.wake = () => woken.abort()
    await clock.sleep(waitMs, AbortSignal.any([signal, woken.signal]))
    queue.wake = undefined
  }

  #isDue({ waiting, urgent }: Queue): boolean {
    return urgent > 0 || waiting.length >= this.#parts.bounds.answersPerAppend
  }
}

function emptyQueue(): Queue {
  const never = Number.NEGATIVE_INFINITY
  return { waiting: [], urgent: 0, appendedMs: never, flushing: undefined, wake: undefined }
}

/** Of a live GET, also one that proves nothing. */
function isAnswer(result: Result): boolean {
  return result.type !== 'CommandSettled' || result.verb === 'VerifyOwner'
}
