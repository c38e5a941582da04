/**
 * Judges one node: decides, remembers the verdict, and issues the command it calls for unless an equal one is under way.
 *
 * What must stay true: no state change, no new command; a command that went stale or was refused is decided again after a growing wait;
 * an owner is verified once for all of its dependents.
 */
import { beginWalk, nodeTimer, ownerTimer } from './agenda.ts'
import type { Command, CommandBase, OwnerClaim, Target } from './command.ts'
import { targetOf } from './command.ts'
import { completionOf, mayBeRing } from './completion.ts'
import {
  backoffMs,
  COMMAND_LIFE_MS,
  COMMAND_MARGIN_MS,
  CONFIRM_MS,
  KIND_PATIENCE_MS,
} from './constant.ts'
import type { StateReader } from './graph.ts'
import { clusterOf, kindOf, nodeOf, ownerOf, policyOf, seenOf } from './graph.ts'
import { invariant } from './invariant.ts'
import { ANY_KIND, ownerKey, unreadableKey, waitKey } from './key.ts'
import { putNode } from './link.ts'
import type { Attempt, Node, Verdict } from './node.ts'
import type { ClusterId, Coordinates, GroupKind, ObjectMeta, Uid } from './object.ts'
import { isSamePlace, versionOf } from './object.ts'
import type { OwnerAbout, Step } from './outcome.ts'
import { nextCommandId, tell, touch } from './outcome.ts'
import { homeOf, isHome } from './partition.ts'
import type { EvidenceClass } from './proof.ts'
import { weaker } from './proof.ts'
import type { Stand } from './standing.ts'
import { kindOfReference } from './standing.ts'
import type { ClusterState, Kind, Owner } from './state.ts'
import type { Action, Decision } from './verdict.ts'
import { decide, kindsAwaited, lastRequest } from './verdict.ts'
import { warningsOf } from './warning.ts'

/** Judges a node from the state as it is now. Nothing happens to one that is not there, is reaped or in doubt. */
export function judge(step: Step, cluster: ClusterId, uid: Uid): void {
  const held = nodeOf(step.graph, cluster, uid)
  const state = clusterOf(step.graph, cluster)
  if (held === undefined || state === undefined) return
  // Something outside of its ring blocks it by now.
  const isOpen = held.ringed && !mayBeRing(step.graph, cluster, held)
  const node = isOpen ? { ...held, ringed: false } : held
  const awaited = relistsAwaited(step.graph, state, cluster, node)
  for (const kind of awaited ?? []) waitFor(step, cluster, kind, uid)
  if (awaited === undefined || awaited.length > 0) return

  const decision = decide(step.graph, cluster, node)
  for (const kind of kindsAwaited(decision)) waitFor(step, cluster, kind, uid)
  if (decision.action.type === 'verify') verifyOwners(step, state, cluster, decision.stands)
  const completion = completionOf(step.graph, cluster, node)
  if (completion?.type === 'wait') lookAgain(step, cluster, node, completion.until)
  if (isWarned(decision.verdict) && !isWarned(node.verdict))
    warn(step, state, cluster, node, decision)
  const attempt = attemptFor(step, state, cluster, node, decision)
  const verdict = sameVerdict(node.verdict, decision.verdict) ? node.verdict : decision.verdict
  if (attempt === node.attempt && verdict === node.verdict && node === held) return
  const isNews = verdict !== node.verdict
  const letGoAt = isNews ? (letGo(decision) ?? node.letGoAt) : node.letGoAt

  putNode(step, cluster, held, { ...node, letGoAt, verdict, attempt })
  if (verdict === node.verdict || verdict === null) return
  touch(step, cluster, uid)
  tell(step, { ...node.object, cluster }, 'verdict', `${verdict.type}: ${verdict.because}`, {
    evidence: verdict.evidence,
    basis: verdict.basis,
  })
}

/** Before what the verdict brings about, so that the Event is there when the object goes. */
function warn(
  step: Step,
  state: ClusterState,
  cluster: ClusterId,
  node: Node,
  { verdict, stands }: Decision,
): void {
  if (verdict === null || policyOf(step.graph).policy.mode === 'observe') return
  const { object } = node
  const aggregated = kindOf(step.graph, cluster, object)?.aggregated ?? true
  const { because, basis } = verdict
  const base = (): CommandBase => ({
    ...baseOf(step, state, cluster, targetOf(object, aggregated)),
    evidence: 'O',
    because,
    basis,
  })
  for (const warning of warningsOf(stands, object.namespace, base)) {
    step.outcome.commands.push(warning)
  }
}

