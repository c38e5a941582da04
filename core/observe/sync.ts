/**
 * Clusters, their kinds and relists: which are watched, since when, and which objects a complete
 * list did not hold.
 *
 * What must stay true: an object counts as missing only by a list that was finished by the current
 * watcher, and only if the version we hold is not newer than the list's. A kind that is no longer
 * served proves nothing about its objects.
 */
import { enqueue, judgeAll, judgeWaiters, kindTimer } from '../graph/agenda.ts'
import { isMonitored, isSynced, kindStatus } from '../graph/kind-status.ts'
import type { Step } from '../graph/outcome.ts'
import { currentCluster, drop } from '../graph/outcome.ts'
import { noteKindName } from '../graph/owner-place.ts'
import { ANY_KIND } from '../graph/wait.ts'
import { KIND_PATIENCE_MS } from '../model/constant.ts'
import type {
  Heartbeat,
  KindGone,
  KindServed,
  PolicyChanged,
  SyncFinished,
  SyncStarted,
  Unreadable,
  WatcherStarted,
} from '../model/event.ts'
import { isSameSet } from '../model/hash.ts'
import { invariant } from '../model/invariant.ts'
import type { GroupKind, ObjectMeta, Scope } from '../model/object.ts'
import { FOLD_VERSION } from '../model/policy.ts'
import type { Rule } from '../model/rule/rule.ts'
import { digestOf } from '../model/rule/rule.ts'
import type { ClusterState, Kind, KindPhase } from '../model/state.ts'
import { withGone } from './cause.ts'
import { formerAfter } from './former-protection.ts'
import {
  noteUseList,
  noteUseListed,
  noteUseLost,
  noteUseRules,
  noteUseSilence,
} from './use-watch.ts'

export function watcherStarted(step: Step, event: WatcherStarted): void {
  const state = step.graph.state
  if (state !== undefined && event.epoch <= state.epoch) {
    drop(step, 'from a watcher that was succeeded')
    return
  }
  // Open syncs need no closing: their SyncFinished would have an older epoch.
  step.graph.setState({
    type: 'ClusterState',
    name: event.name,
    epoch: event.epoch,
    clusterEpoch: event.clusterEpoch,
    startedAt: step.at.position,
    epochAt: state?.clusterEpoch === event.clusterEpoch ? state.epochAt : step.at.position,
    startedTime: step.at.timestamp,
    monitored: state?.monitored ?? 0,
    synced: state?.clusterEpoch === event.clusterEpoch ? state.synced : 0,
    now: Math.max(state?.now ?? 0, step.at.timestamp),
    nextDue: state?.nextDue ?? Number.MAX_SAFE_INTEGER,
    pulses: state?.pulses ?? [],
    clockLeadMs: Math.max(state?.clockLeadMs ?? 0, (event.serverTime ?? 0) - step.at.timestamp),
  })
}

/** An object that was created just now by its server's clock shows how far that is ahead. */
export function noteClock(
  step: Step,
  state: ClusterState,
  { createdAt, deletedAt }: Pick<ObjectMeta, 'createdAt' | 'deletedAt'>,
): ClusterState {
  // A deletionTimestamp lies ahead by the grace period, so it shows nothing.
  const leadMs = deletedAt === null ? (createdAt ?? 0) - step.at.timestamp : 0
  if (leadMs <= Math.max(state.clockLeadMs, CLOCK_SLACK_MS)) return state
  const noted = { ...state, clockLeadMs: leadMs }
  step.graph.setState(noted)
  return noted
}

/** Servers write whole seconds, and clocks are read one after the other. */
const CLOCK_SLACK_MS = 5_000

export function heartbeat(step: Step, event: Heartbeat): void {
  const state = currentCluster(step, event)
  if (state === undefined) return
  const now = Math.max(state.now, step.at.timestamp)
  const pulses = event.kinds.map(({ group, kind, ageMs }) => ({
    group,
    kind,
    aliveAt: step.at.timestamp - ageMs,
  }))
  const heard = { ...state, now, pulses }
  step.graph.setState(heard)
  if (step.graph.keeping !== undefined) noteHeard(step, state, heard)
  noteUseSilence(step, state, heard)
  noteUseRules(step)
  if (state.nextDue <= now) enqueue(step, { todo: { type: 'timers' } })
}

