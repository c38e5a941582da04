/**
 * Commands: the one that a verdict calls for, unless an equal one is under way, and what is
 * remembered about it.
 *
 * What must stay true: no state change, no new command; a command carries all that its guard needs,
 * and says whether what decided it is fresh; a stale or refused command is issued again after a
 * growing wait.
 *
 * Not here: the verdict (verdict.ts), verifying owners (verification.ts), the result of a command
 * (settle.ts).
 */
import type { Decision } from '../admit/admission.ts'
import { becauseOf } from '../admit/admission.ts'
import { nodeTimer } from '../graph/agenda.ts'
import type { Step } from '../graph/outcome.ts'
import { nextCommandId, tell } from '../graph/outcome.ts'
import { policyWith } from '../graph/rule/cluster-rules.ts'
import { namedBy, otherOf } from '../judge/beside.ts'
import { elsewhereOf } from '../judge/elsewhere.ts'
import { hasAnnotation } from '../judge/rule.ts'
import type { Stand } from '../judge/standing.ts'
import type { Action } from '../judge/verdict.ts'
import type {
  Command,
  CommandBase,
  CommandRule,
  CommandType,
  OwnerClaim,
  Target,
} from '../model/command.ts'
import {
  CATCH_UP_MS,
  COMMAND_LIFE_MS,
  COMMAND_MARGIN_MS,
  CONFIRM_MS,
  LONG_LIST,
} from '../model/constant.ts'
import { invariant } from '../model/invariant.ts'
import type { Attempt, Node, Verdict } from '../model/node.ts'
import { isFinishing, isUnderWay } from '../model/node.ts'
import type { ObjectMeta } from '../model/object.ts'
import { deletionAskedAt, versionOf } from '../model/object.ts'
import type { Evidence, Freshness } from '../model/proof.ts'
import { weaker } from '../model/proof.ts'
import { CLUSTER_POLICY_KIND, POLICY_KIND } from '../model/rule/policy-content.ts'
import { digestOf, type Rule, rulesOfKind } from '../model/rule/rule.ts'
import type { ClusterState } from '../model/state.ts'
import { servedVersion, targetOf } from './target.ts'

/** The attempt of a node for its verdict: the present one, or a new command. Null for none. */
export function attemptFor(
  step: Step,
  state: ClusterState,
  node: Node,
  decision: Decision,
): Attempt | null {
  const { action, verdict } = decision
  if (action.type === 'none' || action.type === 'verify' || verdict === null) {
    const isOurs = isFinishing(node.attempt) && isUnderWay(node.attempt, state.now)
    if (isOurs || node.attempt?.state === 'done') return node.attempt
    return isShownAnnotated(step, node)
      ? { ...node.attempt, state: 'done', until: state.now }
      : null
  }
  const { mode } = step.graph.policy.policy
  invariant(mode !== 'observe', 'observe holds every verdict')
  const intent = intentOf(action, mode, verdict, node, state.clusterEpoch)
  const former = followedBy(node, action, intent) ? node.attempt : null
  if (former !== null && isUnderWay(former, state.now)) return former

  const isStale = stalenessOf(step, state, node)
  const fresh = withoutStale(decision, isStale)
  const command = commandFor(step, state, node, fresh, isStale)
  step.outcome.commands.push(command)
  const { object } = node
  tell(step, object, 'command', `${command.type} (${mode}): ${command.because}`, {
    evidence: command.evidence,
    command: command.id,
    basis: verdict.basis,
  })
  // The first check finds commands that were carried out and not confirmed; it sets the next timer
  // itself.
  nodeTimer(step, state.now + CONFIRM_MS, object.uid)
  return {
    command: command.id,
    verb: command.type,
    intent,
    isDryRun: mode === 'dry-run',
    finalizer: action.type === 'finish' ? action.finalizer : '',
    state: 'issued',
    count: (former?.count ?? 0) + 1,
    since: former?.since ?? state.now,
    until: state.now + COMMAND_LIFE_MS + COMMAND_MARGIN_MS,
    outcome: null,
    reason: '',
  }
}

/**
 * A watch shows the annotation before the command's result is here: it was carried out, so that who
 * takes it off at once is noticed.
 */
