/**
 * Makes sure that the cluster at the other end is still the one that is watched (F30, F31).
 *
 * What must stay true: another identity is never a transient failure: it ends the watcher, and only
 * a person starts it again.
 */
import type { ClusterId } from '../../core/model/object.ts'
import type { Cluster } from '../../ports/cluster.ts'
import { ClusterError } from '../../ports/cluster.ts'

export type WatcherErrorCode = 'IDENTITY_CHANGED' | 'DAMAGED_WATERMARK' | 'DAMAGED_ASSIGNMENT'

export class WatcherError extends Error {
  override readonly name = 'WatcherError'
  readonly code: WatcherErrorCode
  readonly remedy = 'stop'

  constructor(code: WatcherErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** The cluster cannot be asked just now; anything else that is thrown is no matter of waiting. */
export function isPassing(error: unknown): error is Error {
  return (
    error instanceof ClusterError ||
    (error instanceof DOMException && error.name === 'TimeoutError')
  )
}

export class IdentityGuard {
  readonly #cluster: Cluster
  readonly #expected: ClusterId

  constructor(cluster: Cluster, expected: ClusterId) {
    this.#cluster = cluster
    this.#expected = expected
  }

  /** Throws `IDENTITY_CHANGED`, or `ClusterError` when the cluster cannot be asked. */
  async check(signal: AbortSignal): Promise<void> {
    const found = await this.#cluster.identify(signal)
    if (found === this.#expected) return
    throw new WatcherError(
      'IDENTITY_CHANGED',
      `"${this.#cluster.name}" now answers as cluster ${found} and not as ${this.#expected}, so it is no longer watched: ` +
        'correct its kubeconfig, or register the new cluster, and start again.',
    )
  }
}