/** What waited while the watch of a kind was silent is judged again. */
function noteHeard(step: Step, before: ClusterState, after: ClusterState): void {
  for (const kind of before.pulses) {
    const known = step.graph.kind(kind)
    const [was, is] = [before, after].map((state) => kindStatus(known, kind, state).type)
    if (was === 'silent' && is === 'live') judgeWaiters(step, kind)
  }
}

export function kindServed(step: Step, event: KindServed): void {
  const state = currentCluster(step, event)
  if (state === undefined) return
  const former = step.graph.kind(event)
  const phase = servedPhase(former, event.monitored)
  const { resource, scope, versions, ambiguous, aggregated, reason } = event
  const kind: Kind = {
    ...(former ?? NEW_KIND),
    phase,
    resource,
    scope,
    versions,
    ambiguous,
    aggregated,
    reason,
    since: former?.phase === phase ? former.since : state.now,
    scopedAt: hasOtherScope(former, scope) ? step.at.timestamp : (former?.scopedAt ?? 0),
  }
  putKind(step, state, event, former, kind)
  if (phase === 'unsynced' && kind.since === state.now) {
    kindTimer(step, state.now + KIND_PATIENCE_MS, event)
  }
  const isNews =
    former?.phase !== phase ||
    former.ambiguous !== ambiguous ||
    former.scope !== scope ||
    former.versions.join() !== versions.join()
  // Waiting nodes are among all nodes: with nothing in between, kinds that change together are
  // judged in one pass over all.
  const isOther = former === undefined ? noteKindName(step, event) : isOtherGround(former, event)
  if (isOther) judgeAll(step)
  else if (isNews) judgeWaiters(step, event)
  if (former !== undefined && former.phase !== 'unmonitored' && phase === 'unmonitored') {
    enqueue(step, { todo: { type: 'forget', kind: groupKind(event) } })
  }
}

/**
 * A node whose status rests on it waits for nothing, and its status may have lost its basis: the
 * kind has another scope, its version is no longer served, or several resources share it now.
 */
function isOtherGround(former: Kind, { scope, versions, ambiguous }: KindServed): boolean {
  const isOther = hasOtherScope(former, scope) || (ambiguous && !former.ambiguous)
  return isOther || former.versions.some((each) => !versions.includes(each))
}

function hasOtherScope(former: Kind | undefined, scope: Scope): boolean {
  return former !== undefined && former.scope !== scope
}

function servedPhase(former: Kind | undefined, monitored: boolean): KindPhase {
  if (!monitored) return 'unmonitored'
  return former?.phase === 'synced' ? 'synced' : 'unsynced'
}

export function kindGone(step: Step, event: KindGone): void {
  const state = currentCluster(step, event)
  const kind = step.graph.kind(event)
  if (state === undefined || kind === undefined) return
  const gone = {
    phase: 'unserved',
    since: state.now,
    openSync: 0,
    reason: 'no longer served',
    goneAt: withGone(kind.goneAt, step.at.timestamp),
  } as const
  putKind(step, state, event, kind, { ...kind, ...gone })
  enqueue(step, { todo: { type: 'suspects', kind: groupKind(event) } })
  judgeWaiters(step, event)
  // An object that waits because an owner of this kind was deleted may now wait for an approval.
  if (step.graph.policy.policy.preset === 'guarded') judgeAll(step)
}

export function syncStarted(step: Step, event: SyncStarted): void {
  const state = currentCluster(step, event)
  const kind = step.graph.kind(event)
  if (state === undefined) return
  if (kind === undefined) return drop(step, 'a relist of a kind that was never told to be served')
  noteUseList(step, state, event, kind)
  const { position: relistedAt } = step.at
  step.graph.setKind(event, { ...kind, openSync: event.sync, relistedAt })
}

