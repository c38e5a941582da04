/** What `/readyz` checks: every kind synced, every task folding and caught up; and what it says beside: what cannot be carried out. */
import type { Check } from '../runtime/health.ts'
import type { Census, ClusterCount } from '../services/graph/census.ts'
import type { BlockedCount } from '../services/graph/fold/tally.ts'
import type { Graph } from '../services/graph/graph.ts'
import type { LockStatus } from '../services/reaper/lock.ts'
import type { Watcher } from '../services/watcher/watcher.ts'
import { nameOf } from './kind-name.ts'
import { time } from './table.ts'

/** It was listed and may not be watched, or not any more. Other failures pass, or the kind gets out of sync. */
const REFUSED = /^(FORBIDDEN|UNAUTHORIZED): /
/** A task that is further behind is not caught up. */
const LAG_LIMIT_ENTRIES = 10_000n

export function readinessOf(
  watchers: readonly Watcher[],
  graph: Pick<Graph, 'status' | 'owners'>,
  census: Pick<Census, 'counts'>,
): Check[] {
  const nameOf = (id: string): string =>
    watchers.find((watcher) => watcher.status().clusterId === id)?.status().name ?? id
  return [
    ...watchers.flatMap(checksOfWatcher),
    ...checksOfTasks(graph),
    ...census.counts().flatMap((count) => blockedOf(nameOf(count.cluster), count)),
  ]
}

/** What cannot be carried out makes nobody unready, but it is said. */
export function blockedOf(name: string, { blocked }: Pick<ClusterCount, 'blocked'>): Check[] {
  return Object.entries(blocked).flatMap(([reason, count]) => {
    if (count.objects === 0) return []
    return [{ name: `blocked/${name}/${reason}`, failure: '', note: blockedText(count) }]
  })
}

export function blockedText({ objects, since, tries, nextTry, example }: BlockedCount): string {
  const tried = [
    since === null ? '' : `first ${time(since)}`,
    tries === 0 ? '' : `tried up to ${tries} times`,
    nextTry === null ? '' : `next try ${time(nextTry)}`,
  ]
  const all = `${objects} ${objects === 1 ? 'object' : 'objects'}`
  const facts = [all, ...tried.filter((fact) => fact !== '')].join(', ')
  return example === '' ? facts : `${facts}; ${example}`
}

/** Without it nobody is unready either: what it would have let through is told as blocked. */
export function checkOfLock({ name, state, reason, isRequired }: LockStatus): Check {
  const effect = isRequired ? ', so commands are only dry runs' : ''
  const note = state === 'in force' ? state : `${state}${effect}: ${reason}`
  return { name: `lock/${name}`, failure: '', note }
}

/** How a process stands with the processes that it shares partitions with. */
export interface GroupStanding {
  readonly isMember: boolean
  readonly trouble: string
  readonly differing: string
}

/** Who was in it goes on with what it has, and can still be asked and told to pause: that is no reason to send nobody there. */
export function checkOfGroup({ isMember, trouble, differing }: GroupStanding): Check {
  const failure = isMember ? '' : trouble || 'has not joined it yet'
  const note = [trouble, differing].filter((text) => text !== '').join('; ')
  return { name: 'group', failure, note }
}

/** One that waits for its turn is as ready as it can be. */
export function checksOfWatcher(watcher: Pick<Watcher, 'status'>): Check[] {
  const { name, connected, reason, kinds, unwatched, standbyOf } = watcher.status()
  if (standbyOf !== null) {
    return [{ name: `cluster/${name}`, failure: '', note: `standby: ${standbyOf} holds the lease` }]
  }
  const isConnected = connected && kinds.length > 0
  const connection = {
    name: `cluster/${name}`,
    failure: isConnected ? '' : reason || 'not connected yet',
    // Such as a group that discovery lacks: its kinds are as they were, and nobody is unready for it.
    ...(isConnected && reason !== '' && { note: reason }),
  }
  const synced = kinds.map(({ group, resource, synced: isSynced, reason: why, state }) => ({
    name: `synced/${name}/${nameOf({ resource, group })}`,
    failure: isSynced && !REFUSED.test(why) ? '' : why || state,
  }))
  const note = unwatchedText(unwatched)
  const left = note === '' ? [] : [{ name: `unwatched/${name}`, failure: '', note }]
  return [connection, ...synced, ...left]
}

/** Kinds that are named for one reason. */
const MOST_UNWATCHED = 10

/** By reason: `bindings: it does not offer list; events: it is never collected`. */
export function unwatchedText(
  unwatched: readonly {
    readonly resource: string
    readonly group: string
    readonly reason: string
  }[],
): string {
  return [...Map.groupBy(unwatched, ({ reason }) => reason)]
    .map(([reason, kinds]) => {
      const named = kinds.slice(0, MOST_UNWATCHED).map(nameOf).join(', ')
      const more = kinds.length - MOST_UNWATCHED
      return `${named}${more > 0 ? ` and ${more} more` : ''}: ${reason}`
    })
    .join('; ')
}

export function checksOfTasks(graph: Pick<Graph, 'status' | 'owners'>): Check[] {
  const all = graph.status()
  const isIdle = all.length === 0 && graph.owners().size === 0
  if (isIdle) return [{ name: 'tasks', failure: 'no task is given to anybody yet' }]
  return all.map(({ partition, role, state, lagEntries }) => {
    const behind = lagEntries === 0n ? '' : `${lagEntries} entries behind`
    // Nobody waits for a standby.
    if (role === 'standby') return { name: `standby/${partition}`, failure: '', note: behind }
    const late = lagEntries > LAG_LIMIT_ENTRIES ? behind : ''
    return { name: `task/${partition}`, failure: state === 'folding' ? late : state }
  })
}
