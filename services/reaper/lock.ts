/**
 * Whether each cluster refuses Kinfold's account what it must never do (the second lock), tried
 * again periodically.
 *
 * What must stay true: where the lock is required, no command takes effect but while it was proven
 * within its time; not knowing is not having. A try never has an effect of its own.
 *
 * Not here: the calls that have to be refused (the cluster's adapter), the limits of a command
 * without the lock (gate.ts).
 */
import type { ClusterId } from '../../core/model/object.ts'
import type { Clock } from '../../ports/clock.ts'
import { type Cluster, ClusterError, type LockAnswer } from '../../ports/cluster.ts'
import { joining } from '../../runtime/lifecycle.ts'

/**
 * `required`: without it commands are only dry runs. `optional`: it is checked, and reported.
 * `off`: it is not checked.
 */
export type LockWanted = 'required' | 'optional' | 'off'

export interface LockBounds {
  /** Between two tries while no command waits for it: it may be removed, or installed. */
  readonly lockCheckMs: number
  /** The same while it is required and not enforced, or not known to be. */
  readonly lockRetryMs: number
  /** After a try that shows neither, such as a timeout, the last result is valid for this long. */
  readonly lockProofMs: number
  /** A try that takes longer shows neither. */
  readonly lockTryMs: number
}

export interface LockStatus {
  readonly cluster: ClusterId
  readonly name: string
  readonly state: 'in force' | 'absent' | 'unknown'
  /** Why it is not enforced. */
  readonly reason: string
  readonly isRequired: boolean
}

export interface Locks {
  /** Until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>
  /** Why commands to the cluster may only be dry runs; undefined when they may take effect. */
  lacking(cluster: ClusterId): string | undefined
  /** It is required, and was not tried yet. */
  isAwaited(cluster: ClusterId): boolean
  status(): readonly LockStatus[]
}

/** `id` is the identity that the endpoint must prove. */
interface Connected {
  readonly id: ClusterId
  readonly cluster: Cluster
}

export interface LockParts {
  /** Those connected so far. */
  readonly clusters: () => readonly Connected[]
  readonly wanted: LockWanted
  readonly clock: Clock
  readonly bounds: LockBounds
  /** The state of a cluster's lock is another than before. */
  readonly onChange: (status: LockStatus) => void
}

interface Known {
  readonly answer: LockAnswer
  /** Monotonic; of the last time that it was found to be enforced. */
  readonly provenAt: number
}

/** How often clusters that have connected since are checked. */
const CONNECTED_EVERY_MS = 250

export function createLocks(parts: LockParts): Locks {
  return new Tried(parts)
}

class Tried implements Locks {
  readonly #parts: LockParts
  readonly #known = new Map<ClusterId, Known>()

  constructor(parts: LockParts) {
    this.#parts = parts
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clusters, wanted, clock } = this.#parts
    if (wanted === 'off') return
    const begun = new Set<ClusterId>()
    await joining(async (begin, either) => {
      while (!either.aborted) {
        for (const each of clusters()) {
          if (begun.has(each.id)) continue
          begun.add(each.id)
          begin((until) => this.#follow(each, until))
        }
        await clock.sleep(CONNECTED_EVERY_MS, either)
      }
    }, signal)
  }

  lacking(cluster: ClusterId): string | undefined {
    if (this.#parts.wanted !== 'required') return undefined
    const known = this.#known.get(cluster)
    if (known !== undefined && this.#isProven(known)) return undefined
    return `the lock is required, and ${reasonOf(known)}`
  }

  isAwaited(cluster: ClusterId): boolean {
    return this.#parts.wanted === 'required' && !this.#known.has(cluster)
  }

  status(): readonly LockStatus[] {
    const { clusters, wanted } = this.#parts
    if (wanted === 'off') return []
    return clusters().map((each) => this.#statusOf(each))
  }

  async #follow(connected: Connected, signal: AbortSignal): Promise<void> {
    const { wanted, clock, bounds, onChange } = this.#parts
    let told = ''
    while (!signal.aborted) {
      const answer = await this.#try(connected, signal)
      if (signal.aborted) return
      const provenAt =
        answer.type === 'Locked'
          ? clock.monotonicMs()
          : (this.#known.get(connected.id)?.provenAt ?? Number.NEGATIVE_INFINITY)
      // A try that shows neither changes nothing; one that shows its absence counts at once.
      const isOpen = answer.type === 'Open'
      const since = isOpen ? Number.NEGATIVE_INFINITY : provenAt
      this.#known.set(connected.id, { answer, provenAt: since })
      const status = this.#statusOf(connected)
      if (status.state !== told) onChange(status)
      told = status.state
      const isUrgent = wanted === 'required' && answer.type !== 'Locked'
      await clock.sleep(isUrgent ? bounds.lockRetryMs : bounds.lockCheckMs, signal)
    }
  }

  async #try({ id, cluster }: Connected, signal: AbortSignal): Promise<LockAnswer> {
    const { clock, bounds } = this.#parts
    const late = new AbortController()
    const done = new AbortController()
    void clock.sleep(bounds.lockTryMs, AbortSignal.any([signal, done.signal])).then(() => {
      if (!done.signal.aborted) late.abort(new Error('The server took too long.'))
    })
    try {
      const either = AbortSignal.any([signal, late.signal])
      const seen = await cluster.identify(either)
      if (seen === id) return await cluster.probeLock(either)
      return { type: 'Unknown', reason: `the endpoint is another cluster, ${seen}` }
    } catch (error) {
      if (!late.signal.aborted && !signal.aborted && !(error instanceof ClusterError)) throw error
      return { type: 'Unknown', reason: error instanceof Error ? error.message : String(error) }
    } finally {
      done.abort()
    }
  }

  #isProven({ provenAt }: Known): boolean {
    return this.#parts.clock.monotonicMs() - provenAt < this.#parts.bounds.lockProofMs
  }

  #statusOf({ id, cluster }: Connected): LockStatus {
    const known = this.#known.get(id)
    const isRequired = this.#parts.wanted === 'required'
    const about = { cluster: id, name: cluster.name, isRequired }
    if (known !== undefined && this.#isProven(known)) {
      return { ...about, state: 'in force', reason: '' }
    }
    const state = known?.answer.type === 'Open' ? 'absent' : 'unknown'
    return { ...about, state, reason: reasonOf(known) }
  }
}

function reasonOf(known: Known | undefined): string {
  if (known === undefined) return 'it was not tried yet'
  return known.answer.type === 'Locked' ? 'its proof is too old' : known.answer.reason
}