function isShownAnnotated(
  { graph }: Step,
  node: Node,
): node is Node & { readonly attempt: Attempt } {
  const { attempt, object } = node
  if (attempt?.verb !== 'AnnotateObject' || attempt.isDryRun) return false
  if (attempt.state !== 'issued' && attempt.state !== 'confirming') return false
  const ofKind = rulesOfKind(graph.rules, object)
  return ofKind?.rules.some((rule) => hasAnnotation(rule, object)) ?? false
}

/**
 * Whether the attempt goes on with this intent. That of an object with a long list does, whatever
 * changed in it: its commands are large, so who changes it all the time gets no further one until
 * the former is settled, or its wait is over.
 */
function followedBy({ attempt, object }: Node, action: Action, intent: string): boolean {
  if (attempt === null) return false
  if (attempt.intent === intent) return true
  const isPending = attempt.state === 'issued' || attempt.state === 'backoff'
  const isSameVerb = action.type !== 'finish' && attempt.verb === VERBS[action.type]
  return isPending && isSameVerb && object.ownerReferences.length > LONG_LIST
}

const VERBS: Readonly<Record<Action['type'], CommandType | null>> = {
  delete: 'DeleteObject',
  annotate: 'AnnotateObject',
  drop: 'OrphanDependent',
  finish: 'RemoveFinalizer',
  verify: null,
  none: null,
}

/**
 * Equal intents are one decision: same effect, evidence, content, mode and epoch of the cluster (a
 * new one voids commands).
 */
function intentOf(
  action: Action,
  mode: string,
  verdict: Verdict,
  node: Node,
  clusterEpoch: number,
): string {
  // `delete Background`, `drop 1,0`, `finish orphan`.
  const effect = Object.values(action).join(' ')
  const ground = verdict.rule === null ? verdict.evidence : `${verdict.evidence} ${verdict.rule}`
  return `${effect} ${mode} ${ground} ${node.hash} ${clusterEpoch}`
}

function commandFor(
  step: Step,
  state: ClusterState,
  node: Node,
  decision: Decision,
  isStale: IsStale,
): Command {
  const { action, verdict, stands, hold, rule } = decision
  invariant(verdict?.evidence !== null && verdict !== null, 'an effect without evidence')
  const { object } = node
  const seen = step.graph.seen(object, object.uid)
  invariant(seen !== undefined, 'a node without its version')
  const kind = step.graph.kind(object)
  const target = { ...targetOf(object, kind), resourceVersion: seen.resourceVersion }
  const base: CommandBase = {
    ...baseOf(step, state, target),
    evidence: verdict.evidence,
    because: becauseOf(step.graph, decision),
    basis: verdict.basis,
  }
  const references = object.ownerReferences
  const approvedBy = verdict.evidence === 'bulk' ? (hold?.ruling?.who ?? '') : ''
  switch (action.type) {
    case 'delete': {
      const others = rule === null ? [] : claimsOfRule(step, rule, object)
      const owners = [...stands.flatMap((stand) => claimOf(step, stand)), ...others]
      const { finalizers } = object
      const decidedAt = decidedUpTo(step, stands)
      return {
        ...base,
        type: 'DeleteObject',
        propagationPolicy: action.policy,
        gracePeriodSeconds: rule?.gracePeriodSeconds ?? null,
        references,
        listDigest: null,
        finalizers,
        owners,
        freshness: others.length > 0 ? 'recheck' : freshnessOf(verdict.evidence, stands, isStale),
        approvedBy,
        decidedAt,
        rule: rule === null ? null : commandRule(step, rule),
      }
    }
    case 'annotate': {
      invariant(rule !== null, 'an annotation without a rule')
      const owners = claimsOfRule(step, rule, object)
      return {
        ...base,
        type: 'AnnotateObject',
        annotation: { key: action.key, value: action.value },
        owners,
        freshness: owners.length > 0 ? 'recheck' : 'live',
        decidedAt: decidedUpTo(step, stands),
        rule: commandRule(step, rule),
      }
    }
    case 'drop': {
      const indexes = new Set(action.indexes)
      const dropped = stands.filter((_, index) => indexes.has(index))
      const owners = dropped.flatMap((stand) => claimOf(step, stand))
      const { indexes: drop } = action
      const freshness = freshnessOf(verdict.evidence, dropped, isStale)
      const decidedAt = decidedUpTo(step, dropped)
      const about = { owners, freshness, approvedBy, decidedAt }
      const guard = { references, listDigest: null, drop, ...about }
      return { ...base, type: 'OrphanDependent', ...guard }
    }
    case 'finish': {
      const { finalizer } = action
      const { finalizers, deletedAt } = object
      return { ...base, type: 'RemoveFinalizer', finalizer, finalizers, deletedAt: deletedAt ?? 0 }
    }
    case 'verify':
    case 'none':
      return invariant(false, `no command carries out ${action.type}`) as never
  }
}

