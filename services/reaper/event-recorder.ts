/**
 * Kubernetes Events about the results of commands: `Collected` on the owner whose dependents were
 * deleted, `Blocked` on an object that the API server does not delete.
 *
 * What must stay true: it waits for nothing, and nothing waits for it. Many deletes are one Event,
 * and there are few a minute: of a cluster, and of one namespace fewer. Both, what is gathered and
 * what is sent, are shares: by cluster, then by namespace in turn, and the first of a namespace in
 * a minute has room of its own. Events beyond the limit are counted and left out; the record of
 * what happened is the history, not these.
 *
 * Not here: Events about references that have no effect: these are commands
 * (core/issue/warning.ts).
 */
import type { Command, Target } from '../../core/model/command.ts'
import type { ClusterId, Coordinates } from '../../core/model/object.ts'
import type { Clock } from '../../ports/clock.ts'
import type { ClusterEvent } from '../../ports/cluster.ts'
import type { Cuts } from '../../runtime/shares/cuts.ts'
import { GroupedShares, type Holder, isSame } from '../../runtime/shares/grouped-shares.ts'
import type { Result } from './decide/result.ts'
import type { ConnectedCluster } from './reaper.ts'

export interface EventRecorderParts {
  readonly clusters: (id: ClusterId) => ConnectedCluster | undefined
  readonly clock: Clock
  readonly cuts: Cuts
}

export const EVENT_FATES = ['written', 'refused', 'left out'] as const
export type EventFate = (typeof EVENT_FATES)[number]

/** The subject of an Event; it may be deleted. */
export type EventSubject = Omit<Target, 'resourceVersion' | 'aggregated'>

/** For how long deletes are gathered into one Event. */
const GATHER_MS = 10_000
const MINUTE_MS = 60_000
const MOST_OF_A_CLUSTER = 30
/** With those that are the first of their namespace in a minute. */
const MOST_WITH_FIRST = 60
const MOST_OF_A_NAMESPACE = 5
/** Gathered at once, by cluster and namespace. */
const GATHERED = { name: 'gathered Events', total: 1_000, floor: 10, groupFloor: 100 }
const MINUTE_CAP = 'Events a minute'
const MOST_NAMED = 5

interface Gathered {
  readonly cluster: ClusterId
  readonly about: EventSubject
  readonly eventOf: () => ClusterEvent
  readonly names: string[]
  count: number
}

export class EventRecorder {
  readonly #parts: EventRecorderParts
  readonly #gathered = new Map<string, Gathered>()
  readonly #shares: GroupedShares
  readonly #counts = new Map<EventFate, number>()
  /** When Events of it were sent; monotonic. By cluster, and by cluster and namespace. */
  readonly #sentAt = new Map<string, readonly number[]>()
  /** Clusters to which some are being sent. */
  readonly #busy = new Map<ClusterId, Promise<void>>()

  constructor(parts: EventRecorderParts) {
    this.#parts = parts
    this.#shares = new GroupedShares(GATHERED, parts.cuts)
    parts.cuts.know(MINUTE_CAP)
  }

