/**
 * Whether the cluster can be seen, and its heartbeat on the log while it can.
 *
 * What must stay true: no contact, no heartbeat: the time of this cluster stops in the fold. After
 * any loss of contact there is no heartbeat either, and no connection, before the server's version
 * has been compared with the version of a watch: until then the server may be a restored one. It is
 * compared at every heartbeat, too: a watch may stay connected to a server that no longer exists
 * and never break. The connection state in `control` is the one known here.
 */
import { compareVersions } from '../../core/model/object.ts'
import type { Clock } from '../../ports/clock.ts'
import type { WatcherConfig } from './config.ts'
import { within } from './deadline.ts'
import type { IdentityGuard } from './identity.ts'
import { isPassing } from './identity.ts'
import type { KindMonitor } from './kind/kind-monitor.ts'
import type { Reign } from './kind/marks.ts'
import type { Publisher } from './publish/publisher.ts'
import type { Counters } from './status.ts'

/** A kind whose lists are broken must not keep the cluster from being known. */
const COMPARED_KINDS = 3

export interface ConnectionDeps {
  readonly clock: Clock
  readonly config: WatcherConfig
  readonly counters: Counters
  readonly reign: Reign
  readonly identity: IdentityGuard
  readonly publisher: Publisher
  readonly monitors: () => readonly KindMonitor[]
  /** A watch resumes from the watermark of an earlier watcher. */
  readonly isResumed: boolean
  readonly onRewound: () => void
  /** Writes to `control`. */
  readonly write: (connected: boolean, why: string) => Promise<void>
}

export class Connection {
  readonly #deps: ConnectionDeps
  #contactMs: number
  #connected = false
  #reason = 'It has not been reached yet.'
  #isBeatQueued = false
  /**
   * Monotonic: when the cluster was last out of sight, and since when it is known to be no earlier
   * one.
   */
  #lostMs: number
  #comparedMs: number
  #isInDoubt = true
  #toldMs = Number.NEGATIVE_INFINITY
  /** One write at a time: a retried write must not overtake a later one. */
  #turn: Promise<unknown> = Promise.resolve()

  constructor(deps: ConnectionDeps) {
    this.#deps = deps
    this.#contactMs = deps.clock.monotonicMs()
    this.#lostMs = deps.isResumed ? this.#contactMs : Number.NEGATIVE_INFINITY
    this.#comparedMs = this.#contactMs - 1
  }

  get connected(): boolean {
    return this.#connected
  }

  /** Unreachable, or perhaps an earlier version of the cluster: another heartbeat is due soon. */
  get isInDoubt(): boolean {
    return this.#isInDoubt
  }

  /** Why it is not connected. */
  get reason(): string {
    return this.#reason
  }

  async tell(connected: boolean, why: string): Promise<void> {
    this.#connected = connected
    this.#reason = why
    this.#toldMs = this.#deps.clock.monotonicMs()
    const mine = this.#turn.then(() => this.#deps.write(connected, why))
    this.#turn = mine.catch(() => undefined)
    await mine
  }

