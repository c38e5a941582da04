/**
 * Port: who may watch one cluster. A lease is no lock: correctness rests on epochs, which the fold compares.
 *
 * Guarantees: there is one holder at a time as far as clocks and networks allow; `lost` aborts when the lease may be somebody else's; nobody is
 * given an epoch twice, also not by a lease that was deleted, as long as `atLeast` tells of those that were used.
 *
 * Not here: what a holder does (services/watcher).
 */
export interface HeldLease extends AsyncDisposable {
  /** Aborts by the monotonic clock, also while a call to whoever keeps the lease hangs. */
  readonly lost: AbortSignal
  /**
   * Throws the reason of `lost`. It looks at the clock itself: in a process that slept for longer than its lease, whatever wakes first may
   * run before the timer that aborts `lost`. To be called before anything is told.
   */
  check(): void
  /** An epoch that no holder had before, above `atLeast`. Rejects with the reason of `lost`, or of `signal`. */
  nextEpoch(atLeast: number, signal: AbortSignal): Promise<number>
}

/** Why somebody waits for the lease. */
export type LeaseWait =
  | { readonly type: 'HeldBy'; readonly holder: string }
  /** Whether anybody holds it is not known, or it may not be taken; one sentence. */
  | { readonly type: 'Failing'; readonly reason: string }

export interface Lease {
  /** For people and metrics. */
  readonly name: string
  /** Resolves once held; tells `onWait` now and then why it is not yet. Waits through failures; rejects with the signal's reason only. */
  acquire(onWait: (wait: LeaseWait) => void, signal: AbortSignal): Promise<HeldLease>
}
