/**
 * Watches one kind: does what its state machine says, and reports to it how that ended.
 *
 * What must stay true: a failure of this kind ends in this kind's own wait. Only what concerns the
 * whole cluster leaves here: another identity, a cluster that was restored, a log that is lost.
 *
 * Not here: the moves (monitor.ts), what is published (telling.ts).
 */
import type { SyncId } from '../../../core/model/id.ts'
import type { ObjectMeta, ResourceVersion } from '../../../core/model/object.ts'
import { isPolicyKind } from '../../../core/model/rule/policy-content.ts'
import { isDefinition } from '../../../core/observe/cause.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Cluster, ClusterErrorCode, WatchEvent, Watched } from '../../../ports/cluster.ts'
import { ClusterError } from '../../../ports/cluster.ts'
import type { Random } from '../../../ports/random.ts'
import { CodecError } from '../../../ports/record/codec.ts'
import { within } from '../deadline.ts'
import { type IdentityGuard, isPassing } from '../identity.ts'
import type { Listing, MonitorInput, MonitorState, Watching } from '../monitor.ts'
import { isShrunken, startOf, step } from '../monitor.ts'
import type { DeletionArchive } from '../publish/deletion-archive.ts'
import type { TellingDeps } from '../publish/telling.ts'
import { isOlder, Telling } from '../publish/telling.ts'
import type { KindStatus, WatcherObserver } from '../status.ts'
import type { ServedKind } from './catalog.ts'
import type { PolicyReads } from './policy-reads.ts'
import type { RelistRequest } from './relist-request.ts'
import { merged } from './relist-request.ts'
import type { Slots } from './slots.ts'

export interface KindMonitorDeps extends TellingDeps {
  readonly server: Cluster
  readonly clock: Clock
  readonly random: Random
  readonly identity: IdentityGuard
  readonly lists: Slots
  readonly observer: WatcherObserver
  readonly archive: DeletionArchive
  readonly policies: PolicyReads
  readonly nextSync: () => SyncId
  /**
   * Time to ask discovery: the kind answers as if it were not served, or a CustomResourceDefinition
   * was created or deleted.
   */
  readonly lookSoon: () => void
  /** The lists of its server have no version to watch from. */
  readonly unwatchable: () => void
}

/** `rewound`: the cluster was restored. */
export type MonitorEnd = 'stopped' | 'rewound'

/** Why an activity was broken off by ourselves. */
const INTERRUPTED = new Error('Something else is to be done first.')
const SILENT = new Error('Nothing came for too long.')

/** After so many a list is tried with another served version, in turn. */
const FAILURES_OF_A_VERSION = 3

/**
 * So many lists in a row without a resourceVersion, and as many of each served version: the kind
 * cannot be watched.
 */
const UNVERSIONED_LISTS = 3

/** Answers of a server that is reachable and healthy. */
const HARMLESS: ReadonlySet<ClusterErrorCode> = new Set(['FORBIDDEN', 'NOT_SERVED', 'THROTTLED'])

type Ending = MonitorInput | 'rewound' | 'interrupted'

export class KindMonitor {
  readonly #deps: KindMonitorDeps
  readonly #telling: Telling
  #kind: ServedKind
  #state: MonitorState
  #since: number
  #reason = ''
  #synced: boolean
  /** It resumes from the watermark of another watcher, and has not listed yet. */
  #isResumed: boolean
  #lastSync: SyncId = 0
  #asked: RelistRequest | null = null
  /**
   * Where the next watcher resumes, while former events are asked for what is archived: else no
   * watcher would ask again.
   */
  #unarchivedFrom: ResourceVersion | null = null
  /** The request that the list under way settles once it is finished. */
  #covering: RelistRequest | null = null
  #activity = new AbortController()
  #finishing = false
  readonly #done = Promise.withResolvers<void>()
  /**
   * Ends what no relist ends: the archiving of deletions that were received, since no list reports
   * them.
   */
  readonly #stopped = new AbortController()
  #keeping: AbortSignal = this.#stopped.signal
  /** Last event, bookmark or page. */
  #proofMs: number
  /** The same, or the beginning of a watch that resumes; and whether there was proof since that. */
  #wordMs: number
  #proved = false
  /** Lists in a row that had no resourceVersion. */
  #unversioned = 0
  /** Which of the served versions is used. */
  #versionTurn = 0
  #listedMs = Number.NEGATIVE_INFINITY
  readonly #firstList = Promise.withResolvers<void>()
  /** How long its last list took. */
  #listMs = 0
  /** When something else was to be read of its objects, and how often; and as of which of these. */
  #rereadMs = Number.NEGATIVE_INFINITY
  #rereads = 0
  #readAs = 0
  /**
   * When it last lost contact with the server; the beginning for one that resumes from a watermark.
   */
  #brokenMs: number
  /** When it last asked for the server's version and found it no earlier one. */
  #comparedMs = Number.NEGATIVE_INFINITY

