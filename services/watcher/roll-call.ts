/**
 * Lists the kinds whose objects may name owners in other clusters, once for each bridge, to learn
 * which ones do: a watcher that resumes does not publish what is there already.
 *
 * What must stay true: until a kind was listed it is not known which owners its objects name; one
 * that cannot be listed keeps no other from it, and no look waits for a list, which may hang. One
 * that its monitor lists from the start for the same bridge is not listed twice.
 *
 * Not here: what is published of objects (publish/telling.ts), what follows (owner-bridge.ts).
 */
import type { GroupKind, ObjectMeta } from '../../core/model/object.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Cluster } from '../../ports/cluster.ts'
import type { WatcherConfig } from './config.ts'
import { within } from './deadline.ts'
import { type KindKey, kindKey } from './kind/catalog.ts'
import type { KindMonitor } from './kind/kind-monitor.ts'
import { Slots } from './kind/slots.ts'

/** What is watched, as the roster has it. */
export interface Watching {
  readonly hasAnswer: boolean
  readonly monitors: readonly Pick<KindMonitor, 'kind' | 'position' | 'listedMs'>[]
}

/** By kind, why it is not known which owners its objects name. */
export type Uncalled = ReadonlyMap<KindKey, string>

export interface RollCallParts {
  readonly server: Pick<Cluster, 'list'>
  readonly clock: Clock
  readonly config: Pick<WatcherConfig, 'listPageSize' | 'rollCallMs'>
  /** Lists of the whole watcher take turns. */
  readonly lists: Slots
  readonly watching: () => Watching
  readonly kinds: readonly GroupKind[]
  /** Everything that was published, since the first object, was noted for the bridge. */
  readonly isFromStart: boolean
  readonly note: (object: ObjectMeta) => void
}

export class RollCall {
  readonly #parts: RollCallParts
  readonly #called = new Set<KindKey>()
  readonly #underWay = new Set<KindKey>()
  /** Why they could not be listed the last time; until they are. */
  readonly #failed = new Map<KindKey, string>()
  /** Lists that hang leave some of the watcher's to others. */
  readonly #turns = new Slots(AT_ONCE)
  readonly #ended = new AbortController()

  constructor(parts: RollCallParts) {
    this.#parts = parts
  }

  /** What is left, as it is now: lists of it begin, and are not waited for. */
  look(signal: AbortSignal): Uncalled {
    const { watching, kinds } = this.#parts
    const wanted = new Set(kinds.map(kindKey))
    const { hasAnswer, monitors } = watching()
    if (!hasAnswer) return new Map([...wanted].map((key) => [key, NOT_LISTED] as const))
    const uncalled = new Map<KindKey, string>()
    for (const monitor of monitors) {
      const key = kindKey(monitor.kind)
      if (!wanted.has(key) || this.#called.has(key)) continue
      if (this.#isListed(monitor)) {
        this.#called.add(key)
        continue
      }
      uncalled.set(key, this.#failed.get(key) ?? NOT_LISTED)
      // It lists all of them, and publishes them, before it has a position.
      if (monitor.position !== null) this.#call(key, monitor.kind, signal)
    }
    return uncalled
  }

  /** Ends lists that are under way. */
  end(): void {
    this.#ended.abort()
  }

  #isListed({ listedMs }: Watching['monitors'][number]): boolean {
    return this.#parts.isFromStart && Number.isFinite(listedMs)
  }

  #call(key: KindKey, kind: Watching['monitors'][number]['kind'], signal: AbortSignal): void {
    if (this.#underWay.has(key)) return
    this.#underWay.add(key)
    const either = AbortSignal.any([signal, this.#ended.signal])
    this.#list(kind, either)
      .then(
        () => this.#called.add(key),
        (error: unknown) => {
          const message = error instanceof Error ? error.message : String(error)
          this.#failed.set(key, `${NOT_LISTED}: ${kind.resource} cannot be listed (${message})`)
        },
      )
      .finally(() => this.#underWay.delete(key))
  }

  async #list(kind: Watching['monitors'][number]['kind'], signal: AbortSignal): Promise<void> {
    const { server, clock, config, lists, note } = this.#parts
    const { listPageSize, rollCallMs } = config
    const resource = { ...kind, version: kind.versions[0] ?? '' }
    const list = async (limit: AbortSignal): Promise<void> => {
      for await (const page of server.list(resource, listPageSize, limit)) {
        for (const object of page.objects) note(object)
        await clock.sleep(0, limit)
      }
      limit.throwIfAborted()
    }
    const inTurn = (): Promise<void> => within(clock, rollCallMs, signal, list)
    await this.#turns.use(() => lists.use(inTurn, signal), signal)
  }
}

/** Fewer than the watcher has. */
const AT_ONCE = 2
const NOT_LISTED = 'which objects here name owners there is not known yet'
