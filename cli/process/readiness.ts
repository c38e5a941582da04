/**
 * What `/readyz` checks: every kind synced, every task folding and caught up; and what it says
 * beside: what cannot be carried out.
 */
import { NOT_ALLOWED } from '../../core/model/kind-reason.ts'
import { intrusionInto } from '../../runtime/file-access.ts'
import { type Check, type CheckName, failed, passed, warned } from '../../runtime/health.ts'
import type { HttpToken } from '../../runtime/http/http-token.ts'
import type { Tls } from '../../runtime/http/tls.ts'
import type { Census, ClusterCount } from '../../services/graph/census.ts'
import type { Graph } from '../../services/graph/graph.ts'
import type { LockStatus } from '../../services/reaper/lock.ts'
import type { KindStatus } from '../../services/watcher/status.ts'
import { brokenWatch } from '../../services/watcher/status.ts'
import type { Watcher } from '../../services/watcher/watcher.ts'
import { nameOf } from '../print/kind-name.ts'
import { time } from '../print/table.ts'
import { blockedText } from '../print/word.ts'
import { namesOf } from './process-metrics.ts'

/**
 * It was listed and may not be watched, or not any more. Other failures pass, or the kind gets out
 * of sync.
 */
const REFUSED = /^(FORBIDDEN|UNAUTHORIZED): /
/** A task that is further behind is not caught up. */
const LAG_LIMIT_ENTRIES = 10_000n

export function readinessOf(
  watchers: readonly Watcher[],
  graph: Pick<Graph, 'status' | 'owners'>,
  census: Pick<Census, 'counts'>,
): Check[] {
  const nameOf = namesOf(watchers)
  return [
    ...watchers.flatMap(checksOfWatcher),
    ...checksOfTasks(graph),
    ...census.counts().flatMap((count) => blockedOf(nameOf(count.cluster), count)),
  ]
}

/** What cannot be carried out makes no process unready, but it is a warning. */
export function blockedOf(name: string, { blocked }: Pick<ClusterCount, 'blocked'>): Check[] {
  return Object.entries(blocked).flatMap(([reason, count]) => {
    if (count.objects === 0) return []
    return [warned(`blocked/${name}/${reason}`, blockedText(count))]
  })
}

/**
 * No process is unready without it: where it is required, what it would have let through is
 * reported as blocked.
 */
export function checkOfLock({ name, state, reason, isRequired }: LockStatus): Check {
  if (state === 'in force') return passed(`lock/${name}`, state)
  const effect = isRequired ? ', so commands are only dry runs' : ''
  return warned(`lock/${name}`, `${state}${effect}: ${reason}`)
}

/** None while no other user may write to the data directory. */
export function checksOfData(data: string): Check[] {
  const intrusion = intrusionInto(data)
  return intrusion === '' ? [] : [warned('data', intrusion)]
}

type TokenFile = Pick<HttpToken, 'failure'> | undefined

/** None while the files are good: they were, at the start. */
export function checksOfTokens(files: {
  readonly token?: TokenFile
  readonly metricsToken?: TokenFile
  readonly clusterTokens?: TokenFile
}): Check[] {
  const named = [
    ['http-token', files.token],
    ['http-metrics-token', files.metricsToken],
    ['audit-token', files.clusterTokens],
  ] as const
  return named.flatMap(([name, file]) => {
    const failure = file?.failure() ?? ''
    return failure === '' ? [] : [warned(name, `none of its tokens is accepted: ${failure}`)]
  })
}

/** Why clients cannot use the endpoint's certificate; none when all is well. */
export function checksOfTls(tls: Pick<Tls, 'failure'> | undefined): Check[] {
  const failure = tls?.failure() ?? ''
  return failure === '' ? [] : [warned('http-tls', failure)]
}

/** How a process stands with the processes that it shares partitions with. */
export interface GroupStanding {
  readonly isMember: boolean
  /** It answers for no partition yet, and is given some once it is ready for them. */
  readonly isPreparing: boolean
  readonly trouble: string
  readonly differing: string
}

/**
 * A member in trouble goes on with what it has, and still takes questions and an order to pause:
 * that is no reason to send it no requests.
 */
export function checkOfGroup({ isMember, isPreparing, trouble, differing }: GroupStanding): Check {
  if (!isMember) return failed('group', trouble || 'has not joined it yet')
  // So that a rollout waits with the next process until this one answers.
  if (isPreparing) return failed('group', 'prepares for its first partitions')
  const reason = [trouble, differing].filter((text) => text !== '').join('; ')
  return reason === '' ? passed('group') : warned('group', reason)
}

/** One that waits for its turn is as ready as it can be. */
export function checksOfWatcher(watcher: Pick<Watcher, 'status'>): Check[] {
  const { name, connected, reason, kinds, unwatched, standbyOf } = watcher.status()
  if (standbyOf !== null) {
    return [passed(`cluster/${name}`, `standby: ${standbyOf} holds the lease`)]
  }
  const isConnected = connected && kinds.length > 0
  const [denied, others] = [
    unwatched.filter(({ reason }) => reason === NOT_ALLOWED),
    unwatched.filter(({ reason }) => reason !== NOT_ALLOWED),
  ]
  const note = unwatchedText(others)
  return [
    connectionOf(`cluster/${name}`, isConnected, reason),
    ...kinds.map((kind) => checkOfKind(name, kind)),
    ...(note === '' ? [] : [passed(`unwatched/${name}`, note)]),
    ...(denied.length === 0 ? [] : [passed(`denied/${name}`, unwatchedText(denied))]),
  ]
}

function connectionOf(name: CheckName, isConnected: boolean, reason: string): Check {
  if (!isConnected) return failed(name, reason || 'not connected yet')
  // Such as a group that discovery lacks: its kinds are as they were, and no process is unready for
  // it.
  return reason === '' ? passed(name) : warned(name, reason)
}

/**
 * Its watch may break after that. No process is unready for it, since the other kinds go on; but it
 * is a warning.
 */
function checkOfKind(cluster: string, kind: KindStatus): Check {
  const { synced, reason, state } = kind
  const name: CheckName = `synced/${cluster}/${nameOf(kind)}`
  if (!synced || REFUSED.test(reason)) return failed(name, reason || state)
  const broken = brokenWatch(kind)
  if (broken === undefined) return passed(name)
  const since = `its watch delivers nothing since ${time(broken.since)}`
  return warned(name, reason === '' ? since : `${since}: ${reason}`)
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
  if (isIdle) return [failed('tasks', 'no task is given to anybody yet')]
  return all.map(({ partition, role, state, lagEntries }) => {
    const behind = lagEntries === 0n ? '' : `${lagEntries} entries behind`
    // No question waits for a standby.
    if (role === 'standby') return passed(`standby/${partition}`, behind)
    const late = lagEntries > LAG_LIMIT_ENTRIES ? behind : ''
    const failure = state === 'folding' ? late : state
    return failure === '' ? passed(`task/${partition}`) : failed(`task/${partition}`, failure)
  })
}