export function syncFinished(step: Step, event: SyncFinished): void {
  const state = currentCluster(step, event)
  const kind = step.graph.kind(event)
  if (state === undefined) return
  if (kind === undefined || kind.openSync !== event.sync) {
    return drop(step, 'a newer relist, or another watcher, has begun')
  }
  noteUseListed(step, state, event, kind)
  const { clusterEpoch } = state
  putKind(step, state, event, kind, {
    ...kind,
    phase: 'synced',
    ...(kind.phase === 'synced' ? {} : listedNow(step, state)),
    clusterEpoch,
    openSync: 0,
    syncedAt: kind.relistedAt,
  })
  const { listed } = event
  if (isSameSet(listed, step.graph.members(event))) return judgeWaiters(step, event)
  // No node is judged as if the objects that the list misses existed: waiting nodes come after
  // them.
  const { sync, resourceVersion } = event
  const list = { sync, resourceVersion, clusterEpoch, listed: listed.count, ours: 0, others: 0 }
  enqueue(step, { todo: { type: 'missing', kind: groupKind(event), list } })
}

function listedNow(
  { at }: Step,
  { now }: ClusterState,
): Pick<Kind, 'since' | 'listedBy' | 'listedAt'> {
  return { since: now, listedBy: Number(at.position), listedAt: at.timestamp }
}

/** With its change of the counts of kinds. */
function putKind(
  step: Step,
  state: ClusterState,
  about: GroupKind,
  before: Kind | undefined,
  after: Kind,
): void {
  step.graph.setKind(about, after)
  // Listed for the first time, or nothing is to be listed: a share of it is known now.
  if (before?.phase !== after.phase && after.phase !== 'unsynced') {
    step.record.observations.push({ type: 'listed', cluster: step.cluster, kind: groupKind(about) })
  }
  const monitored = Number(isMonitored(after)) - Number(isMonitored(before))
  const synced = Number(isSynced(after, state)) - Number(isSynced(before, state))
  if (monitored === 0 && synced === 0) return
  step.graph.setState({
    ...state,
    monitored: state.monitored + monitored,
    synced: state.synced + synced,
  })
  // Owners that were not released, since a kind might have held a dependent.
  judgeWaiters(step, ANY_KIND)
}

export function policyChanged(step: Step, event: PolicyChanged): void {
  const former = step.graph.policy
  invariant(
    event.policy.foldVersion === FOLD_VERSION,
    `the log asks for fold version ${event.policy.foldVersion}, this program folds version ${FOLD_VERSION}`,
  )
  const entersEnforce = event.policy.mode === 'enforce' && former.policy.mode !== 'enforce'
  step.graph.setPolicy({
    type: 'PolicyState',
    policy: event.policy,
    position: step.at.position,
    enforcedAt: entersEnforce ? step.at.position : former.enforcedAt,
    former: formerAfter(former, event.policy.protection, step.at.timestamp),
  })
  dropOrders(step, event.policy.rules)
  judgeAll(step)
}

/** An order enforces a rule as it is: of one that was changed or removed it is over. */
function dropOrders({ graph }: Step, rules: readonly Rule[]): void {
  const { directives } = graph
  const kept = directives.rules.filter((order) =>
    rules.some((rule) => rule.name === order.name && digestOf(rule) === order.digest),
  )
  if (kept.length < directives.rules.length) graph.setDirectives({ ...directives, rules: kept })
}

export function unreadable(step: Step, event: Unreadable): void {
  const { home, reason } = event
  const { position } = step.at
  step.graph.setUnreadable(home, { type: 'UnreadableHome', position, reason })
  const { keeping } = step.graph
  if (keeping !== undefined) step.graph.setKeeping({ ...keeping, lostAt: position })
  noteUseLost(step)
  enqueue(step, { todo: { type: 'relist' } })
}

function groupKind({ group, kind }: GroupKind): GroupKind {
  return { group, kind }
}

const NEW_KIND: Kind = {
  type: 'Kind',
  phase: 'unserved',
  resource: '',
  scope: 'Namespaced',
  versions: [],
  ambiguous: false,
  aggregated: false,
  reason: '',
  since: 0,
  listedBy: -1,
  listedAt: 0,
  clusterEpoch: 0,
  openSync: 0,
  relistedAt: -1n,
  syncedAt: -1n,
  blockers: [],
  goneAt: [],
  scopedAt: 0,
}
