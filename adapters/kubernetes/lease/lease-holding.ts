/**
 * A Lease that this process holds, from its taking to its end: renewed, counted up, lost or given
 * up.
 *
 * What must stay true: its time counts from when the last successful renewal was sent, so it ends
 * here before another process may take it; once lost it stays lost, whatever answers come in later.
 * One write at a time.
 */
import type { Clock } from '../../../ports/clock.ts'
import { ClusterError } from '../../../ports/cluster.ts'
import type { HeldLease } from '../../../ports/lease.ts'
import type { LeaseContent, LeaseObject, LeaseState } from './lease-object.ts'

export interface LeaseTimes {
  /** An object unchanged for this long is free. */
  readonly durationMs: number
  /**
   * Without a renewal for this long a holder has lost it; the rest of the duration is for writes
   * under way and for clocks that differ in pace.
   */
  readonly renewDeadlineMs: number
  /** Between two tries, to renew or to take it. */
  readonly retryMs: number
  /** Of one call. */
  readonly callMs: number
  /** How long giving up may take; after it the lease runs out by itself. */
  readonly releaseMs: number
}

/** The first three as in client-go. */
export const DEFAULT_TIMES: LeaseTimes = {
  durationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryMs: 2_000,
  callMs: 5_000,
  releaseMs: 2_000,
}

export interface HoldingParts {
  readonly object: LeaseObject
  readonly times: LeaseTimes
  readonly clock: Clock
  /** As written when it was taken. */
  readonly content: LeaseContent
  readonly state: LeaseState
  /** Monotonic: when that was sent. */
  readonly renewedMs: number
  readonly name: string
}

export class LeaseHolding implements HeldLease {
  readonly #parts: HoldingParts
  readonly #lost = new AbortController()
  readonly #closed = new AbortController()
  /** Either of the two. */
  readonly #over: AbortSignal = AbortSignal.any([this.#lost.signal, this.#closed.signal])
  readonly #loops: Promise<unknown>
  /** As last read or written; null when it was found missing. */
  #state: LeaseState | null
  #renewedMs: number
  /** The highest that was given out or seen. */
  #epoch: number
  /** Of the object that is held: one that another client created is another lease. */
  #uid: string
  #failure = ''
  #isTaken = false
  #turn: Promise<unknown> = Promise.resolve()

  constructor(parts: HoldingParts) {
    this.#parts = parts
    this.#state = parts.state
    this.#renewedMs = parts.renewedMs
    this.#epoch = Math.max(parts.content.epoch, parts.state.epoch)
    this.#uid = parts.state.uid
    this.#loops = Promise.all([this.#keepRenewing(), this.#keepTime()])
  }

  get lost(): AbortSignal {
    return this.#lost.signal
  }

  check(): void {
    const { clock, times, name } = this.#parts
    if (clock.monotonicMs() - this.#renewedMs >= times.renewDeadlineMs) {
      const why = this.#failure === '' ? '' : `: ${this.#failure}`
      this.#lose(`The lease ${name} was not renewed for ${times.renewDeadlineMs} ms${why}`)
    }
    this.#lost.signal.throwIfAborted()
  }

  async nextEpoch(atLeast: number, signal: AbortSignal): Promise<number> {
    const either = AbortSignal.any([signal, this.#over])
    // This process uses it from now on, whatever the result of the first try to write it.
    this.#epoch = Math.max(this.#epoch, atLeast) + 1
    const epoch = this.#epoch
    for (;;) {
      either.throwIfAborted()
      this.check()
      await this.#renew(either)
      this.check()
      if (this.#state !== null && this.#state.epoch >= epoch) return epoch
      await this.#parts.clock.sleep(this.#parts.times.retryMs, either)
    }
  }

  /** A waiting process need not wait until it runs out. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort(new Error(`The lease ${this.#parts.name} was given up.`))
    await this.#loops
    await this.#turn
    if (this.#isTaken) return
    const { clock, times } = this.#parts
    const limit = new AbortController()
    const end = new AbortController()
    void clock.sleep(times.releaseMs, end.signal).then(() => limit.abort())
    try {
      await this.#release(limit.signal)
    } catch (error) {
      // It runs out by itself.
      if (!limit.signal.aborted && !(error instanceof ClusterError)) throw error
    } finally {
      end.abort()
    }
  }

  async #release(signal: AbortSignal): Promise<void> {
    const { object, content } = this.#parts
    const free = { ...content, holder: '', epoch: this.#epoch, durationSeconds: 1 }
    if (this.#state !== null && (await object.write(this.#state, free, signal)) !== null) return
    // A renewal that was broken off may have got through.
    const state = await object.read(signal)
    if (state?.holder === content.holder) await object.write(state, free, signal)
  }

  async #keepRenewing(): Promise<void> {
    const { clock, times } = this.#parts
    let dueMs = this.#renewedMs + times.retryMs
    while (!this.#over.aborted) {
      await clock.sleep(dueMs - clock.monotonicMs(), this.#over)
      if (this.#over.aborted) return
      dueMs = clock.monotonicMs() + times.retryMs
      await this.#renew(this.#over).catch(() => undefined)
    }
  }

  /** Apart from the renewals, so that one that hangs delays nothing. */
  async #keepTime(): Promise<void> {
    const { clock, times } = this.#parts
    while (!this.#over.aborted) {
      const leftMs = this.#renewedMs + times.renewDeadlineMs - clock.monotonicMs()
      await clock.sleep(leftMs, this.#over)
      if (this.#over.aborted) return
      try {
        this.check()
      } catch {
        return
      }
    }
  }

  /** One try, after those before it. False: not this time. Rejects with the signal's reason. */
  async #renew(signal: AbortSignal): Promise<boolean> {
    const before = this.#turn
    const mine = before.then(() => this.#tryToRenew(signal))
    this.#turn = mine.catch(() => undefined)
    return await mine
  }

  async #tryToRenew(signal: AbortSignal): Promise<boolean> {
    try {
      if (await this.#write(signal)) return true
      return (await this.#isStillOurs(signal)) && (await this.#write(signal))
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof ClusterError)) throw error
      this.#failure = error.message
      return false
    }
  }

  async #write(signal: AbortSignal): Promise<boolean> {
    const { object, content, clock } = this.#parts
    const sentMs = clock.monotonicMs()
    const epoch = this.#epoch
    const written = await object.write(this.#state, { ...content, epoch }, signal)
    if (written === null || this.#over.aborted) return false
    this.#state = written
    this.#uid = written.uid
    this.#renewedMs = sentMs
    this.#failure = ''
    return true
  }

  /**
   * Another client wrote. Unless it was taken meanwhile, it is written again as it should be: a
   * missing, emptied or spoilt one, too.
   */
  async #isStillOurs(signal: AbortSignal): Promise<boolean> {
    const { object, content, name } = this.#parts
    const state = await object.read(signal)
    const isOthers = state !== null && state.holder !== '' && state.holder !== content.holder
    // Perhaps held and given up again by another process, whose epoch is above ours.
    const isLater = state !== null && (state.epoch > this.#epoch || state.uid !== this.#uid)
    if (isOthers || isLater) {
      this.#isTaken = isOthers
      const holder = state.holder === '' ? 'nobody' : state.holder
      this.#lose(`The lease ${name} was taken, and is held by ${holder} now`)
      return false
    }
    this.#state = state
    return true
  }

  #lose(why: string): void {
    this.#lost.abort(new Error(`${why}.`))
  }
}
