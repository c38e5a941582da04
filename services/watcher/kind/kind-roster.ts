/**
 * Keeps a monitor for each kind that the cluster serves and lets us watch, as its discovery
 * changes.
 *
 * What must stay true: `KindServed` is on the log before any other record of its kind and after its
 * watermark, `KindGone` after everything its monitor had; a watermark is overwritten only once
 * `KindGone` of its kind is acknowledged. A kind counts as absent from discovery only when two
 * answers, some time apart, miss it.
 *
 * Not here: the work of a monitor (kind-monitor.ts), how answers are compared (catalog.ts).
 */
import type { GroupKind, ResourceVersion } from '../../../core/model/object.ts'
import { isPolicyKind } from '../../../core/model/rule/policy-content.ts'
import type { Discovery } from '../../../ports/cluster.ts'
import { AccountRights } from '../account-rights.ts'
import { within } from '../deadline.ts'
import { isPassing } from '../identity.ts'
import { backoffMs } from '../monitor.ts'
import type { KindKey, KnownKind, Selection, ServedKind } from './catalog.ts'
import { compareCatalog, kindKey, unserved, whyNotWatched } from './catalog.ts'
import type { KindMonitorDeps, MonitorEnd } from './kind-monitor.ts'
import { KindMonitor } from './kind-monitor.ts'
import type { KindMark } from './marks.ts'
import type { RelistRequest } from './relist-request.ts'
import { merged, older } from './relist-request.ts'
import type { Scope } from './scope.ts'

export type RosterDeps = Omit<KindMonitorDeps, 'lookSoon' | 'unwatchable'> & {
  /** Records on the log that these are known, for the next watcher. */
  readonly remember: (kinds: readonly KnownKind[]) => Promise<void>
}

export class KindRoster {
  readonly #deps: RosterDeps
  readonly #scope: Scope
  readonly #onEnd: (end: MonitorEnd) => void
  readonly #rights: AccountRights
  /** Published kinds, by this or an earlier watcher. */
  readonly #known = new Map<KindKey, ServedKind | KnownKind>()
  readonly #resume = new Map<KindKey, ResourceVersion>()
  readonly #monitors = new Map<KindKey, KindMonitor>()
  /** Kinds that cannot be watched, and when (monotonic) that was last found. */
  readonly #unwatchable = new Map<KindKey, number>()
  /** Kinds that left discovery since watermarks were last written. */
  readonly #gone = new Set<KindKey>()
  /** Relists requested for kinds that have no monitor yet. */
  readonly #askedEarly = new Map<KindKey, RelistRequest>()
  #soon = new AbortController()
  #failures = 0
  #hasAnswer = false
  #isAggregationKnown = true
  #reason = ''
  #unserved = ''

  constructor(
    deps: RosterDeps,
    scope: Scope,
    marks: Iterable<KindMark>,
    onEnd: (end: MonitorEnd) => void,
  ) {
    this.#deps = deps
    this.#scope = scope
    this.#onEnd = onEnd
    this.#rights = new AccountRights(deps)
    for (const mark of marks) {
      const { group, kind, resource, shortNames, resourceVersion } = mark
      this.#known.set(kindKey(mark), { group, kind, resource, shortNames })
      // Policies are always listed: what is read of all other kinds follows from them.
      if (resourceVersion !== '' && !isPolicyKind(mark))
        this.#resume.set(kindKey(mark), resourceVersion)
    }
  }