function commandRule({ graph }: Step, rule: Rule): CommandRule {
  const named = { name: rule.name, digest: digestOf(rule) }
  const known = policyWith(graph.clusterRules, rule)
  if (known === undefined) return { ...named, policy: null }
  const { namespace, name, version, uid, account } = known
  const { kind } = namespace === '' ? CLUSTER_POLICY_KIND : POLICY_KIND
  return { ...named, policy: { kind, version, namespace, name, uid, account } }
}

/**
 * When the oldest fact behind the decision was observed, however late the command comes: a cluster
 * may have been restored since. A watcher that lags publishes now what was true long ago, so a
 * record's time says little about an owner that waits or orphans: the user may have chosen another
 * propagation policy since. That cannot be longer ago than its deletion, whose time comes from its
 * server, however late a watcher publishes it.
 */
function decidedUpTo(step: Step, stands: readonly Stand[]): number {
  const times = stands.flatMap(({ standing, reference, proof, orphanedAt }) => {
    if (proof !== null) return proof.at - proof.ageMs
    if (standing !== 'waiting' && standing !== 'orphaned') return []
    const owner = step.graph.node(reference.uid)
    return [
      orphanedAt ?? [],
      owner === undefined ? [] : (deletionAskedAt(owner.object) ?? []),
    ].flat()
  })
  return Math.min(step.at.timestamp, ...times)
}

/**
 * Only a deletion that a live watch observed can be fresh: any other evidence of absence is
 * verified in any case, an approved bulk deletion too. A rule decides by the object alone, and the
 * DELETE names the version that it was judged by.
 */
function freshnessOf(evidence: Evidence, acted: readonly Stand[], isStale: IsStale): Freshness {
  if (evidence === 'rule') return 'live'
  const isSeen = weaker(evidence, 'waiting') === 'waiting'
  return isSeen && !acted.some(isStale) ? 'live' : 'recheck'
}

type IsStale = (stand: Stand) => boolean

/**
 * Whether the reaper has to verify this owner before it acts: no live watch saw it deleted; it is
 * unwatched, and a GET found it; or the deletion was observed before the present watcher started
 * (between two watchers a cluster may have been restored and written on until no version shows it),
 * before the dependent's kind was relisted, or before `enforce` was entered. Cause, hold and budget
 * do not change.
 */
function stalenessOf(step: Step, state: ClusterState, node: Node): IsStale {
  const { relistedAt = -1n } = step.graph.kind(node.object) ?? {}
  const { enforcedAt } = step.graph.policy
  const isBefore = (position: bigint): boolean =>
    position < state.startedAt || position < relistedAt || position < enforcedAt
  // A watcher that takes over from another one first publishes past states: an owner deleted with
  // one propagation policy, and only then with another.
  const isCatchingUp = state.now < state.startedTime + CATCH_UP_MS
  return (stand) => {
    const { standing, proof, isHearsay } = stand
    if (isHearsay && claimedOf(stand) !== undefined) return true
    const isSeen = proof?.class === 'deleted' && proof.command === null
    if (proof !== null && (!isSeen || isBefore(proof.position))) return true
    return isCatchingUp && (standing === 'waiting' || standing === 'orphaned')
  }
}

/**
 * An owner orphans the object, and another one was deleted before that: both references are removed
 * in one command. But where the other owner has to be verified, and cannot be, the object would
 * keep the owner that orphans waiting. Then the other reference is removed by a later command.
 */
