/**
 * Port: who may watch one cluster. A lease is no lock: correctness rests on epochs, which the fold
 * compares.
 *
 * Guarantees: there is one holder at a time as far as clocks and networks allow; `lost` aborts when
 * another process may hold the lease; no epoch is given twice, also not by a lease that was
 * deleted, as long as `atLeast` covers the used ones.
 *
 * Not here: the work of a holder (services/watcher).
 */
export interface HeldLease extends AsyncDisposable {
  /** Aborts by the monotonic clock, also while a call to the keeper of the lease hangs. */
  readonly lost: AbortSignal
  /**
   * Throws the reason of `lost`. It checks the clock itself: in a process that slept for longer
   * than its lease, other code may run before the timer that aborts `lost`. To be called before
   * anything is published.
   */
  check(): void
  /**
   * An epoch that no holder had before, above `atLeast`. Rejects with the reason of `lost`, or of
   * `signal`.
   */
  nextEpoch(atLeast: number, signal: AbortSignal): Promise<number>
}

/** Why a process waits for the lease. */
export type LeaseWait =
  | { readonly type: 'HeldBy'; readonly holder: string }
  /** It is unknown whether any process holds it, or it may not be taken; one sentence. */
  | { readonly type: 'Failing'; readonly reason: string }

export interface Lease {
  /** For people and metrics. */
  readonly name: string
  /**
   * Resolves once held; calls `onWait` from time to time with the reason for waiting. Waits through
   * failures; rejects with the signal's reason only.
   */
  acquire(onWait: (wait: LeaseWait) => void, signal: AbortSignal): Promise<HeldLease>
}
