/**
 * The lease of several processes: a Lease object in the cluster itself, taken and renewed as
 * client-go's leader election does it.
 *
 * What must stay true: whether a holder's time is over is judged by how long this process has seen
 * the object unchanged, never by a time that another machine wrote. `leaseTransitions` holds the
 * highest epoch that was given out, and is written before an epoch is.
 *
 * Not here: the object and its guards (lease-object.ts), one holding (lease-holding.ts).
 */
import type { Clock } from '../../../ports/clock.ts'
import { ClusterError } from '../../../ports/cluster.ts'
import type { Exchange } from '../../../ports/exchange.ts'
import type { HeldLease, Lease, LeaseWait } from '../../../ports/lease.ts'
import type { Random } from '../../../ports/random.ts'
import { DEFAULT_TIMES, LeaseHolding, type LeaseTimes } from './lease-holding.ts'
import { LeaseObject, type LeaseState } from './lease-object.ts'

export interface KubernetesLeaseOptions {
  /** To the cluster that the lease is about. Closed by the caller. */
  readonly exchange: Exchange
  readonly clock: Clock
  readonly random: Random
  /** The candidate's name, for people: a pod or a host. */
  readonly holder: string
  readonly namespace: string
  readonly name: string
  /** The differences from `DEFAULT_TIMES`. */
  readonly times?: Partial<LeaseTimes>
}

/** Waits to take it vary by this share, so that candidates do not meet; as in client-go. */
const JITTER = 1.2

export function kubernetesLease(options: KubernetesLeaseOptions): Lease {
  return new KubernetesLease(options)
}

class KubernetesLease implements Lease {
  readonly name: string
  readonly #options: KubernetesLeaseOptions
  readonly #times: LeaseTimes
  readonly #object: LeaseObject

  constructor(options: KubernetesLeaseOptions) {
    this.name = options.name
    this.#options = options
    this.#times = { ...DEFAULT_TIMES, ...options.times }
    this.#object = new LeaseObject({ ...options, callMs: this.#times.callMs })
  }

  async acquire(onWait: (wait: LeaseWait) => void, signal: AbortSignal): Promise<HeldLease> {
    const { clock, random } = this.#options
    // Each asks under a name of its own: two in one process are two.
    const candidate = new Candidate(`${this.#options.holder}_${suffix(random)}`)
    for (;;) {
      signal.throwIfAborted()
      let pauseMs = this.#times.retryMs * (1 + JITTER * random.next())
      try {
        const held = await this.#tryToTake(candidate, onWait, signal)
        if (held !== undefined) return held
      } catch (error) {
        if (signal.aborted || !(error instanceof ClusterError)) throw error
        onWait({ type: 'Failing', reason: error.message })
        pauseMs = Math.max(pauseMs, Math.min(error.retryAfterMs ?? 0, this.#times.durationMs))
      }
      await clock.sleep(pauseMs, signal)
    }
  }

  async #tryToTake(
    candidate: Candidate,
    onWait: (wait: LeaseWait) => void,
    signal: AbortSignal,
  ): Promise<HeldLease | undefined> {
    const { clock } = this.#options
    const state = await this.#object.read(signal)
    candidate.see(state, clock.monotonicMs())
    const unchangedMs = clock.monotonicMs() - candidate.seenMs
    if (candidate.isHeld && unchangedMs < this.#times.durationMs) {
      onWait({ type: 'HeldBy', holder: candidate.holder })
      return undefined
    }
    const sentMs = clock.monotonicMs()
    const acquiredAt = clock.now()
    // A whole number, by the schema.
    const durationSeconds = Math.ceil(this.#times.durationMs / 1_000)
    const content = {
      holder: candidate.name,
      epoch: candidate.epoch,
      durationSeconds,
      acquiredAt,
    }
    const taken = await this.#object.write(state, content, signal)
    if (taken === null) return undefined
    return new LeaseHolding({
      object: this.#object,
      times: this.#times,
      clock,
      content,
      state: taken,
      renewedMs: sentMs,
      name: this.name,
    })
  }
}

/** The observations of one candidate for the lease. */
class Candidate {
  readonly name: string
  /** Monotonic: since when it is as it is. */
  seenMs = 0
  /** The last one known of; a Lease that is missing says nothing. */
  holder = ''
  /** The highest seen. */
  epoch = 0
  #spec: string | null | undefined

  constructor(name: string) {
    this.name = name
  }

  /** Our own name there is a write whose answer was lost. */
  get isHeld(): boolean {
    return this.holder !== '' && this.holder !== this.name
  }

  /**
   * When a Lease is deleted, its holder may not have noticed: it has its time to create it again.
   */
  see(state: LeaseState | null, nowMs: number): void {
    const spec = state?.spec ?? null
    if (this.#spec !== spec) this.seenMs = nowMs
    this.#spec = spec
    if (state === null) return
    this.holder = state.holder
    this.epoch = Math.max(this.epoch, state.epoch)
  }
}

function suffix(random: Random): string {
  const word = (): string => Math.floor(random.next() * 2 ** 32).toString(16)
  return `${word().padStart(8, '0')}${word().padStart(8, '0')}`
}
