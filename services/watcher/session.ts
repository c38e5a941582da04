/**
 * One term of a lease over a cluster: from `WatcherStarted` with a new epoch until the end, the
 * loss of the lease, or a restore of the cluster.
 *
 * What must stay true: nothing is published before the cluster's partition has acknowledged
 * `WatcherStarted`, and the epoch is on the log before that, so no later watcher takes it again.
 *
 * Not here: which epoch and partition it is (watcher.ts), the watch of a kind (kind-monitor.ts).
 */
import type { Cluster } from '../../ports/cluster.ts'
import type { Produced } from '../../ports/log.ts'
import type { Codec } from '../../ports/record/codec.ts'
import { projectionDigest } from '../../ports/record/projection.ts'
import { confirmAssignment } from './assignment.ts'
import { Bridging } from './bridging.ts'
import { Connection } from './connection.ts'
import { ControlReader, type RelistAsked } from './control-reader.ts'
import { within } from './deadline.ts'
import { IdentityGuard, WatcherError } from './identity.ts'
import { type KnownKind, kindKey } from './kind/catalog.ts'
import type { KindMonitor, MonitorEnd } from './kind/kind-monitor.ts'
import { KindRoster } from './kind/kind-roster.ts'
import { MarkWriter } from './kind/mark-writer.ts'
import type { KindMark, Reign } from './kind/marks.ts'
import { connectionRecord, projectionBy, type Reading, readReading } from './kind/marks.ts'
import { type PolicyReads, rereadOf } from './kind/policy-reads.ts'
import { Scope } from './kind/scope.ts'
import { Slots } from './kind/slots.ts'
import { type ArchivedKinds, DeletionArchive } from './publish/deletion-archive.ts'
import { Lag } from './publish/lag.ts'
import type { LogDeps } from './publish/log-retry.ts'
import { appendUntilDone, untilDone } from './publish/log-retry.ts'
import { Deletions } from './publish/memory.ts'
import { Publisher } from './publish/publisher.ts'
import type {
  Counters,
  ElsewhereStatus,
  KindStatus,
  UnwatchedKind,
  WatcherObserver,
} from './status.ts'

export interface SessionDeps extends LogDeps {
  readonly server: Cluster
  readonly codec: Codec
  readonly observer: WatcherObserver
  readonly counters: Counters
  /** Of the cluster's own objects: what they say is read of other ones. */
  readonly policies: PolicyReads
  /** Undefined: no deletion is archived because it was observed. */
  readonly archived: ArchivedKinds | undefined
}

/**
 * - `reprojected`: something else has to be published of objects, so each kind that this concerns
 * has to be listed again. The next session resumes the others (marks.ts).
 */
export type SessionEnd = 'stopped' | 'rewound' | 'reprojected'

type Loop = (signal: AbortSignal) => Promise<void>

/** A sync's number is its epoch times this, plus a counter. */
const SYNCS_PER_EPOCH = 1_000_000
/** What its server's clock says is asked once at the start, and not waited for longer. */
const SERVER_TIME_MS = 5_000

export class Session {
  readonly reign: Reign
  readonly #deps: SessionDeps
  readonly #read: readonly KindMark[]
  readonly #signal: AbortSignal
  readonly #scope: Scope
  readonly #lag: Lag
  /** Ends appends that are still under way. */
  readonly #cut = new AbortController()
  readonly #publisher: Publisher
  readonly #roster: KindRoster
  readonly #connection: Connection
  readonly #marks: MarkWriter
  readonly #lists: Slots
  readonly #bridging: Bridging
  /** Offset at which we last published the connection. */
  #toldAt = -1n
  #syncs = 0
  #end: SessionEnd = 'stopped'