/** Of an owner that waits for dependents: what may let it go though none of them tells. */
function lookAgain(step: Step, cluster: ClusterId, node: Node, until: number | null): void {
  const { uid } = node.object
  if (until !== null) {
    waitFor(step, cluster, ANY_KIND, uid)
    nodeTimer(step, cluster, until, uid)
  } else if (mayBeRing(step.graph, cluster, node)) beginWalk(step, cluster, uid)
}

/** The kinds to be relisted before a node is judged, none when it may be now; undefined when it is reaped or in doubt. */
export function relistsAwaited(
  graph: StateReader,
  state: ClusterState,
  cluster: ClusterId,
  { object, phase }: Node,
): readonly GroupKind[] | undefined {
  if (phase === 'reaped' || phase === 'suspect') return undefined
  const seen = seenOf(graph, cluster, object, object.uid)
  if (seen?.clusterEpoch !== state.clusterEpoch) return undefined
  // Records about one home have its key; those about a whole cluster have the cluster's.
  const unreadable =
    graph.get(unreadableKey(homeOf(cluster, object.namespace))) ?? graph.get(unreadableKey(cluster))
  if (unreadable?.type !== 'UnreadableHome') return []
  // Records of this home were lost: only what was listed since then is known.
  const named = object.ownerReferences.map(kindOfReference)
  const waitedFor = phase === 'waiting' || phase === 'orphaning'
  const blockers = waitedFor ? (kindOf(graph, cluster, object)?.blockers ?? []) : []
  const kinds = [object, ...named, ...blockers]
  return kinds.filter((kind) => {
    const known = kindOf(graph, cluster, kind)
    return known?.phase === 'synced' && known.syncedAt <= unreadable.position
  })
}

function attemptFor(
  step: Step,
  state: ClusterState,
  cluster: ClusterId,
  node: Node,
  { action, verdict, stands }: Decision,
): Attempt | null {
  if (action.type === 'none' || action.type === 'verify' || verdict === null) {
    const isOurs = isFinishing(node.attempt) && isUnderWay(node.attempt, state.now)
    return isOurs || node.attempt?.state === 'done' ? node.attempt : null
  }
  const { mode } = policyOf(step.graph).policy
  invariant(mode !== 'observe', 'observe holds every verdict')
  const intent = intentOf(action, mode, verdict, node, state.clusterEpoch)
  const former = node.attempt?.intent === intent ? node.attempt : null
  if (former !== null && isUnderWay(former, state.now)) return former

  const command = commandFor(step, state, cluster, node, { action, verdict, stands })
  step.outcome.commands.push(command)
  const { object } = node
  tell(step, { ...object, cluster }, 'command', `${command.type} (${mode}): ${verdict.because}`, {
    evidence: verdict.evidence,
    command: command.id,
    basis: verdict.basis,
  })
  // The first look finds what was carried out and not confirmed; it sets the next timer itself.
  nodeTimer(step, cluster, state.now + CONFIRM_MS, object.uid)
  return {
    command: command.id,
    verb: command.type,
    intent,
    state: 'issued',
    count: (former?.count ?? 0) + 1,
    since: former?.since ?? state.now,
    until: state.now + COMMAND_LIFE_MS + COMMAND_MARGIN_MS,
    outcome: null,
    reason: '',
  }
}

/** It cannot be recalled, and what comes of it must be known as ours. */
function isFinishing(attempt: Attempt | null): attempt is Attempt {
  return attempt?.verb === 'RemoveFinalizer' && attempt.state !== 'would-go'
}

/** Equal intents are one decision: same effect, evidence, content, mode and epoch of the cluster (a new one voids commands). */
function intentOf(
  action: Action,
  mode: string,
  verdict: Verdict,
  node: Node,
  clusterEpoch: number,
): string {
  const effect =
    action.type === 'delete'
      ? `delete ${action.policy}`
      : action.type === 'drop'
        ? `drop ${action.indexes.join(',')}`
        : action.type === 'finish'
          ? `finish ${action.finalizer}`
          : action.type
  return `${effect} ${mode} ${verdict.evidence} ${node.hash} ${clusterEpoch}`
}

function isUnderWay(attempt: Attempt, now: number): boolean {
  return attempt.state === 'would-go' || now < attempt.until
}

