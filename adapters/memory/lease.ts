/**
 * The lease of a single process: a caller that asks while it is held waits until it is given up.
 *
 * What must stay true: every epoch is higher than the one before, and than the one that the caller
 * knows.
 *
 * Not here: several processes (a Lease object in the cluster); correctness never rests on any
 * lease.
 */
import type { HeldLease, Lease, LeaseWait } from '../../ports/lease.ts'

export class MemoryLease implements Lease {
  readonly name: string
  #epoch = 0
  /** Settles when the last one in the queue has given it up. */
  #free: Promise<void> = Promise.resolve()
  #held: AbortController | undefined

  constructor(name: string = 'memory') {
    this.name = name
  }

  async acquire(onWait: (wait: LeaseWait) => void, signal: AbortSignal): Promise<HeldLease> {
    signal.throwIfAborted()
    const before = this.#free
    const turn = Promise.withResolvers<void>()
    this.#free = before.then(() => turn.promise)
    if (this.#held !== undefined) onWait({ type: 'HeldBy', holder: 'this process' })
    try {
      await untilAborted(before, signal)
    } catch (error) {
      turn.resolve()
      throw error
    }
    const lost = new AbortController()
    this.#held = lost
    return {
      lost: lost.signal,
      check: () => lost.signal.throwIfAborted(),
      nextEpoch: async (atLeast, until) => {
        lost.signal.throwIfAborted()
        until.throwIfAborted()
        this.#epoch = Math.max(this.#epoch, atLeast) + 1
        return this.#epoch
      },
      [Symbol.asyncDispose]: async () => {
        if (this.#held === lost) this.#held = undefined
        turn.resolve()
      },
    }
  }

  /** What a network partition does to a holder: it is notified, and should give the lease up. */
  revoke(): void {
    this.#held?.abort(new Error(`The lease ${this.name} was revoked.`))
  }
}

async function untilAborted(wait: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<never>()
  const abort = (): void => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    await Promise.race([wait, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