  constructor(deps: KindMonitorDeps, kind: ServedKind, resumeFrom: ResourceVersion | null) {
    this.#deps = deps
    this.#kind = kind
    this.#telling = new Telling(deps, kind, resumeFrom)
    this.#state = startOf(resumeFrom)
    this.#synced = resumeFrom !== null
    this.#isResumed = resumeFrom !== null
    this.#since = deps.clock.now()
    this.#proofMs = deps.clock.monotonicMs()
    this.#wordMs = this.#proofMs
    this.#brokenMs = resumeFrom === null ? Number.NEGATIVE_INFINITY : this.#proofMs
  }

  get kind(): ServedKind {
    return this.#kind
  }

  /** Other versions, for example; the next call uses them. */
  set kind(kind: ServedKind) {
    this.#kind = kind
    this.#versionTurn = 0
    this.#unversioned = 0
  }

  get isWatching(): boolean {
    return this.#state.phase === 'watching'
  }

  /** Monotonic; when it was last listed by this watcher. */
  get listedMs(): number {
    return this.#listedMs
  }

  /** Resolves when this watcher has listed it once. */
  get firstList(): Promise<void> {
    return this.#firstList.promise
  }

  /** Monotonic; when it last lost sight of the server, which may have been restored since. */
  get brokenMs(): number {
    return this.#brokenMs
  }

  /** Monotonic; when it last asked for the server's version and found it no earlier one. */
  get comparedMs(): number {
    return this.#comparedMs
  }

  /** The version up to which it has published; null before its first list. */
  get position(): ResourceVersion | null {
    return this.#telling.position
  }