function commandFor(
  step: Step,
  state: ClusterState,
  cluster: ClusterId,
  node: Node,
  decision: Decision & { readonly verdict: Verdict | null },
): Command {
  const { action, verdict, stands } = decision
  invariant(verdict?.evidence !== null && verdict !== null, 'an effect without evidence')
  const { object } = node
  const seen = seenOf(step.graph, cluster, object, object.uid)
  invariant(seen !== undefined, 'a node without its version')
  const aggregated = kindOf(step.graph, cluster, object)?.aggregated ?? true
  const target = { ...targetOf(object, aggregated), resourceVersion: seen.resourceVersion }
  const acted =
    action.type === 'drop' ? (_: Stand, i: number) => action.indexes.includes(i) : () => true
  const base: CommandBase = {
    ...baseOf(step, state, cluster, target),
    evidence: weaker(verdict.evidence, staleness(state, stands.filter(acted))),
    because: verdict.because,
    basis: verdict.basis,
  }
  const references = object.ownerReferences
  switch (action.type) {
    case 'delete': {
      const owners = stands.flatMap((stand) => claimOf(step, cluster, stand))
      const { finalizers } = object
      return {
        ...base,
        type: 'DeleteObject',
        propagationPolicy: action.policy,
        references,
        finalizers,
        owners,
      }
    }
    case 'drop': {
      const dropped = stands.filter((_, index) => action.indexes.includes(index))
      const owners = dropped.flatMap((stand) => claimOf(step, cluster, stand))
      return { ...base, type: 'OrphanDependent', references, drop: action.indexes, owners }
    }
    case 'finish': {
      const { finalizer } = action
      return { ...base, type: 'RemoveFinalizer', finalizer, finalizers: object.finalizers }
    }
    case 'verify':
    case 'none':
      return invariant(false, `no command carries out ${action.type}`) as never
  }
}

/**
 * Nobody here watches an owner that another partition told of, or a GET found. And between two watchers a cluster may have been restored and written on until no version tells. What was seen to go before is looked at once
 * more, as if only a relist had told it (E2); its class, and what the policy makes of that, stays.
 */
function staleness(state: ClusterState, stands: readonly Stand[]): EvidenceClass {
  const isOld = ({ standing, proof, isHearsay }: Stand): boolean =>
    (isHearsay && (standing === 'waiting' || standing === 'dangling')) ||
    (proof !== null && proof.position < state.startedAt)
  return stands.some(isOld) ? 'E2' : 'O'
}

function baseOf(
  step: Step,
  state: ClusterState,
  cluster: ClusterId,
  target: Target,
): Omit<CommandBase, 'evidence' | 'because' | 'basis'> {
  const { mode } = policyOf(step.graph).policy
  invariant(mode !== 'observe', 'observe issues nothing')
  return {
    id: nextCommandId(step),
    cluster,
    clusterEpoch: state.clusterEpoch,
    partition: step.at.partition,
    mode,
    target,
  }
}

/** What the gate proves again if the class of evidence asks for it. */
function claimOf(step: Step, cluster: ClusterId, stand: Stand): OwnerClaim[] {
  const { place, standing, reference } = stand
  if (place === null || (standing !== 'dangling' && standing !== 'waiting')) return []
  const kind = kindOf(step.graph, cluster, place)
  invariant(kind !== undefined, 'a place whose kind is not known')
  return [
    {
      group: place.group,
      kind: place.kind,
      namespace: place.namespace,
      name: place.name,
      uid: reference.uid,
      version: servedVersion(kind, versionOf(reference.apiVersion)),
      resource: kind.resource,
      claim: standing === 'dangling' ? 'absent' : 'waiting',
    },
  ]
}

function servedVersion(kind: Kind, version: string): string {
  return kind.versions.includes(version) ? version : (kind.versions[0] ?? version)
}

/** Asks for each owner that nothing is known of, once its kind could have shown it. */
function verifyOwners(
  step: Step,
  state: ClusterState,
  cluster: ClusterId,
  stands: readonly Stand[],
): void {
  for (const { standing, place, reference } of stands) {
    if (standing !== 'unverified' || place === null) continue
    // It is a node in doubt, or in another place: a relist settles the one, a look at these coordinates the other.
    const node = nodeOf(step.graph, cluster, reference.uid)
    if (node !== undefined && isSamePlace(node.object, place)) continue
    const { uid } = reference
    if (isHome(step.at, cluster, place)) {
      verifyOwner(step, state, cluster, place, uid, versionOf(reference.apiVersion))
    } else askHome(step, state, { cluster, uid, place })
  }
}

/** Its home asks the server, once for all partitions, and tells. */
function askHome(step: Step, state: ClusterState, about: OwnerAbout): void {
  const { cluster, uid, place } = about
  const kind = kindOf(step.graph, cluster, place)
  if (kind === undefined || !isReadyToAsk(kind, state)) return
  if (policyOf(step.graph).policy.mode === 'observe') return
  step.owners.set(ownerKey(cluster, uid, place), { ...about, asks: true })
}

