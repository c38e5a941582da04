/**
 * Port: who may watch a cluster. A lease is no lock: correctness rests on the epoch, which the fold compares.
 *
 * Guarantees: `epoch` is higher than any earlier holder's; `lost` aborts when the lease may be somebody else's.
 */
export interface HeldLease extends AsyncDisposable {
  readonly epoch: number
  readonly lost: AbortSignal
}

export interface Lease {
  /** Resolves once held. `atLeast` is the highest epoch known from watermarks. */
  acquire(subject: string, atLeast: number, signal: AbortSignal): Promise<HeldLease>
}