  /** Whether the server's version is before the published one. */
  async isRewound(signal: AbortSignal): Promise<boolean> {
    const { position } = this.#telling
    return position !== null && isOlder(await this.#currentVersion(position, signal), position)
  }

  get proofAgeMs(): number {
    return this.#deps.clock.monotonicMs() - this.#proofMs
  }

  /** Place in `control` of the oldest request that no finished list has settled. */
  get unsettledRequest(): bigint | null {
    return merged(this.#asked, this.#covering)?.offset ?? null
  }

  status(): KindStatus {
    return {
      group: this.#kind.group,
      kind: this.#kind.kind,
      resource: this.#kind.resource,
      state: this.#state.phase,
      reason: this.#reason || this.#deps.archive.refusalOf(this.#kind),
      since: this.#since,
      synced: this.#synced,
      objects: this.#telling.objects,
      resourceVersion: this.#telling.position,
      lastProofOfLifeAgeMs: Math.round(this.proofAgeMs),
      lastProofAt: Math.round(this.#deps.clock.now() - this.proofAgeMs),
    }
  }

  /** Asks for a relist that begins after this call. */
  relist(request: RelistRequest): void {
    this.#asked = merged(this.#asked, request)
    if (this.#isGoingOn()) this.#activity.abort(INTERRUPTED)
  }

  /**
   * Something else is read of its objects from here on: until they are listed again, no watcher may
   * resume from its position.
   */
  reread(nowMs: number): void {
    this.#rereads += 1
    this.#rereadMs = nowMs
    this.relist({ full: false, offset: null })
  }

  /** Not all day long, however often policies change. */
  mayReread(nowMs: number): boolean {
    const { rereadMs, rereadShare } = this.#deps.config
    return nowMs - this.#rereadMs >= Math.max(rereadMs, rereadShare * this.#listMs)
  }

  flush(): void {
    this.#telling.flush()
  }

  /**
   * What is published once everything until now is acknowledged; empty before the first list is
   * finished.
   */
  checkpoint(): { readonly resourceVersion: ResourceVersion; readonly sync: SyncId } {
    this.#telling.flush()
    const isReread = this.#rereads === this.#readAs
    const position = this.#unarchivedFrom ?? this.#telling.position ?? ''
    const resourceVersion = isReread ? position : ''
    return { resourceVersion, sync: this.#lastSync }
  }

  /**
   * The kind left discovery: takes what the open watch still delivers, for at most `drainMs`, and
   * stops. Resolves when everything is published.
   */
  async finish(drainMs: number): Promise<void> {
    this.#finishing = true
    if (this.isWatching) {
      const drained = this.#deps.clock.sleep(drainMs, this.#activity.signal)
      await Promise.race([drained, this.#done.promise])
    }
    this.#activity.abort(INTERRUPTED)
    this.#stopped.abort(INTERRUPTED)
    await this.#done.promise
    this.#telling.flush()
  }

  async run(signal: AbortSignal): Promise<MonitorEnd> {
    this.#keeping = AbortSignal.any([signal, this.#stopped.signal])
    try {
      while (!signal.aborted && !(this.#finishing && !this.isWatching)) {
        const ending = await this.#act(signal)
        if (ending === 'rewound') return 'rewound'
        if (this.#finishing) break
        if (ending !== 'interrupted') this.#move(ending)
      }
      return 'stopped'
    } finally {
      this.#done.resolve()
    }
  }

  #move(input: MonitorInput): void {
    const { clock, random, config } = this.#deps
    const before = this.#state
    const moment = { nowMs: clock.monotonicMs(), chance: random.next() }
    this.#state = step(before, input, moment, config)
    if (this.#state.phase !== before.phase) this.#since = clock.now()
  }

  /** Whether a running watch has to end for a relist that was requested. */
  #isGoingOn(): boolean {
    const state = this.#state
    return state.phase === 'waiting' ? state.next.phase === 'watching' : state.phase === 'watching'
  }

  async #act(signal: AbortSignal): Promise<Ending> {
    if (this.#asked !== null && this.#isGoingOn()) return { type: 'RelistAsked' }
    const activity = new AbortController()
    this.#activity = activity
    try {
      return await this.#perform(this.#state, AbortSignal.any([signal, activity.signal]))
    } catch (error) {
      if (signal.aborted) return 'interrupted'
      if (activity.signal.reason === INTERRUPTED) return 'interrupted'
      if (activity.signal.reason === SILENT) return this.#wentSilent()
      if (error instanceof ClusterError) return this.#failed(error)
      if (error instanceof CodecError) return this.#failed(unreadable(error))
      throw error
    } finally {
      activity.abort(INTERRUPTED)
    }
  }

  async #perform(state: MonitorState, signal: AbortSignal): Promise<Ending> {
    switch (state.phase) {
      case 'listing': {
        const from = this.#telling.position
        const ending = await this.#deps.lists.use(() => this.#list(state, signal), signal)
        // Once others may list: only its own kind waits for the archive.
        if (typeof ending === 'object' && ending.type === 'Listed') {
          await this.#archiveUnlisted(from, ending.version, signal)
          this.#unarchivedFrom = null
        }
        return ending
      }
      case 'watching':
        return this.#watch(state, signal)
      case 'expired':
        this.#telling.flush()
        return { type: 'SentOff' }
      case 'waiting': {
        const { clock } = this.#deps
        await clock.sleep(state.untilMs - clock.monotonicMs(), signal)
        return signal.aborted ? 'interrupted' : { type: 'Woke' }
      }
    }
  }

  async #list(state: Listing, signal: AbortSignal): Promise<Ending> {
    const { server, identity, publisher, clock, config, counters, nextSync } = this.#deps
    this.#guard(config.listStallMs)
    await identity.check(signal)
    this.#covering = merged(this.#covering, this.#asked)
    this.#asked = null
    counters.lists++
    const [readAs, begunMs] = [this.#rereads, clock.monotonicMs()]
    const policies: ObjectMeta[] = []
    let version: ResourceVersion | null = null
    const { confirming } = state
    const list = server.list(this.#resource(), config.listPageSize, signal, confirming)
    for await (const page of list) {
      this.#proof()
      if (this.#telling.isBehind(page.resourceVersion)) return await this.#rewound(signal)
      if (version === null) this.#telling.beginSync(nextSync(), this.#covering?.full ?? false)
      version = page.resourceVersion
      for (const object of page.objects) {
        if (this.#telling.listed(object) === 'rewound') return await this.#rewound(signal)
      }
      if (isPolicyKind(this.#kind)) policies.push(...page.objects)
      await publisher.room()
      await clock.sleep(0, signal)
    }
    signal.throwIfAborted()
    if (version === null) throw new ClusterError('UNREADABLE', 'The list ended before it began.')
    const { held: seen, listed } = this.#telling.compared
    // A watcher that resumed from a watermark has not seen the existing objects, and no empty list
    // is believed at once.
    const held = this.#isResumed ? Math.max(seen, 1) : seen
    if (!confirming && isShrunken(held, listed, config)) {
      if (seen === 0) this.#note('info', 'an empty list is taken twice, as any after a restart', {})
      else {
        const message = 'a list is taken twice: it misses much of what was there'
        this.#note('warn', message, { held, listed })
      }
      return { type: 'Shrunken' }
    }
    await identity.check(signal)
    if (this.#deps.archive.takes(this.#kind)) this.#unarchivedFrom ??= this.#telling.position
    this.#finishList(version)
    this.#listMs = clock.monotonicMs() - begunMs
    this.#readAs = readAs
    this.#deps.policies.listed(this.#kind, policies)
    this.#firstList.resolve()
    return { type: 'Listed', version }
  }

  /**
   * The relist broke the watch off, or came after one that ended: the server may still have the
   * DELETED events in between. They are for the archive alone: what follows from the list is
   * published.
   */
  async #archiveUnlisted(
    from: ResourceVersion | null,
    until: ResourceVersion,
    signal: AbortSignal,
  ): Promise<void> {
    const { server, archive, clock, config } = this.#deps
    const left = new Set(this.#telling.takeUnlisted())
    if (from === null || left.size === 0 || !archive.takes(this.#kind)) return
    try {
      await within(clock, config.unlistedMs, signal, async (limit) => {
        for await (const events of server.watch(this.#resource(), from, limit)) {
          const deleted = events.filter((event) => event.type === 'Deleted')
          const missed = deleted.filter(({ object }) => left.has(object.uid))
          await archive.keep(missed, this.#keeping)
          for (const { object } of missed) left.delete(object.uid)
          this.#proof()
          if (left.size === 0 || events.some((event) => isOlder(until, versionOf(event)))) return
        }
      })
    } catch (error) {
      if (signal.aborted || !isPassing(error)) throw error
    }
    if (left.size > 0) archive.missed(this.#kind, left.size)
  }

  /**
   * Another cluster under the same name counts its own versions (F30): the server that answers now
   * is asked once more.
   */
  async #rewound(signal: AbortSignal): Promise<'rewound'> {
    await this.#deps.identity.check(signal)
    return 'rewound'
  }

  #finishList(version: ResourceVersion): void {
    this.#lastSync = this.#telling.finishSync(version)
    this.#covering = null
    this.#unversioned = 0
    this.#isResumed = false
    this.#listedMs = this.#deps.clock.monotonicMs()
    this.#synced = true
    this.#reason = ''
    // A list may contain what no watch reports: CustomResourceDefinitions created, or deleted,
    // before it.
    if (isDefinition(this.#kind)) this.#deps.lookSoon()
  }

  async #watch(state: Watching, signal: AbortSignal): Promise<Ending> {
    const { server, identity, clock, config, counters, lookSoon } = this.#deps
    this.#guard(config.watchSilenceMs)
    await identity.check(signal)
    if (state.check) {
      const current = await this.#currentVersion(state.from, signal)
      if (isOlder(current, state.from)) return await this.#rewound(signal)
      // Nothing has happened since.
      if (current === state.from) this.#proof()
    }
    counters.watches++
    const openedMs = clock.monotonicMs()
    for await (const events of server.watch(this.#resource(), state.from, signal)) {
      if (events.length > 0) this.#proof()
      if (isDefinition(this.#kind) && events.some(isNews)) lookSoon()
      if ((await this.#take(events, signal)) === 'doubted') return { type: 'Doubted' }
    }
    signal.throwIfAborted()
    const livedMs = clock.monotonicMs() - openedMs
    return { type: 'Ended', at: this.#at(), proved: this.#proved, livedMs }
  }

  async #currentVersion(from: ResourceVersion, signal: AbortSignal): Promise<ResourceVersion> {
    const { server, clock } = this.#deps
    const askedMs = clock.monotonicMs()
    const current = await server.currentVersion(this.#resource(), signal)
    if (!isOlder(current, from)) this.#comparedMs = askedMs
    return current
  }

  async #take(events: readonly WatchEvent[], signal: AbortSignal): Promise<'fine' | 'doubted'> {
    const { publisher, clock, config, archive } = this.#deps
    await archive.keep(events, this.#keeping)
    for (const [index, event] of events.entries()) {
      if (this.#telling.watched(event) !== 'fine') return 'doubted'
      // A burst that was buffered must not block everything else.
      if ((index + 1) % config.listPageSize === 0) await clock.sleep(0, signal)
    }
    // Objects that are read for a rule are published after it.
    this.#deps.policies.took(events)
    await publisher.room()
    return 'fine'
  }

  #failed(error: ClusterError): MonitorInput {
    const { counters, lookSoon, unwatchable } = this.#deps
    counters.failures++
    if (!HARMLESS.has(error.code)) this.#brokenMs = this.#deps.clock.monotonicMs()
    this.#reason = `${error.code}: ${error.message}`
    this.#note('warn', 'a monitor failed', { code: error.code, error: error.message })
    if (error.remedy === 'give-up') lookSoon()
    this.#unversioned = error.code === 'UNVERSIONED' ? this.#unversioned + 1 : 0
    const { versions } = this.#kind
    if (this.#unversioned === UNVERSIONED_LISTS * versions.length) unwatchable()
    if (this.#isVersionUsedUp()) this.#versionTurn++
    const at = this.isWatching ? this.#at() : null
    return { type: 'Failed', at, code: error.code, retryAfterMs: error.retryAfterMs }
  }

  /**
   * A dead conversion webhook breaks the lists of one version only; and a resourceVersion that one
   * lacks, another may have.
   */
  #isVersionUsedUp(): boolean {
    if (this.#unversioned > 0) return this.#unversioned % UNVERSIONED_LISTS === 0
    const { phase, trouble } = this.#state
    return phase === 'listing' && trouble.failures >= FAILURES_OF_A_VERSION
  }

  #wentSilent(): MonitorInput {
    this.#note('warn', 'a monitor went silent', {})
    this.#brokenMs = this.#deps.clock.monotonicMs()
    if (this.isWatching) {
      return { type: 'Silent', at: this.#at(), proved: this.#proved }
    }
    return this.#failed(new ClusterError('UNREACHABLE', 'The list brought no page for too long.'))
  }

  #at(): ResourceVersion {
    return this.#telling.position ?? ''
  }

  #resource(): Watched {
    const { group, kind, resource, scope, versions } = this.#kind
    const version = versions[this.#versionTurn % versions.length] ?? ''
    const whole = this.#deps.archive.takes(this.#kind)
    return { group, kind, resource, scope, version, whole }
  }

  #proof(): void {
    this.#proofMs = this.#deps.clock.monotonicMs()
    this.#wordMs = this.#proofMs
    this.#proved = true
    this.#reason = ''
  }

  /** Breaks the current activity off when nothing arrives for this long. */
  #guard(limitMs: number): void {
    const { clock } = this.#deps
    const activity = this.#activity
    this.#wordMs = clock.monotonicMs()
    this.#proved = false
    const watchdog = async (): Promise<void> => {
      while (!activity.signal.aborted) {
        const quietMs = clock.monotonicMs() - this.#wordMs
        if (quietMs >= limitMs) activity.abort(SILENT)
        else await clock.sleep(limitMs - quietMs, activity.signal)
      }
    }
    void watchdog()
  }

  #note(
    level: 'info' | 'warn',
    message: string,
    fields: Readonly<Record<string, string | number>>,
  ): void {
    const { group, kind } = this.#kind
    this.#deps.observer.note(level, message, {
      cluster: this.#deps.server.name,
      group,
      kind,
      ...fields,
    })
  }
}

function versionOf(event: WatchEvent): ResourceVersion {
  return event.type === 'Bookmark' ? event.resourceVersion : event.object.resourceVersion
}

function isNews({ type }: WatchEvent): boolean {
  return type !== 'Bookmark'
}

/** An object that no record can hold: its kind waits, the others continue. */
function unreadable(error: CodecError): ClusterError {
  return new ClusterError('UNREADABLE', error.message, { cause: error })
}