  /** `read`: the marks of earlier watchers. */
  constructor(deps: SessionDeps, reign: Reign, read: readonly KindMark[], signal: AbortSignal) {
    this.reign = reign
    this.#deps = deps
    this.#read = read
    this.#signal = signal
    this.#scope = new Scope(signal)
    this.#lag = new Lag(deps)
    const { cluster, epoch, partition, reading } = reign
    const publisher = new Publisher({ ...deps, lag: this.#lag, partition }, this.#cut.signal)
    const identity = new IdentityGuard(deps.server, cluster)
    const shared = { ...deps, reign, publisher, identity }
    this.#publisher = publisher
    this.#lists = new Slots(deps.config.concurrentLists)
    this.#bridging = new Bridging({
      ...{ ...deps, cluster, epoch, reading, lists: this.#lists },
      publish: (event) => publisher.tell(cluster, event),
      room: () => publisher.room(),
      watching: () => this.#roster,
    })
    this.#roster = this.#newRoster(publisher, identity)
    this.#connection = new Connection({
      ...shared,
      // Before discovery has answered it is unknown which of them has the newest version.
      monitors: () => (this.#roster.hasAnswer ? this.#roster.monitors : []),
      isResumed: read.some((mark) => mark.resourceVersion !== ''),
      onRewound: () => this.#monitorEnded('rewound'),
      write: (connected, why) => this.#writeConnection(connected, why),
    })
    this.#marks = new MarkWriter({
      ...shared,
      append: (records) => this.#append('watermarks', records),
    })
  }

  get connected(): boolean {
    return this.#connection.connected
  }

  get reason(): string {
    const { hasAnswer, reason } = this.#roster
    // Without its first answer the watcher can only start, and that is what is in the way.
    return this.connected || (!hasAnswer && reason !== '') ? reason : this.#connection.reason
  }

  kinds(): readonly KindStatus[] {
    return this.#roster.monitors.map((monitor) => monitor.status())
  }

  unwatched(): readonly UnwatchedKind[] {
    return this.#roster.unwatched.map(({ group, kind, resource, reason }) => {
      return { group, kind, resource, reason }
    })
  }

  elsewhere(): readonly ElsewhereStatus[] {
    return this.#bridging.status()
  }

  /** `abandon`: the lease is lost, so nothing more is to be written. */
  async run(abandon: AbortSignal): Promise<SessionEnd> {
    const closed = new AbortController()
    const cut = (): void => void this.#cutAfterGrace(closed.signal, abandon)
    this.#signal.addEventListener('abort', cut, { once: true })
    if (this.#signal.aborted) cut()
    try {
      const control = await this.#begin()
      for (const loop of this.#loops(control)) this.#scope.start(loop)
      await this.#scope.ended()
      if (!abandon.aborted) await this.#close(control)
      return this.#end
    } catch (error) {
      if (this.#signal.aborted) return 'stopped'
      // No reaper may act on a cluster that is another one now: that is published to the log while
      // it still can be.
      if (error instanceof WatcherError) await this.#connection.tell(false, error.message)
      throw error
    } finally {
      closed.abort()
      this.#scope.end()
      this.#cut.abort(new Error('This reign of the watcher is over.'))
      this.#signal.removeEventListener('abort', cut)
    }
  }

  async #begin(): Promise<ControlReader> {
    const { log, codec, server } = this.#deps
    const { cluster, epoch, clusterEpoch } = this.reign
    const open = (): Promise<ControlReader> => ControlReader.open(log, codec, cluster)
    const control = await untilDone(this.#deps, open, this.#cut.signal)
    await this.#connection.tell(false, 'its watcher is starting')
    await this.#marks.begin(this.#read)
    this.#publisher.tell(cluster, {
      type: 'WatcherStarted',
      cluster,
      name: server.name,
      epoch,
      clusterEpoch,
      serverTime: await this.#serverTime(),
    })
    await this.#publisher.settled()
    return control
  }

  /** Null where the server does not say: the fold then knows what objects show. */
  async #serverTime(): Promise<number | null> {
    const { clock, server } = this.#deps
    const ask = async (signal: AbortSignal): Promise<number | null> =>
      await server.clockSkewMs(signal)
    const skewMs = await within(clock, SERVER_TIME_MS, this.#cut.signal, ask).catch(() => null)
    return skewMs === null ? null : clock.now() + skewMs
  }

  #loops(control: ControlReader): readonly Loop[] {
    const { config } = this.#deps
    return [
      (signal) => this.#beat(signal),
      (signal) => this.#roster.follow(signal),
      this.#every(config.awakeMs, async () => this.#lag.tick()),
      this.#every(config.touchedMs, () => this.#sendTouched()),
      this.#every(config.watermarkMs, () => this.#writeMarks(control)),
      this.#every(config.controlPollMs, (signal) => this.#heed(control, signal)),
      this.#every(config.controlPollMs, (signal) => this.#heedOrders(control, signal)),
      this.#every(config.controlPollMs, async () => this.#reread()),
      this.#every(config.assignmentMs, (signal) => this.#confirmAssignment(signal)),
      (signal) => this.#relistInTurn(signal),
      (signal) => this.#bridging.run(signal),
    ]
  }

  /**
   * Publishes the rest, and the positions. After a rewind there are no positions, and that is
   * published.
   */
  async #close(control: ControlReader): Promise<void> {
    await this.#publisher.settled()
    if (this.#end === 'rewound') return await this.#tellRewound()
    await this.#writeMarks(control)
    await this.#connection.tell(false, 'its watcher stopped')
  }

  /**
   * The next watcher, here or elsewhere, begins another epoch of the cluster; and until then no
   * reaper acts on it.
   */
  async #tellRewound(): Promise<void> {
    const { cluster, clusterEpoch } = this.reign
    const why = 'the cluster went back in time'
    const control = { cluster, number: clusterEpoch + 1, connected: false, why }
    await this.#append('control', [connectionRecord(this.#deps.codec, control)])
  }

  async #cutAfterGrace(closed: AbortSignal, abandon: AbortSignal): Promise<void> {
    if (!abandon.aborted) await this.#deps.clock.sleep(this.#deps.config.stopMs, closed)
    this.#cut.abort(new Error('The log took too long to take what was left.'))
  }

  #every(periodMs: number, work: Loop): Loop {
    const { clock } = this.#deps
    return async (signal) => {
      while (!signal.aborted) {
        const begunMs = clock.monotonicMs()
        await work(signal)
        await clock.sleep(Math.max(0, periodMs - (clock.monotonicMs() - begunMs)), signal)
      }
    }
  }

  /**
   * Sooner while the server is untrusted: until that is settled, time stops and nothing is reaped.
   */
  async #beat(signal: AbortSignal): Promise<void> {
    const { clock, config } = this.#deps
    while (!signal.aborted) {
      const begunMs = clock.monotonicMs()
      await this.#connection.beat(signal)
      const { connected, isInDoubt } = this.#connection
      const periodMs = isInDoubt && !connected ? config.doubtMs : config.heartbeatMs
      await clock.sleep(Math.max(0, periodMs - (clock.monotonicMs() - begunMs)), signal)
    }
  }

  async #sendTouched(): Promise<void> {
    for (const monitor of this.#roster.monitors) monitor.flush()
    await this.#publisher.room()
  }

  async #writeMarks(control: ControlReader): Promise<void> {
    const write = (): Promise<void> => this.#marks.write(this.#roster, control)
    await untilDone(this.#deps, write, this.#cut.signal)
  }

  async #confirmAssignment(signal: AbortSignal): Promise<void> {
    const { monitors, hasAnswer } = this.#roster
    const objects = monitors.reduce((sum, monitor) => sum + monitor.status().objects, 0)
    // A kind that resumed from a watermark has seen only the changes since.
    const isWhole = hasAnswer && monitors.every(({ listedMs }) => Number.isFinite(listedMs))
    const { cluster, partition } = this.reign
    const own = { cluster, partition, name: this.#deps.server.name }
    await confirmAssignment(this.#deps, own, { objects, isWhole }, signal)
  }

  /** Requests for kinds that are not known yet wait for discovery. */
  async #heed(control: ControlReader, signal: AbortSignal): Promise<void> {
    if (!this.#roster.hasAnswer) return
    const take = ({ kind, offset }: RelistAsked): void => {
      this.#roster.relist(kind === null ? null : kindKey(kind), { full: true, offset })
    }
    await control.requests(this.#deps.config, take, signal)
    if (control.connectionAt > this.#toldAt) await this.#connection.tellAgain()
  }

  async #heedOrders(control: ControlReader, signal: AbortSignal): Promise<void> {
    if (!this.#roster.hasAnswer) return
    if (control.takeProjected()) await this.#endIfReprojected()
    await control.orders(this.#deps.config, signal)
    if (control.takeProjected()) await this.#endIfReprojected()
  }

  async #endIfReprojected(): Promise<void> {
    const { log, codec } = this.#deps
    const { cluster, reading } = this.reign
    const read = (): Promise<Reading> => readReading(log, codec, cluster)
    const now = await untilDone(this.#deps, read, this.#cut.signal)
    const digestOf = (each: Reading): string => projectionDigest(projectionBy(each, []))
    if (digestOf(now) === digestOf(reading)) return this.#bridging.follow(now)
    this.#end = 'reprojected'
    this.#scope.end()
  }

  /**
   * What is read of objects follows the cluster's policies: the kinds concerned are listed anew,
   * the session and all other kinds go on.
   */
  #reread(): void {
    const { policies, server, clock } = this.#deps
    if (!this.#roster.hasAnswer) return
    const term = this.reign
    const nowMs = clock.monotonicMs()
    const wanted = projectionBy(term.reading, policies.rules)
    const next = rereadOf(term.projection, wanted, (kind) => this.#roster.mayReread(kind, nowMs))
    if (next.kinds.length === 0) return
    term.projection = next.projection
    server.project(next.projection)
    for (const kind of next.kinds) this.#roster.reread(kind, nowMs)
  }

  /**
   * Spread over the time in which each is to be listed once. A kind whose lists take long, or hang,
   * delays no other one.
   */
  async #relistInTurn(signal: AbortSignal): Promise<void> {
    const { clock, config, random } = this.#deps
    while (!signal.aborted) {
      const { monitors } = this.#roster
      const pauseMs =
        monitors.length === 0 ? config.discoveryMs : config.antiEntropyMs / monitors.length
      await clock.sleep(pauseMs, signal)
      if (signal.aborted || this.#lists.isFull) continue
      const watching = this.#roster.monitors.filter((monitor) => monitor.isWatching)
      listedLongestAgo(watching, random.next())?.relist({ full: false, offset: null })
    }
  }

  #monitorEnded(end: MonitorEnd): void {
    if (end !== 'rewound') return
    this.#deps.counters.rewinds++
    this.#end = 'rewound'
    this.#scope.end()
  }

  #newRoster(publisher: Publisher, identity: IdentityGuard): KindRoster {
    const { cluster, epoch } = this.reign
    const deps = {
      ...this.#deps,
      cluster,
      epoch,
      publisher,
      identity,
      deletions: new Deletions(this.#deps.config.deletedUids),
      onlooker: this.#bridging,
      archive: new DeletionArchive({ ...this.#deps, cluster, lag: this.#lag }, this.#deps.archived),
      lists: this.#lists,
      nextSync: () => epoch * SYNCS_PER_EPOCH + ++this.#syncs,
      remember: (kinds: readonly KnownKind[]) => this.#marks.remember(kinds),
    }
    return new KindRoster(deps, this.#scope, this.#read, (end) => this.#monitorEnded(end))
  }

  async #writeConnection(connected: boolean, why: string): Promise<void> {
    const { cluster, clusterEpoch } = this.reign
    const control = { cluster, number: clusterEpoch, connected, why }
    this.#toldAt = await this.#append('control', [connectionRecord(this.#deps.codec, control)])
  }

  #append(topic: 'control' | 'watermarks', records: readonly Produced[]): Promise<bigint> {
    return appendUntilDone(this.#deps, topic, 0, records, this.#cut.signal)
  }
}

/**
 * Those that were never listed come first, in no order: a watcher that restarts often must not
 * begin with the same one each time.
 */
function listedLongestAgo(
  monitors: readonly KindMonitor[],
  chance: number,
): KindMonitor | undefined {
  const oldestMs = Math.min(...monitors.map((monitor) => monitor.listedMs))
  const oldest = monitors.filter((monitor) => monitor.listedMs === oldestMs)
  return oldest[Math.floor(chance * oldest.length)]
}
