/**
 * Kubernetes Events about the results of commands: `Collected` on the owner whose dependents were deleted, `Blocked` on an object that the API server does not delete.
 *
 * What must stay true: it waits for nothing, and nothing waits for it. Many deletes are one Event, and there are few a minute: of a cluster, and of one namespace fewer.
 * Both, what is gathered and what is sent, are shares: by cluster, then by namespace in turn, and the first of a namespace in a minute has room of its own. Events beyond the limit are counted and left out; the record of what happened is the history, not these.
 *
 * Not here: Events about references that have no effect: these are commands (core/issue/warning.ts).
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

export interface EventRecorder {
  /** Takes the result of a command; returns at once. */
  settled(command: Command, result: Result): void
  /** As one of its own, within the same limits. */
  tell(cluster: ClusterId, about: EventSubject, event: ClusterEvent): void
  /** Until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
  /** Since the start. */
  counts(): ReadonlyMap<EventFate, number>
}

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

export function createEventRecorder(parts: EventRecorderParts): EventRecorder {
  const { clusters, clock, cuts } = parts
  const gathered = new Map<string, Gathered>()
  const shares = new GroupedShares(GATHERED, cuts)
  cuts.know(MINUTE_CAP)
  const counts = new Map<EventFate, number>()
  /** When Events of it were sent; monotonic. By cluster, and by cluster and namespace. */
  const sentAt = new Map<string, readonly number[]>()
  /** Clusters to which some are being sent. */
  const busy = new Map<ClusterId, Promise<void>>()

  function count(fate: EventFate): void {
    counts.set(fate, (counts.get(fate) ?? 0) + 1)
  }

  function remove(key: string, each: Gathered): void {
    gathered.delete(key)
    shares.give(holderOf(each))
  }

  function oldestOf(holder: Holder): [string, Gathered] | undefined {
    for (const entry of gathered) if (isSame(holderOf(entry[1]), holder)) return entry
    return undefined
  }

  function gather(key: string, found: Omit<Gathered, 'count' | 'names'>): Gathered | undefined {
    const known = gathered.get(key)
    if (known !== undefined) return known
    const holder = holderOf(found)
    for (let giver = shares.giver(holder); giver; giver = shares.giver(holder)) {
      const oldest = oldestOf(giver)
      shares.cut(giver)
      count('left out')
      if (oldest === undefined) return undefined
      remove(...oldest)
    }
    shares.take(holder)
    const fresh = { ...found, names: [], count: 0 }
    gathered.set(key, fresh)
    return fresh
  }

  function recent(key: string): readonly number[] {
    const since = clock.monotonicMs() - MINUTE_MS
    return (sentAt.get(key) ?? []).filter((atMs) => atMs > since)
  }

  function mayBeSent({ cluster, about }: Gathered): boolean {
    const of = namespaceOf({ cluster, about })
    const [all, its] = [recent(cluster), recent(of)]
    const most = its.length === 0 ? MOST_WITH_FIRST : MOST_OF_A_CLUSTER
    if (all.length >= most || its.length >= MOST_OF_A_NAMESPACE) {
      cuts.note(MINUTE_CAP, of)
      return false
    }
    for (const key of sentAt.keys()) if (recent(key).length === 0) sentAt.delete(key)
    sentAt.set(cluster, [...all, clock.monotonicMs()])
    sentAt.set(of, [...its, clock.monotonicMs()])
    return true
  }

  async function send(each: Gathered, signal: AbortSignal): Promise<void> {
    const connected = clusters(each.cluster)
    if (connected === undefined || !mayBeSent(each)) return count('left out')
    const { about, eventOf } = each
    const target: Target = { ...about, resourceVersion: '', aggregated: false }
    try {
      const answer = await connected.cluster.writeEvent(target, eventOf(), signal)
      count(answer.type === 'Changed' ? 'written' : 'refused')
    } catch {
      count('refused')
    }
  }

  /** One after the other, a namespace in turn: Events are not urgent, and deletes come first. */
  async function sendAll(ready: readonly Gathered[], signal: AbortSignal): Promise<void> {
    const left = Map.groupBy(ready, namespaceOf)
    while (left.size > 0) {
      for (const [namespace, its] of left) {
        const each = its.shift()
        if (each === undefined) left.delete(namespace)
        else if (!signal.aborted) await send(each, signal)
      }
    }
  }

  /** Of each cluster apart: one that is silent holds up no other. */
  function sendReady(signal: AbortSignal): void {
    const idle = [...gathered].filter(([, { cluster }]) => !busy.has(cluster))
    for (const [key, each] of idle) remove(key, each)
    const ready = Map.groupBy(idle, ([, { cluster }]) => cluster)
    for (const [cluster, its] of ready) {
      const all = its.map(([, each]) => each)
      busy.set(
        cluster,
        sendAll(all, signal).finally(() => busy.delete(cluster)),
      )
    }
  }

  return {
    settled(command, result) {
      if (command.type !== 'DeleteObject' || result.type !== 'CommandSettled') return
      const { cluster, target, owners } = command
      const { outcome, reason, code } = result
      if (outcome === 'done') {
        const [owner] = owners
        const about = owner ?? target
        const its = gather(`done/${cluster}/${keyOf(about)}`, {
          ...{ cluster, about },
          eventOf: () => ({ type: 'Normal', reason: 'Collected', message: messageOf(its) }),
        })
        if (its === undefined) return
        its.count += 1
        if (its.names.length < MOST_NAMED) its.names.push(nameOf(target))
      } else if (outcome === 'blocked' && code !== null && code >= 400) {
        const message = `it cannot be deleted now: ${reason}`
        gather(`blocked/${cluster}/${keyOf(target)}`, {
          ...{ cluster, about: target },
          eventOf: () => ({ type: 'Warning', reason: 'Blocked', message }),
        })
      }
    },
    tell(cluster, about, event) {
      gather(`told/${cluster}/${keyOf(about)}/${event.reason}`, {
        ...{ cluster, about },
        eventOf: () => event,
      })
    },
    async run(signal) {
      while (!signal.aborted) {
        await clock.sleep(GATHER_MS, signal)
        sendReady(signal)
      }
      await Promise.all(busy.values())
    },
    counts: () => counts,
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
