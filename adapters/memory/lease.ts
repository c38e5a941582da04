/**
 * The lease of a single process: whoever asks for a subject that is held waits until it is given up.
 *
 * What must stay true: every holder's epoch is higher than the one before, and than what the caller knows of.
 *
 * Not here: several processes (a Lease object in the cluster); correctness never rests on any lease.
 */
import type { HeldLease, Lease } from '../../ports/lease.ts'

interface Subject {
  epoch: number
  /** Settles when the last one in the queue has given the subject up. */
  free: Promise<void>
  held: AbortController | undefined
}

export class MemoryLease implements Lease {
  readonly #subjects = new Map<string, Subject>()

  async acquire(subject: string, atLeast: number, signal: AbortSignal): Promise<HeldLease> {
    signal.throwIfAborted()
    const state = this.#subject(subject)
    const before = state.free
    const turn = Promise.withResolvers<void>()
    state.free = before.then(() => turn.promise)
    try {
      await untilAborted(before, signal)
    } catch (error) {
      turn.resolve()
      throw error
    }
    state.epoch = Math.max(state.epoch, atLeast) + 1
    const lost = new AbortController()
    state.held = lost
    return {
      epoch: state.epoch,
      lost: lost.signal,
      async [Symbol.asyncDispose]() {
        if (state.held === lost) state.held = undefined
        turn.resolve()
      },
    }
  }

  /** What a partition of the network does to a holder: it is told, and should give the lease up. */
  revoke(subject: string): void {
    this.#subjects.get(subject)?.held?.abort(new Error(`The lease on ${subject} was revoked.`))
  }

  #subject(name: string): Subject {
    const known = this.#subjects.get(name)
    if (known !== undefined) return known
    const fresh: Subject = { epoch: 0, free: Promise.resolve(), held: undefined }
    this.#subjects.set(name, fresh)
    return fresh
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