function withoutStale(decision: Decision, isStale: IsStale): Decision {
  const { action, verdict, stands } = decision
  if (action.type !== 'drop' || verdict === null) return decision
  const isOrphaned = (index: number): boolean => stands[index]?.standing === 'orphaned'
  const indexes = action.indexes.filter(isOrphaned)
  const dropped = new Set(action.indexes)
  const others = stands.filter((_, index) => dropped.has(index) && !isOrphaned(index))
  if (indexes.length === 0 || !others.some(isStale)) return decision
  return {
    ...decision,
    action: { type: 'drop', indexes },
    verdict: { ...verdict, evidence: 'orphaning' },
  }
}

export function baseOf(
  step: Step,
  state: ClusterState,
  target: Target,
): Omit<CommandBase, 'evidence' | 'because' | 'basis'> {
  const { mode } = step.graph.policy.policy
  invariant(mode !== 'observe', 'observe issues nothing')
  return {
    id: nextCommandId(step),
    cluster: step.cluster,
    clusterEpoch: state.clusterEpoch,
    partition: step.at.partition,
    mode,
    target,
  }
}

/** What the gate verifies if freshness or age asks for it. */
function claimOf(step: Step, stand: Stand): OwnerClaim[] {
  const { place, reference } = stand
  const claim = claimedOf(stand)
  if (place === null || claim === undefined) return []
  const kind = step.graph.kind(place)
  invariant(kind !== undefined, 'a place whose kind is not known')
  // Its deletion was observed, and then its kind left discovery: no GET is possible any longer, and
  // a restore that brought the owner back would bring its kind back as well.
  if (kind.phase === 'unserved' && stand.proof?.class === 'deleted') return []
  return [
    {
      group: place.group,
      kind: place.kind,
      namespace: place.namespace,
      name: place.name,
      uid: reference.uid,
      version: servedVersion(kind, versionOf(reference.apiVersion)),
      resource: kind.resource,
      claim,
      cluster: '',
      clusterEpoch: 0,
      createdAt: null,
    },
  ]
}

/** What a rule says of other objects. */
function claimsOfRule(step: Step, rule: Rule, object: ObjectMeta): readonly OwnerClaim[] {
  return [...besideClaim(step, rule, object), ...elsewhereClaim(step, rule, object)]
}

/**
 * What a rule takes for absent is verified as owners are: any object of that name refutes it. So is
 * what it says of another object.
 */
function besideClaim(step: Step, rule: Rule, object: ObjectMeta): OwnerClaim[] {
  const named = namedBy(rule, object)
  const kind = named === null ? undefined : step.graph.kind(named)
  if (named === null) return []
  invariant(kind !== undefined, 'a rule found absent what is of no known kind')
  const at = { ...named, version: servedVersion(kind, ''), resource: kind.resource }
  if (rule.beside === null)
    return [{ ...at, uid: '', claim: 'absent', cluster: '', clusterEpoch: 0, createdAt: null }]
  const other = otherOf(step.graph, rule, object)
  invariant(other !== undefined, 'a rule read the fields of what is not known')
  return [
    {
      ...at,
      uid: other.object.uid,
      claim: 'beside',
      cluster: '',
      clusterEpoch: 0,
      createdAt: null,
    },
  ]
}

/** An owner in another cluster is asked for there, under the uid that the object names. */
function elsewhereClaim(step: Step, rule: Rule, object: ObjectMeta): OwnerClaim[] {
  if (rule.elsewhere === null) return []
  const status = elsewhereOf(step.graph, rule, object)
  invariant(status?.type === 'deleted', 'a rule found an owner deleted that is not known to be')
  const { cluster, ...named } = status.owner
  const { version, resource, createdAt, ownerEpoch: clusterEpoch } = status.fact
  const at = { version, resource, createdAt, cluster, clusterEpoch }
  return [{ ...named, ...at, claim: 'gone-elsewhere' }]
}

/** What a live GET of the owner can confirm or refute. */
function claimedOf({ standing }: Stand): OwnerClaim['claim'] | undefined {
  if (standing === 'dangling') return 'absent'
  if (standing === 'waiting') return 'waiting'
  return standing === 'orphaned' ? 'orphaning' : undefined
}