  get monitors(): readonly KindMonitor[] {
    return [...this.#monitors.values()]
  }

  /** Served, and not watched. */
  get unwatched(): readonly ServedKind[] {
    return [...this.#known.values()].filter(
      (kind) => 'versions' in kind && !kind.monitored,
    ) as ServedKind[]
  }

  /** The groups missing from discovery, or why it fails; empty otherwise. */
  get reason(): string {
    return this.#reason
  }

  /** Whether discovery has answered yet. */
  get hasAnswer(): boolean {
    return this.#hasAnswer
  }

  /** Null for all kinds. */
  relist(key: KindKey | null, request: RelistRequest): void {
    const keys = key === null ? [...this.#known.keys()] : [key]
    for (const each of keys) {
      const monitor = this.#monitors.get(each)
      if (monitor !== undefined) monitor.relist(request)
      // Known of old and not answered for now: its group is down.
      else if (this.#isOfOld(each)) {
        this.#askedEarly.set(each, merged(this.#askedEarly.get(each) ?? null, request) ?? request)
      }
    }
  }

  /** Something else is read of its objects from here on. */
  reread(kind: GroupKind, nowMs: number): void {
    const key = kindKey(kind)
    this.#monitors.get(key)?.reread(nowMs)
    // One that has no monitor for now is listed once it has.
    this.#resume.delete(key)
  }

  mayReread(kind: GroupKind, nowMs: number): boolean {
    return this.#monitors.get(kindKey(kind))?.mayReread(nowMs) ?? true
  }

  /** Place in `control` of the oldest request that no finished list has settled. */
  get oldestRequest(): bigint | null {
    const requests = [
      ...[...this.#askedEarly.values()].map((request) => request.offset),
      ...this.monitors.map((monitor) => monitor.unsettledRequest),
    ]
    return requests.reduce((oldest, offset) => older(oldest, offset), null)
  }

  /** The position of every served kind; records gathered for it are sent first. */
  checkpoints(): readonly KindMark[] {
    return [...this.#known].flatMap(([key, { group, kind, resource, shortNames }]) => {
      const stand = this.#monitors.get(key)?.checkpoint() ?? this.#stand(key)
      return [{ group, kind, resource, shortNames, ...stand }]
    })
  }

  takeGone(): readonly KindKey[] {
    const gone = [...this.#gone]
    this.#gone.clear()
    return gone
  }

  /**
   * Asks discovery, at once and then periodically, sooner when a kind answers as if it were not
   * served, or a CustomResourceDefinition was created, changed or deleted.
   */
  async follow(signal: AbortSignal): Promise<void> {
    const { clock, config } = this.#deps
    while (!signal.aborted) {
      await this.#look(signal)
      const pauseMs =
        this.#failures === 0
          ? config.discoveryMs
          : Math.min(
              backoffMs(this.#failures, this.#deps.random.next(), config),
              config.discoveryMs,
            )
      const shortestMs = Math.min(pauseMs, config.confirmGoneMs)
      await clock.sleep(shortestMs, signal)
      await clock.sleep(pauseMs - shortestMs, AbortSignal.any([signal, this.#soon.signal]))
      this.#soon = new AbortController()
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { clock, config } = this.#deps
    await this.#reconsider(signal)
    const first = await this.#discover(signal)
    const change = first && compareCatalog(this.#known, first, this.#selection())
    if (change === undefined) return
    for (const kind of change.served) await this.#dropOther(kind)
    await this.#remember(change.served.filter((kind) => !this.#known.has(kindKey(kind))))
    const policies = change.served.filter(isPolicyKind)
    for (const kind of policies) await this.#serve(kind)
    await this.#listFirst(policies, signal)
    for (const kind of change.served) if (!isPolicyKind(kind)) await this.#serve(kind)
    this.#hasAnswer = true
    if (change.missing.length === 0) return
    await clock.sleep(config.confirmGoneMs, signal)
    const second = await this.#discover(signal)
    const again = second && compareCatalog(this.#known, second, this.#selection())
    const missing = new Set(change.missing.map(kindKey))
    const gone = (again?.missing ?? []).filter((kind) => missing.has(kindKey(kind)))
    // The server ends their watches itself, within a second; only a kind whose watch lags is waited
    // for.
    await Promise.all(gone.map((kind) => this.#drop(kind, config.discoveryMs)))
  }

  /**
   * Policies are published before objects that are read for them, or the fold would take those as
   * read for less. Not waited for longer than a moment: their lists may be refused.
   */
  async #listFirst(policies: readonly ServedKind[], signal: AbortSignal): Promise<void> {
    const monitors = policies.flatMap((kind) => this.#monitors.get(kindKey(kind)) ?? [])
    if (monitors.length === 0) return
    const { clock, config } = this.#deps
    const isOver = new AbortController()
    const listed = Promise.all(monitors.map((monitor) => monitor.firstList))
    const limit = clock.sleep(config.policiesFirstMs, AbortSignal.any([signal, isOver.signal]))
    await Promise.race([listed, limit])
    isOver.abort()
  }

  #selection(): Selection {
    const { kinds, ignoreKinds } = this.#deps.config
    const unwatchable = new Set(this.#unwatchable.keys())
    return { kinds, ignoreKinds, unwatchable, denied: this.#rights.denied }
  }

  /**
   * Before anything of the answer counts: a kind that was not answered for is neither allowed nor
   * denied.
   */
  async #askRights({ kinds }: Discovery, signal: AbortSignal): Promise<void> {
    if (!this.#deps.config.onlyAllowed) return
    const selection = { ...this.#selection(), denied: new Set<KindKey>() }
    await this.#rights.ask(
      kinds.filter((kind) => whyNotWatched(kind, selection) === ''),
      signal,
    )
  }

  /**
   * The server of a kind that could not be watched may have been mended since: it is asked before
   * anything is published.
   */
  async #reconsider(signal: AbortSignal): Promise<void> {
    const { server, clock, config } = this.#deps
    for (const [key, foundMs] of this.#unwatchable) {
      if (clock.monotonicMs() - foundMs < config.antiEntropyMs) continue
      this.#unwatchable.set(key, clock.monotonicMs())
      const kind = this.#known.get(key)
      if (kind === undefined || !('versions' in kind)) continue
      for (const version of kind.versions) {
        try {
          await within(clock, config.discoveryTimeoutMs, signal, (limit) =>
            server.currentVersion({ ...kind, version }, limit),
          )
          this.#unwatchable.delete(key)
          break
        } catch (error) {
          if (!isPassing(error)) throw error
        }
      }
    }
  }

  async #discover(signal: AbortSignal): Promise<Discovery | undefined> {
    const { server, clock, config, counters, observer } = this.#deps
    try {
      const limitMs = config.discoveryTimeoutMs
      const discovery = await within(clock, limitMs, signal, (limit) => server.discover(limit))
      counters.discoveries++
      if (discovery.kinds.length > 0) {
        await within(clock, limitMs, signal, (limit) => this.#askRights(discovery, limit))
        this.#failures = 0
        this.#tellAggregation(discovery)
        this.#tellUnserved(discovery)
        const lacks =
          discovery.failed.length === 0 ? '' : `Discovery lacks ${discovery.failed.join(', ')}.`
        this.#reason = [lacks, this.#unserved].filter((each) => each !== '').join(' ')
        return discovery
      }
      this.#reason = 'Discovery was answered without any kind.'
    } catch (error) {
      if (!isPassing(error)) throw error
      counters.failures++
      this.#reason = `Discovery failed: ${error.message}`
    }
    this.#failures++
    observer.note('warn', 'discovery failed', { cluster: server.name, error: this.#reason })
    return undefined
  }

  #tellAggregation({ isAggregationKnown }: Discovery): void {
    const { server, observer } = this.#deps
    if (this.#isAggregationKnown && !isAggregationKnown) {
      const message = 'which kinds other servers answer for is not known'
      const hint = 'list on apiservices.apiregistration.k8s.io saves a GET before each DELETE'
      observer.note('warn', message, { cluster: server.name, hint })
    }
    this.#isAggregationKnown = isAggregationKnown
  }

  /**
   * A listed kind may be installed later; until then nothing of it is watched, and the user who
   * listed it may have meant another.
   */
  #tellUnserved(discovery: Discovery): void {
    const { server, config, observer, archive } = this.#deps
    // Those to be archived are among the listed ones, where any are listed.
    const names = unserved(discovery, config.kinds ?? archive.kinds)
    const told = names.length === 0 ? '' : `Listed and not served: ${names.join(', ')}.`
    if (told !== '' && told !== this.#unserved) {
      const message = 'kinds that are to be watched are not served'
      observer.note('warn', message, { cluster: server.name, kinds: names.join(', ') })
    }
    this.#unserved = told
  }

  /** Another plural or scope is another resource under the same name. */
  async #dropOther(kind: ServedKind): Promise<void> {
    const former = this.#known.get(kindKey(kind))
    const isOther =
      former !== undefined &&
      (former.resource !== kind.resource || ('scope' in former && former.scope !== kind.scope))
    if (isOther) await this.#drop(former, this.#deps.config.drainMs)
  }

  /**
   * Before they are published: a watcher that died in between would leave kinds that no watcher
   * ever publishes as absent. And after those of the same name are published as absent: the
   * watermark that demands that is the one that is overwritten.
   */
  async #remember(news: readonly ServedKind[]): Promise<void> {
    if (news.length === 0) return
    await this.#deps.publisher.settled()
    for (const kind of news) this.#gone.delete(kindKey(kind))
    await this.#deps.remember(news)
  }

  async #serve(kind: ServedKind): Promise<void> {
    const key = kindKey(kind)
    const running = this.#monitors.get(key)
    if (running !== undefined && !kind.monitored) {
      await this.#finish(key, running, this.#deps.config.drainMs)
    }
    this.#known.set(key, kind)
    const { publisher, cluster, epoch } = this.#deps
    publisher.tell(cluster, { type: 'KindServed', cluster, epoch, ...kind })
    await publisher.room()
    const monitor = this.#monitors.get(key)
    if (monitor !== undefined) monitor.kind = kind
    else if (kind.monitored) this.#start(key, kind)
  }

  #start(key: KindKey, kind: ServedKind): void {
    const lookSoon = (): void => this.#soon.abort()
    const unwatchable = (): void => {
      this.#unwatchable.set(key, this.#deps.clock.monotonicMs())
      lookSoon()
    }
    const resumeFrom = this.#resume.get(key) ?? null
    // Its position is valid for one start: a kind that left discovery and came back is listed.
    this.#resume.delete(key)
    const deps = { ...this.#deps, lookSoon, unwatchable }
    const monitor = new KindMonitor(deps, kind, resumeFrom)
    this.#monitors.set(key, monitor)
    const asked = this.#askedEarly.get(key)
    if (asked !== undefined) monitor.relist(asked)
    this.#askedEarly.delete(key)
    this.#scope.start(async (signal) => this.#onEnd(await monitor.run(signal)))
  }

  async #drop(kind: KnownKind, drainMs: number): Promise<void> {
    const key = kindKey(kind)
    const monitor = this.#monitors.get(key)
    if (monitor !== undefined) await this.#finish(key, monitor, drainMs)
    const { publisher, cluster, epoch, observer, server } = this.#deps
    const { group, kind: name, resource } = kind
    publisher.tell(cluster, { type: 'KindGone', cluster, epoch, group, kind: name, resource })
    this.#known.delete(key)
    this.#resume.delete(key)
    this.#askedEarly.delete(key)
    this.#unwatchable.delete(key)
    this.#gone.add(key)
    observer.note('info', 'a kind is no longer served', { cluster: server.name, group, kind: name })
    await publisher.room()
  }

  async #finish(key: KindKey, monitor: KindMonitor, drainMs: number): Promise<void> {
    await monitor.finish(drainMs)
    this.#monitors.delete(key)
  }

  #isOfOld(key: KindKey): boolean {
    const kind = this.#known.get(key)
    return kind !== undefined && !('versions' in kind)
  }

  /**
   * For a kind that has no monitor now: the position that was read, as long as nothing else is
   * known.
   */
  #stand(key: KindKey): { readonly resourceVersion: ResourceVersion; readonly sync: number } {
    return { resourceVersion: this.#resume.get(key) ?? '', sync: 0 }
  }
}