  /**
   * After another watcher published for it, an earlier one whose write was under way for long; and
   * from time to time.
   */
  async tellAgain(): Promise<void> {
    await this.tell(this.#connected, this.#connected ? '' : this.#reason)
  }

  async beat(signal: AbortSignal): Promise<void> {
    const { clock, config } = this.#deps
    await this.#look(signal)
    if (signal.aborted) return
    // If `control` lost its end, reapers would wait for this record for ever, or believe an older
    // one (F39).
    if (clock.monotonicMs() - this.#toldMs >= config.connectionRepeatMs) await this.tellAgain()
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { clock, config } = this.#deps
    const hasContact = await this.#hasContact(signal)
    if (signal.aborted) return
    if (!hasContact) this.#lostMs = clock.monotonicMs()
    this.#isInDoubt = !hasContact || !(await this.#isSame(signal))
    if (signal.aborted) return
    if (this.#isInDoubt) {
      const isLost = clock.monotonicMs() - this.#contactMs >= config.contactLostMs
      if (isLost && this.#connected) await this.tell(false, this.#reason)
      return
    }
    this.#contactMs = clock.monotonicMs()
    if (!this.#connected) await this.tell(true, '')
    this.#tellBeat()
  }

  /**
   * Whether it is known not to be restored: checked for one kind, the one with the newest version,
   * since all share one count of versions. If no kind can be asked just now, the earlier result
   * counts, unless contact was lost since.
   */
  async #isSame(signal: AbortSignal): Promise<boolean> {
    const { clock, config, monitors, onRewound } = this.#deps
    const all = monitors()
    const brokenMs = Math.max(this.#lostMs, ...all.map((monitor) => monitor.brokenMs))
    const furthest = furthestOn(all)
    const comparedMs = Math.max(this.#comparedMs, furthest[0]?.comparedMs ?? this.#comparedMs)
    const askedMs = clock.monotonicMs()
    for (const monitor of furthest.slice(0, COMPARED_KINDS)) {
      try {
        const limitMs = config.identifyTimeoutMs
        const ask = (limit: AbortSignal): Promise<boolean> => monitor.isRewound(limit)
        if (await within(clock, limitMs, signal, ask)) {
          // Another cluster under the same name counts its own versions (F30); a watch that still
          // delivers proves nothing about the server that answers now.
          if (await this.#identifies(signal)) onRewound()
          // A finding is not forgotten if the server cannot be asked again soon.
          else this.#lostMs = clock.monotonicMs()
          return false
        }
        this.#comparedMs = askedMs
        return true
      } catch (error) {
        if (signal.aborted) return false
        if (!isPassing(error)) throw error
        this.#reason = error.message
      }
    }
    return brokenMs <= comparedMs
  }

  #tellBeat(): void {
    // With a log that does not keep up, heartbeats of the past are worth nothing.
    if (this.#isBeatQueued) return
    const { reign, publisher, monitors, counters } = this.#deps
    const { cluster, epoch } = reign
    const kinds = monitors().map((monitor) => ({
      group: monitor.kind.group,
      kind: monitor.kind.kind,
      ageMs: Math.round(monitor.proofAgeMs),
    }))
    publisher.tell(cluster, { type: 'Heartbeat', cluster, epoch, kinds })
    counters.heartbeats++
    this.#isBeatQueued = true
    const acknowledged = (): void => {
      this.#isBeatQueued = false
    }
    void publisher.settled().then(acknowledged, acknowledged)
  }

  /**
   * Checked each time, so another cluster is noticed within one heartbeat. An overloaded server may
   * still have a watch that delivers.
   */
  async #hasContact(signal: AbortSignal): Promise<boolean> {
    const { config, monitors } = this.#deps
    if (await this.#identifies(signal)) return true
    return !signal.aborted && monitors().some((each) => each.proofAgeMs < config.heartbeatMs)
  }

  /** Whether it returns its identity, and that is the expected one. */
  async #identifies(signal: AbortSignal): Promise<boolean> {
    const { clock, config, identity } = this.#deps
    try {
      await within(clock, config.identifyTimeoutMs, signal, (limit) => identity.check(limit))
      return true
    } catch (error) {
      if (signal.aborted) return false
      if (!isPassing(error)) throw error
      this.#reason = error.message
      return false
    }
  }
}

/**
 * Of those that the cluster itself answers for, as long as there are any: another server counts its
 * own versions.
 */
function furthestOn(monitors: readonly KindMonitor[]): readonly KindMonitor[] {
  const standing = monitors.filter(({ position }) => position !== null)
  const own = standing.filter(({ kind }) => !kind.aggregated)
  const asked = own.length > 0 ? own : standing
  return asked.sort((a, b) => compareVersions(b.position ?? '', a.position ?? '') ?? 0)
}