  /** Takes the result of a command; returns at once. */
  settled(command: Command, result: Result): void {
    if (command.type !== 'DeleteObject' || result.type !== 'CommandSettled') return
    const { cluster, target, owners } = command
    const { outcome, reason, code } = result
    if (outcome === 'done') {
      // What a rule takes for absent is no owner, and nothing is said about that.
      const [owner] = command.rule == null ? owners : []
      const about = owner ?? target
      const its = this.#gather(`done/${cluster}/${keyOf(about)}`, {
        ...{ cluster, about },
        eventOf: () => ({ type: 'Normal', reason: 'Collected', message: messageOf(its) }),
      })
      if (its === undefined) return
      its.count += 1
      if (its.names.length < MOST_NAMED) its.names.push(nameOf(target))
    } else if (outcome === 'blocked' && code !== null && code >= 400) {
      const message = `it cannot be deleted now: ${reason}`
      this.#gather(`blocked/${cluster}/${keyOf(target)}`, {
        ...{ cluster, about: target },
        eventOf: () => ({ type: 'Warning', reason: 'Blocked', message }),
      })
    }
  }

  /** As one of its own, within the same limits. */
  tell(cluster: ClusterId, about: EventSubject, event: ClusterEvent): void {
    this.#gather(`told/${cluster}/${keyOf(about)}/${event.reason}`, {
      ...{ cluster, about },
      eventOf: () => event,
    })
  }

  /** Until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#parts.clock.sleep(GATHER_MS, signal)
      this.#sendReady(signal)
    }
    await Promise.all(this.#busy.values())
  }

  /** Since the start. */
  counts(): ReadonlyMap<EventFate, number> {
    return this.#counts
  }

  #count(fate: EventFate): void {
    this.#counts.set(fate, (this.#counts.get(fate) ?? 0) + 1)
  }

  #gather(key: string, found: Omit<Gathered, 'count' | 'names'>): Gathered | undefined {
    const known = this.#gathered.get(key)
    if (known !== undefined) return known
    const holder = holderOf(found)
    const shares = this.#shares
    for (let giver = shares.giver(holder); giver; giver = shares.giver(holder)) {
      const oldest = this.#oldestOf(giver)
      shares.cut(giver)
      this.#count('left out')
      if (oldest === undefined) return undefined
      this.#remove(...oldest)
    }
    shares.take(holder)
    const fresh = { ...found, names: [], count: 0 }
    this.#gathered.set(key, fresh)
    return fresh
  }

  #remove(key: string, each: Gathered): void {
    this.#gathered.delete(key)
    this.#shares.give(holderOf(each))
  }

  #oldestOf(holder: Holder): [string, Gathered] | undefined {
    for (const entry of this.#gathered) if (isSame(holderOf(entry[1]), holder)) return entry
    return undefined
  }

  /** Of each cluster apart: one that is silent holds up no other. */
  #sendReady(signal: AbortSignal): void {
    const idle = [...this.#gathered].filter(([, { cluster }]) => !this.#busy.has(cluster))
    for (const [key, each] of idle) this.#remove(key, each)
    const ready = Map.groupBy(idle, ([, { cluster }]) => cluster)
    for (const [cluster, its] of ready) {
      const all = its.map(([, each]) => each)
      this.#busy.set(
        cluster,
        this.#sendAll(all, signal).finally(() => this.#busy.delete(cluster)),
      )
    }
  }

  /** One after the other, a namespace in turn: Events are not urgent, and deletes come first. */
  async #sendAll(ready: readonly Gathered[], signal: AbortSignal): Promise<void> {
    const left = Map.groupBy(ready, namespaceOf)
    while (left.size > 0) {
      for (const [namespace, its] of left) {
        const each = its.shift()
        if (each === undefined) left.delete(namespace)
        else if (!signal.aborted) await this.#send(each, signal)
      }
    }
  }

  async #send(each: Gathered, signal: AbortSignal): Promise<void> {
    const connected = this.#parts.clusters(each.cluster)
    if (connected === undefined || !this.#mayBeSent(each)) return this.#count('left out')
    const { about, eventOf } = each
    const target: Target = { ...about, resourceVersion: '', aggregated: false }
    try {
      const answer = await connected.cluster.writeEvent(target, eventOf(), signal)
      this.#count(answer.type === 'Changed' ? 'written' : 'refused')
    } catch {
      this.#count('refused')
    }
  }

  #mayBeSent({ cluster, about }: Gathered): boolean {
    const of = namespaceOf({ cluster, about })
    const [all, its] = [this.#recent(cluster), this.#recent(of)]
    const most = its.length === 0 ? MOST_WITH_FIRST : MOST_OF_A_CLUSTER
    if (all.length >= most || its.length >= MOST_OF_A_NAMESPACE) {
      this.#parts.cuts.note(MINUTE_CAP, of)
      return false
    }
    for (const key of this.#sentAt.keys()) {
      if (this.#recent(key).length === 0) this.#sentAt.delete(key)
    }
    const atMs = this.#parts.clock.monotonicMs()
    this.#sentAt.set(cluster, [...all, atMs])
    this.#sentAt.set(of, [...its, atMs])
    return true
  }

  #recent(key: string): readonly number[] {
    const since = this.#parts.clock.monotonicMs() - MINUTE_MS
    return (this.#sentAt.get(key) ?? []).filter((atMs) => atMs > since)
  }
}

function messageOf(its: Gathered | undefined): string {
  const { count = 0, names = [] } = its ?? {}
  const more = count > names.length ? `, and ${count - names.length} more` : ''
  const what = count === 1 ? '1 dependent' : `${count} dependents`
  return `deleted ${what}, since no owner is left: ${names.join(', ')}${more}`
}

function holderOf({ cluster, about }: Pick<Gathered, 'cluster' | 'about'>): Holder {
  return { group: cluster, name: about.namespace }
}

function namespaceOf({ cluster, about }: Pick<Gathered, 'cluster' | 'about'>): string {
  return `${cluster}/${about.namespace}`
}

function keyOf({ group, kind, namespace, name, uid }: Coordinates & { uid: string }): string {
  return JSON.stringify([group, kind, namespace, name, uid])
}

function nameOf({ group, kind, name }: Coordinates): string {
  return `${group === '' ? kind : `${kind}.${group}`}/${name}`
}
