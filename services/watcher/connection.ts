/**
 * Whether the cluster can be seen, and its heartbeat on the log while it can.
 *
 * What must stay true: no contact, no heartbeat: time of this cluster stands still in the fold. What `control` says of the connection is what is
 * known here.
 */
import type { Clock } from '../../ports/clock.ts'
import type { WatcherConfig } from './config.ts'
import { within } from './deadline.ts'
import type { IdentityGuard } from './identity.ts'
import { isPassing } from './identity.ts'
import type { KindMonitor } from './kind-monitor.ts'
import type { Reign } from './marks.ts'
import type { Publisher } from './publisher.ts'
import type { Counters } from './status.ts'

export interface ConnectionDeps {
  readonly clock: Clock
  readonly config: WatcherConfig
  readonly counters: Counters
  readonly reign: Reign
  readonly identity: IdentityGuard
  readonly publisher: Publisher
  readonly monitors: () => readonly KindMonitor[]
  /** Writes to `control`. */
  readonly write: (connected: boolean, why: string) => Promise<void>
}

export class Connection {
  readonly #deps: ConnectionDeps
  #contactMs: number
  #connected = false
  #reason = 'It has not been reached yet.'
  #isBeatQueued = false

  constructor(deps: ConnectionDeps) {
    this.#deps = deps
    this.#contactMs = deps.clock.monotonicMs()
  }

  get connected(): boolean {
    return this.#connected
  }

  /** Why it is not connected. */
  get reason(): string {
    return this.#reason
  }

  async tell(connected: boolean, why: string): Promise<void> {
    this.#connected = connected
    this.#reason = why
    await this.#deps.write(connected, why)
  }

  async beat(signal: AbortSignal): Promise<void> {
    const { clock, config } = this.#deps
    const hasContact = await this.#hasContact(signal)
    if (signal.aborted) return
    if (!hasContact) {
      const isLost = clock.monotonicMs() - this.#contactMs >= config.contactLostMs
      if (isLost && this.#connected) await this.tell(false, this.#reason)
      return
    }
    this.#contactMs = clock.monotonicMs()
    if (!this.#connected) await this.tell(true, '')
    this.#tellBeat()
  }

  #tellBeat(): void {
    // With a log that does not keep up, the beats of the past are worth nothing.
    if (this.#isBeatQueued) return
    const { reign, publisher, monitors, counters } = this.#deps
    const { cluster, epoch } = reign
    const kinds = monitors().map((monitor) => ({
      group: monitor.kind.group,
      kind: monitor.kind.kind,
      ageMs: Math.round(monitor.proofAgeMs),
    }))
    publisher.broadcast(cluster, { type: 'Heartbeat', cluster, epoch, kinds })
    counters.heartbeats++
    this.#isBeatQueued = true
    const acknowledged = (): void => {
      this.#isBeatQueued = false
    }
    void publisher.settled().then(acknowledged, acknowledged)
  }

  /** Asked each time, so another cluster is noticed within a beat. An overloaded server may still have a watch that speaks. */
  async #hasContact(signal: AbortSignal): Promise<boolean> {
    const { clock, config, identity, monitors } = this.#deps
    try {
      await within(clock, config.identifyTimeoutMs, signal, (limit) => identity.check(limit))
      return true
    } catch (error) {
      if (signal.aborted) return false
      if (!isPassing(error)) throw error
      this.#reason = error.message
      return monitors().some((monitor) => monitor.proofAgeMs < config.heartbeatMs)
    }
  }
}