/** True when it is asked, now or already. */
export function verifyOwner(
  step: Step,
  state: ClusterState,
  cluster: ClusterId,
  place: Coordinates,
  uid: Uid,
  version: string,
): boolean {
  const kind = kindOf(step.graph, cluster, place)
  if (kind === undefined || !isReadyToAsk(kind, state)) return false
  if (policyOf(step.graph).policy.mode === 'observe') return false
  const owner = ownerOf(step.graph, cluster, uid, place)
  const intent = `verify in epoch ${state.clusterEpoch}`
  const former = owner?.attempt?.intent === intent ? owner.attempt : null
  if (former !== null && isUnderWay(former, state.now)) return true

  const target: Target = {
    group: place.group,
    kind: place.kind,
    namespace: place.namespace,
    name: place.name,
    version: servedVersion(kind, version),
    resource: kind.resource,
    uid,
    resourceVersion: '',
    aggregated: kind.aggregated,
  }
  const base = baseOf(step, state, cluster, target)
  const because = `is ${place.kind} "${place.name}" there?`
  const basis = [step.at.position, policyOf(step.graph).position]
  step.outcome.commands.push({ ...base, type: 'VerifyOwner', evidence: 'E3', because, basis })
  const until = state.now + COMMAND_LIFE_MS + COMMAND_MARGIN_MS
  const attempt: Attempt = {
    command: base.id,
    verb: 'VerifyOwner',
    intent,
    state: 'issued',
    count: (former?.count ?? 0) + 1,
    since: former?.since ?? state.now,
    until,
    outcome: null,
    reason: '',
  }
  step.graph.put(ownerKey(cluster, uid, place), { ...(owner ?? UNKNOWN_OWNER), attempt })
  ownerTimer(step, cluster, until, uid, place)
  return true
}

const UNKNOWN_OWNER: Owner = {
  type: 'Owner',
  state: 'unknown',
  proof: null,
  orphanedAt: null,
  phase: null,
  position: -1n,
  checks: 0,
  seq: 0,
  answered: false,
  attempt: null,
}

/** A watch that lives would have shown the owner; without one, only a GET can; while one is expected soon, wait for it. */
function isReadyToAsk(kind: Kind, state: ClusterState): boolean {
  switch (kind.phase) {
    case 'unserved':
      return false
    case 'unmonitored':
      return true
    case 'unsynced':
      return state.now - kind.since >= KIND_PATIENCE_MS
    case 'synced':
      return kind.clusterEpoch === state.clusterEpoch || state.now - kind.since >= KIND_PATIENCE_MS
  }
}

/** A node that left, or names other kinds now, waits for none but those it still names. */
export function stopWaiting(
  step: Step,
  cluster: ClusterId,
  before: ObjectMeta,
  after: ObjectMeta | null,
): void {
  const anyKind = waitKey(cluster, ANY_KIND, before.uid)
  if (after === null && step.graph.get(anyKind) !== undefined) step.graph.remove(anyKind)
  const kept = after === null ? [] : [after, ...after.ownerReferences.map(kindOfReference)]
  for (const kind of [before, ...before.ownerReferences.map(kindOfReference)]) {
    if (kept.some((other) => other.kind === kind.kind && other.group === kind.group)) continue
    const key = waitKey(cluster, kind, before.uid)
    if (step.graph.get(key) !== undefined) step.graph.remove(key)
  }
}

function waitFor(step: Step, cluster: ClusterId, kind: GroupKind, uid: Uid): void {
  const key = waitKey(cluster, kind, uid)
  if (step.graph.get(key) === undefined) step.graph.put(key, { type: 'Wait' })
}

/** When the last of those that orphan it was deleted; undefined when none does. */
function letGo({ action, stands }: Decision): number | undefined {
  return action.type === 'drop' ? (lastRequest(stands) ?? undefined) : undefined
}

/** These verdicts, and no others, come with a warning. */
function isWarned(verdict: Verdict | null): boolean {
  return ['reap', 'drop', 'held', 'blocked'].includes(verdict?.type ?? '')
}

/** Verdicts that differ only in the events they rest on are the same to people. */
function sameVerdict(a: Verdict | null, b: Verdict | null): boolean {
  if (a === null || b === null) return a === b
  return a.type === b.type && a.evidence === b.evidence && a.because === b.because
}

/** The attempt of a command that settled without its effect: the same again only after a growing wait. */
export function backedOff(attempt: Attempt, now: number, reason: string): Attempt {
  return { ...attempt, state: 'backoff', until: now + backoffMs(attempt.count), reason }
}
